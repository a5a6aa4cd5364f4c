"""What cannot be computed right is refused when it is compiled, by name."""

from __future__ import annotations

import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import from_source


@pytest.mark.parametrize(("source", "target"), [("int8", "int4"), ("int4", "int8")])
def test_elements_of_less_than_a_byte(source: str, target: str) -> None:
    module = from_source(
        f"""
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((5,), "{source}")):
        with R.dataflow():
            y = R.astype(x, dtype="{target}")
            R.output(y)
        return y
"""
    )
    with pytest.raises(CompileError, match=r"elements of type i4"):
        relax_mlir.compile(module, target="llvm")


def test_accesses_outside_a_buffer() -> None:
    function = from_source(
        """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi + 100]
"""
    )
    with pytest.raises(CompileError, match=r"A.*4"):
        relax_mlir.build(function, target="llvm")


@pytest.mark.parametrize("rows", ["1000000000000", "n"])
def test_buffers_that_no_memory_holds(rows: str) -> None:
    """However few rows there may be."""
    function = from_source(
        f"""
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.alloc_buffer(({rows}, 9223372036854775807), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi, 0] = A[vi]
"""
    )
    with pytest.raises(CompileError, match=r"B.*9223372036854775807.*address space"):
        relax_mlir.build(function, target="llvm")


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ("(9223372036854775807, 256), 'float32'", "'A' of shape .* address space"),
        ("(4,), 'float32x4'", "float32x4 cannot be an argument"),
    ],
)
def test_parameters_that_no_tensor_can_be(buffer: str, message: str) -> None:
    function = from_source(f"@T.prim_func\ndef main(A: T.Buffer({buffer})):\n    T.evaluate(0)\n")
    with pytest.raises(CompileError, match=message):
        relax_mlir.build(function, target="llvm")
