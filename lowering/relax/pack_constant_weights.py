"""relax-pack-constant-weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.aligned_arrays import aligned_copy
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax.constants import read_constant
from relax_mlir.dialects.relax.spec import NO_DTYPE, attributes_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import dataflow_blocks, operations, relax_functions
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dims_of,
    dtype_of,
    erase_dead,
    has_one_use,
    replace,
)
from relax_mlir.mlir import ir

_UNARY = (
    "nn.relu nn.gelu nn.gelu_tanh nn.silu nn.leakyrelu tanh sigmoid exp erf sqrt rsqrt abs negative"
).split()
_BINARY = "add subtract multiply divide power maximum minimum".split()
_EPILOGUE = {
    f"relax.{name.replace('.', '_')}": (name, count)
    for names, count in ((_UNARY, 1), (_BINARY, 2))
    for name in names
}
"""Elementwise operators that follow a product, by the name of the operation: (name, operands)."""

_LETTERS = "abdefghi"


@register_pass("relax-pack-constant-weights")
@dataclass(frozen=True)
class PackConstantWeights(Pass):
    """Lay out the constant right operand of a matmul as the panels that a kernel reads.

    A weight of K x N becomes N / W panels of K x W, W being as many columns as a register tile has,
    and the product `y[..., n]` an einsum `y[..., panel, column]`, of which `y` is a reshape.
    Elementwise operators behind the product move in front of that reshape, so that they stay with
    the product.  Kernels then read weights in the order in which they lie in memory, and have
    nothing to pack when they are called.

    panel: W, 0 for what suits the host's registers.  minimum: elements of the smallest weight that
    is packed; a small one stays in cache.
    """

    panel: int = 0
    minimum: int = 1 << 16

    def run(self, state: ModuleState) -> None:
        if self.panel < 0:
            raise PassError(f"{self.name}: panel is {self.panel}, expected a number of columns")
        for function in relax_functions(state):
            for block in dataflow_blocks(function):
                # Packing erases what follows a product.
                for op in [op for op in operations(block) if op.name == "relax.matmul"]:
                    self._pack(op, state)

    def _pack(self, op: ir.Operation, state: ModuleState) -> None:
        left, shape = dims_of(op.operands[0]), dims_of(op.operands[1])
        dtype = dtype_of(op.operands[1])
        if left is None or shape is None or not 2 <= len(left) <= len(_LETTERS) or len(shape) != 2:
            return
        if dtype != "float32" or attributes_of(op)["out_dtype"] not in (*NO_DTYPE, dtype):
            return
        depth, columns = shape
        if not isinstance(depth, int) or not isinstance(columns, int):
            return
        width = self._width(columns)
        weight = _weight(op.operands[1], state) if depth * columns >= self.minimum else None
        if not width or weight is None:
            return
        panels = weight.reshape(depth, columns // width, width).transpose(1, 0, 2)
        write = OperatorWriter(op, state.constants)
        constant = write.constant(aligned_copy(panels), dtype)
        rows = _LETTERS[: len(left) - 1]
        product = write.op(
            "einsum", [op.operands[0], constant], subscripts=f"{rows}k,pkc->{rows}pc"
        )
        right = op.operands[1]
        _replace_chain(op, product, (columns // width, width), state)
        if not isinstance(right, ir.BlockArgument):
            erase_dead([right.owner.operation])

    def _width(self, columns: int) -> int:
        """The panel's width, which divides the number of columns; 0 if none does."""
        if self.panel:
            return self.panel if columns % self.panel == 0 else 0
        target = host_cpu()
        counts = (3, 2, 4, 5) if target.vector_registers >= 32 else (2, 1)
        lanes = target.lanes(32)
        return next((n * lanes for n in counts if columns % (n * lanes) == 0), 0)


def _weight(value: ir.Value, state: ModuleState) -> np.ndarray | None:
    """The constant that a right operand is, transposed or not."""
    transposed = defining(value, "relax.permute_dims")
    if transposed is not None and transposed.operands[0] is not None:
        value = transposed.operands[0]
        if len(dims_of(value) or ()) != 2 or attributes_of(transposed)["axes"] in ([0, 1], (0, 1)):
            return None
    array = _constant(value, state)
    return array if array is None or transposed is None else array.T


def _constant(value: ir.Value, state: ModuleState) -> np.ndarray | None:
    op = defining(value, "relax.constant")
    return None if op is None else read_constant(op, state.constants)


def _replace_chain(
    op: ir.Operation, product: ir.Value, panels: tuple[int, int], state: ModuleState
) -> None:
    """Repeat on `product` the elementwise operators that follow `op`, reshape, and replace the
    last of them."""
    last, done = op, [op]
    while True:
        user = _elementwise_user(last)
        if user is None:
            break
        write = OperatorWriter(user, state.constants)
        operands = [
            product if value == last.results[0] else _in_panels(write, value, last, panels, state)
            for value in list(user.operands)[: _EPILOGUE[user.name][1]]
        ]
        if any(value is None for value in operands):
            break
        product = write.op(_EPILOGUE[user.name][0], *operands, **attributes_of(user))
        last = user
        done.append(user)
    write = OperatorWriter(last, state.constants)
    shape = write.shape(dims_of(last.results[0]) or ())
    replace(last, write.op("reshape", product, shape))
    for idle in reversed(done[:-1]):
        idle.erase()


def _elementwise_user(op: ir.Operation) -> ir.Operation | None:
    """The only user of a result, if it is an elementwise operator of the same shape and block."""
    if not has_one_use(op.results[0]):
        return None
    user = next(iter(op.results[0].uses)).owner.operation
    known = user.name in _EPILOGUE and user.block == op.block
    same = known and dims_of(user.results[0]) == dims_of(op.results[0])
    return user if same and dtype_of(user.results[0]) == dtype_of(op.results[0]) else None


def _in_panels(
    write: OperatorWriter,
    value: ir.Value,
    like: ir.Operation,
    panels: tuple[int, int],
    state: ModuleState,
) -> ir.Value | None:
    """Another operand of an elementwise operator with its last axis cut into panels; None if its
    shape does not allow it."""
    dims, whole = dims_of(value), dims_of(like.results[0])
    if dims is None or whole is None:
        return None
    if not dims or (len(dims) == 1 and dims[0] == 1):
        return value
    if dims[-1] != whole[-1] or len(dims) > len(whole):
        return None
    array = _constant(value, state)
    if array is not None:
        return write.constant(array.reshape(*array.shape[:-1], *panels), str(array.dtype))
    cut: list[Dim] = [*dims[:-1], *panels]
    return write.op("reshape", value, write.shape(cut))


__all__ = ["PackConstantWeights"]
