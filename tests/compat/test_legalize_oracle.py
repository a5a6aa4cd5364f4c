"""Legalisation against TVM's: which function every variable calls, and the shape of its loops.

TVM runs in a process of its own.  Function names, the buffers' names, the blocks and their
iteration variables agree; expressions may be simplified differently.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.legalize_program import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
HEADERS = {
    "tvm": "from tvm import relax\nfrom tvm.script import ir as I, relax as R, tirx as T\n",
    "relax_mlir": (
        "from relax_mlir import relax\n"
        "from relax_mlir.script import ir as I, relax as R, tir as T\n"
    ),
}
# Bodies that are ours on purpose: fewer casts, a mean that is not written out twice.
OWN_BODIES = {"rms_norm"}


def _script(package: str, folder: Path) -> str:
    """The text of the legalised module as `package` prints it."""
    file = folder / f"program_{package}.py"
    tail = "\nprint(relax.transform.LegalizeOps()(Module).script())\n"
    file.write_text(HEADERS[package] + PROGRAM + tail)
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _calls(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)(?:: [^=\n]*)? = R\.call_tir\(cls\.(\w+),", text))


def _bodies(text: str) -> dict[str, list[str]]:
    """For every function its buffers, blocks and the kinds and names of iteration variables."""
    found: dict[str, list[str]] = {}
    body: list[str] = []
    for line in text.splitlines():
        header = re.match(r"\s+def (\w+)\((.*)\)", line)
        if header:
            names = re.findall(r"(\w+): T\.Buffer", header[2])
            body = found.setdefault(header[1], [f"buffer {name}" for name in names])
            continue
        matched = re.match(r"\s+(\w+) = T\.match_buffer\(", line)
        if matched:
            body.append(f"buffer {matched[1]}")
        block = re.search(r'T\.s?block\("(\w+)"\)', line)
        if block and block[1] != "root":
            body.append(block[1])
        remap = re.match(r'\s+([\w, ]+) = T\.axis\.remap\("(\w+)"', line)
        if remap:
            body += [f"{k} {v}" for k, v in zip(remap[2], remap[1].split(", "), strict=True)]
        axis = re.match(r"\s+(\w+) = T\.axis\.(spatial|reduce)\(", line)
        if axis:
            body.append(f"{axis[2][0].upper()} {axis[1]}")
    found.pop("main", None)
    # Buffers of symbolic sizes are parameters of TVM's functions and matched in the body of ours.
    return {
        name: sorted(entry for entry in body if entry.startswith("buffer "))
        + [entry for entry in body if not entry.startswith("buffer ")]
        for name, body in found.items()
    }


@pytest.mark.tvm
def test_functions_are_tvms(tmp_path: Path) -> None:
    ours, theirs = (_script(package, tmp_path) for package in ("relax_mlir", "tvm"))
    assert _calls(ours) == _calls(theirs)
    assert len(_calls(ours)) > 40
    mine, tvms = _bodies(ours), _bodies(theirs)
    assert set(mine) == set(tvms)
    different = {name for name in mine if mine[name] != tvms[name]}
    assert different <= OWN_BODIES, {name: (mine[name], tvms[name]) for name in different}
