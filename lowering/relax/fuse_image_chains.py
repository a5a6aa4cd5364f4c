"""relax-fuse-image-chains."""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget, host_cpu
from relax_mlir.lowering.linalg_to_vector.image_chain.cost import is_worth_blocks
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    binding_blocks,
    call_tir_operands,
    callee_of,
    only_producer,
    operations,
    prim_functions,
    producer_of,
    relax_functions,
)
from relax_mlir.lowering.relax.fuse_ops import FusedFunctions, Fuser
from relax_mlir.lowering.relax.image_rows import RowMovement, row_movement
from relax_mlir.lowering.relax.op_pattern import multiplied_parameters
from relax_mlir.mlir import ir


@register_pass("relax-fuse-image-chains")
@dataclass(frozen=True)
class FuseImageChains(Pass):
    """Group `product -> depthwise convolution or pooling -> (product)` and `convolution -> pooling`
    on images, so that the image between the first two never is whole in memory.

    Works on calls of TensorIR functions, fused ones too, by how their blocks go over rows;
    `relax-fuse-tir` has to follow.  `linalg-tile-image-chains` then computes what begins with a
    product in blocks of rows, and Winograd convolutions pool windows that follow each other in
    registers.  What begins with a product only where the image has no other use and where
    `linalg_to_vector/image_chain/cost.py` says that it pays; with `always` all of them.
    """

    always: bool = False

    def run(self, state: ModuleState) -> None:
        made = FusedFunctions()
        num_cores = getattr(state.target, "num_cores", None) or 1
        target = host_cpu().restricted(0, num_cores)
        finder = _Finder(prim_functions(state), None if self.always else target)
        for function in relax_functions(state):
            if "Primitive" in attributes_of_function(function):
                continue
            fuser = Fuser(state, function, made)
            for block in list(binding_blocks(function)):
                calls = [op for op in operations(block) if op.name == "relax.call_tir"]
                for chain in finder.chains(calls):
                    fuser.fuse(chain)


class _Finder:
    """Finds chains that are worth it on a target, all of them for None."""

    def __init__(self, kernels: dict[str, ir.Operation], target: CPUTarget | None):
        self.kernels = kernels
        self.target = target
        self.movements: dict[str, RowMovement | None] = {}

    def chains(self, calls: list[ir.Operation]) -> list[list[ir.Operation]]:
        """The chains among the calls of a block; no call is in two."""
        found: list[list[ir.Operation]] = []
        for op in calls:
            chain = self._chain(op)
            if chain is not None and not any(
                member in other for other in found for member in chain
            ):
                found.append(chain)
        return found

    def _chain(self, op: ir.Operation) -> list[ir.Operation] | None:
        """The calls from the one that makes the image of the window `op` slides over to the product
        behind; None if there are no such calls, or they are better left alone."""
        movement = self._movement(op)
        if movement not in (RowMovement.SLIDING, RowMovement.STEPPING):
            return None
        image = call_tir_operands(op)[0][0]
        producer = producer_of(image, op)
        if producer is None or not self._multiplied(producer):
            return None
        if self._movement(producer) is not RowMovement.PARALLEL:
            is_pooling = movement is RowMovement.STEPPING and not self._multiplied(op)
            return [producer, op] if is_pooling else None
        if only_producer(image, op) is None or not self._is_product(producer):
            return None
        if not self._is_worth_it(producer):
            return None
        consumer = _only_consumer(op)
        behind = [] if consumer is None or not self._is_product(consumer) else [consumer]
        return [producer, op, *behind]

    def _is_worth_it(self, producer: ir.Operation) -> bool:
        size = _bytes(producer.results[0])
        return self.target is None or is_worth_blocks(size, self.target)

    def _movement(self, op: ir.Operation) -> RowMovement | None:
        name = callee_of(op)
        if name not in self.movements:
            kernel = self.kernels.get(name)
            self.movements[name] = None if kernel is None else row_movement(kernel)
        return self.movements[name]

    def _multiplied(self, op: ir.Operation) -> set[int]:
        """The operands that a call multiplies and adds up."""
        kernel = self.kernels.get(callee_of(op))
        return set() if kernel is None else multiplied_parameters(kernel)

    def _is_product(self, op: ir.Operation) -> bool:
        """Whether a call multiplies its first operand, row by row."""
        return self._movement(op) is RowMovement.PARALLEL and 0 in self._multiplied(op)


def _only_consumer(op: ir.Operation) -> ir.Operation | None:
    """The call that alone uses a result, as its first operand."""
    users = [use.owner.operation for use in op.results[0].uses]
    if len(users) != 1 or users[0].name != "relax.call_tir" or users[0].block != op.block:
        return None
    arguments, _ = call_tir_operands(users[0])
    return users[0] if arguments and arguments[0] == op.results[0] else None


def _bytes(value: ir.Value) -> int:
    """The size of a tensor of known shape."""
    info = types.tensor_info(value.type)
    assert info is not None and info.dims is not None and info.dtype is not None
    return math.prod(int(dim) for dim in info.dims) * dtypes.bits(info.dtype) // 8
