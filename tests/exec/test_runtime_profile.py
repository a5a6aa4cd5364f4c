"""`vm.profile`: a row for every function that is called, with what it is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32")):
        n = T.int64()
        y = R.matmul(x, w)
        z = R.nn.softmax(y)
        s = R.call_packed("test.profile.same", z, sinfo_args=(R.Tensor((n, 4), "float32"),))
        t = R.matmul(x, w)
        u = R.add(s, t)
        return u
"""


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    rm.register_global_func("test.profile.same", lambda a: a, override=True)
    module = from_source(PROGRAM)
    assert isinstance(module, IRModule)
    executable = relax.build(module, relax_pipeline="builtin.module(relax-legalize-ops)")
    return relax.VirtualMachine(executable, rm.cpu())


def test_every_call_has_a_row(machine: relax.VirtualMachine) -> None:
    x, w = np.ones((3, 8), "float32"), np.ones((8, 4), "float32")
    profile = machine.profile("main", x, w, number=4)
    rows = {row.name: row for row in profile.rows}
    assert set(rows) == {"matmul", "softmax", "add", "test.profile.same"}
    assert rows["matmul"].count == 2
    assert rows["softmax"].shapes == "float32[n, 4], float32[n, 4]"
    assert all(row.seconds > 0 for row in profile.rows)
    assert sum(row.seconds for row in profile.rows) < profile.seconds
    lines = str(profile).splitlines()
    assert lines[0].split()[:2] == ["Name", "Duration"] and lines[-1].startswith("total")
    assert profile.as_dict()["rows"][0]["name"] == profile.rows[0].name
    np.testing.assert_allclose(machine["main"](x, w).numpy(), 0.25 + x @ w, rtol=1e-6)


def test_show_prints_the_table(
    machine: relax.VirtualMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.profile("main", np.ones((1, 8), "float32"), np.ones((8, 4), "float32")).show()
    assert "test.profile.same" in capsys.readouterr().out


def test_what_cannot_be_profiled(machine: relax.VirtualMachine, tmp_path: Path) -> None:
    path = tmp_path / "module.so"
    module = from_source(PROGRAM)
    relax.build(module).export_library(path)
    loaded = relax.VirtualMachine(rm.runtime.load_module(path), rm.cpu())
    with pytest.raises(Error, match="compiled for the CPU can be profiled"):
        loaded.profile("main")
    with pytest.raises(ValueError, match="number must be positive"):
        machine.profile("main", number=0)
    with pytest.raises(TypeError, match="expected 2 arguments"):
        machine.profile("main")
