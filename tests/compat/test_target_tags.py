"""Tags of machines name the targets that TVM 0.27 means by them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import relax_mlir as tvm
from relax_mlir.errors import CompileError
from relax_mlir.target import Target, list_tags, register_tag

OURS = list_tags()
ORACLE = """
import json, tvm
print(json.dumps({name: json.loads(str(target)) for name, target in
                  tvm.target.list_tags().items() if str(target).startswith("{")}))
"""


@pytest.mark.skipif(find_spec("tvm") is None, reason="apache-tvm is not installed")
def test_tags_are_tvms() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORACLE], capture_output=True, text=True, timeout=120, check=True
    )
    theirs = json.loads(done.stdout[done.stdout.index("{") :])
    for name, target in OURS.items():
        if name in theirs:
            expected = {k: v for k, v in theirs[name].items() if k not in ("tag", "keys")}
            assert {k: v for k, v in target.export().items() if k != "keys"} == expected, name
    assert {n for n in OURS if n.startswith(("nvidia/", "aws/"))} <= theirs.keys()
    # Left out: GPUs before compute capability 5.0, and boards with hosts of another kind.
    left = {
        n: t
        for n, t in theirs.items()
        if n not in OURS and n.startswith(("nvidia/", "aws/cpu/")) and "host" not in t
    }
    assert {t["arch"] for t in left.values()} == {"sm_20", "sm_21", "sm_30", "sm_35", "sm_37"}


def test_a_tag_stands_for_its_target() -> None:
    target = tvm.target.Target("nvidia/geforce-rtx-3090-ti")
    assert (target.kind.name, target.attrs["arch"]) == ("cuda", "sm_86")
    assert Target({"tag": "nvidia/geforce-rtx-3090-ti", "arch": "sm_80"}).attrs["arch"] == "sm_80"
    with pytest.raises(CompileError, match=r"unknown target kind 'nvidia/geforce-rtx-9999'"):
        Target("nvidia/geforce-rtx-9999")
    with pytest.raises(CompileError, match="or the tag of a machine"):
        Target({"tag": "nobody/knows"})


def test_tags_of_ones_own() -> None:
    made = register_tag("test/board", {"kind": "llvm", "num-cores": 3}, override=True)
    assert Target("test/board") == made and made.num_cores == 3
    with pytest.raises(CompileError, match="already"):
        register_tag("test/board", {"kind": "llvm"})
    with pytest.raises(CompileError, match="unknown target kind"):
        register_tag("test/nonsense", {"kind": "nonsense"})
    assert "test/nonsense" not in list_tags()
