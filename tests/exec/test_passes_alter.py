"""Other implementations, layouts and formulas of a program's operators give what it gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((3, 7), "float32"), B: T.Buffer((3, 7), "float32")):
        T.func_attr({"operator_name": "test.scale"})
        for i, j in T.grid(3, 7):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((3, 7), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((3, 7), "float32"))
            b = R.call_tir(cls.scale, (a,), out_sinfo=R.Tensor((3, 7), "float32"))
            R.output(b)
        return b
"""
BLOCKED = """
@T.prim_func
def blocked(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 3, 4), "float32")):
    for i, j, k in T.grid(2, 3, 4):
        with T.block("b"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)
"""


def run(module: IRModule, *args: np.ndarray) -> np.ndarray:
    return relax.VirtualMachine(relax.build(module), rm.cpu())["main"](*args).numpy()


def layout(i: Any, j: Any) -> tuple[Any, ...]:
    return j // 4, i, j % 4


def test_another_implementation_with_another_layout() -> None:
    module, other = from_source(PROGRAM), from_source(BLOCKED)
    assert isinstance(module, IRModule)
    maps = {"test.scale": [layout, layout]}
    altered = relax.transform.AlterOpImpl({"test.scale": other}, maps)(module).verify()
    text = altered.script()
    assert text.count("R.layout_transform") == 4 and "test_scale_replacement" in text
    assert from_source(text) == altered
    x = np.random.default_rng(0).standard_normal((3, 7)).astype("float32")
    np.testing.assert_array_equal(run(altered, x), 4 * x)
    with pytest.raises(PassError, match="1 layouts for the 2 buffers of 'scale'"):
        relax.transform.AlterOpImpl({"test.scale": other}, {"test.scale": [layout]})(module)
    skewed = {"test.scale": [layout, lambda i, j: (i + j, j, i)]}
    with pytest.raises(PassError, match="cannot be undone"):
        relax.transform.AlterOpImpl({"test.scale": other}, skewed)(module)


def test_layouts_that_meet_cancel() -> None:
    source = PROGRAM.replace("3, 7", "3, 8")
    module, other = from_source(source), from_source(BLOCKED)
    assert isinstance(module, IRModule)
    maps = {"test.scale": [layout, layout]}
    altered = relax.transform.AlterOpImpl({"test.scale": other}, maps)(module)
    optimized = relax.transform.OptimizeLayoutTransform()(altered).verify()
    assert optimized.script().count("R.layout_transform") == 2
    x = np.random.default_rng(1).standard_normal((3, 8)).astype("float32")
    np.testing.assert_array_equal(run(optimized, x), 4 * x)


def test_fast_formulas_are_close() -> None:
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 9), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.erf(b)
        d = R.nn.softmax(c, axis=1)
        return d
""")
    assert isinstance(module, IRModule)
    fast = relax.transform.FastMathTransform()(module).verify()
    text = fast.script()
    assert all(name in text for name in ("fast_tanh", "fast_exp", "fast_erf", "fast_softmax"))
    assert "R.exp" not in text and "R.nn.softmax" not in text
    x = np.random.default_rng(2).standard_normal((4, 9)).astype("float32")
    np.testing.assert_allclose(run(fast, x), run(module, x), rtol=2e-2, atol=1e-3)


def test_a_workspace_for_back_ends() -> None:
    module = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def part(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"WorkspaceSize": 64, "Codegen": "test"})
        y = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = cls.part(x)
        b = cls.part(a)
        return b
""")
    assert isinstance(module, IRModule)
    made = relax.transform.AllocateWorkspace()(module)
    text = made.script()
    assert 'workspace: R.Tensor((64,), dtype="uint8")' in text
    assert text.count("R.builtin.alloc_tensor") == 1 and "WorkspaceSize" not in text
    x = np.zeros(4, "float32")
    np.testing.assert_allclose(run(made, x), np.full(4, np.e), rtol=1e-5)


def test_external_modules_are_loaded() -> None:
    loaded: list[str] = []

    class External:
        def load(self) -> None:
            loaded.append("here")

    external = External()
    module = from_source(PROGRAM)
    made = relax.transform.AttachExternModules([external])(module)
    assert loaded == ["here"] and made.get_attr("external_mods") == [external]
