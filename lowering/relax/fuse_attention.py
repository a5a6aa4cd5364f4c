"""relax-fuse-attention."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    binding_blocks,
    call_tir_operands,
    callee_of,
    only_producer,
    operations,
    prim_functions,
    relax_functions,
    walk,
)
from relax_mlir.lowering.relax.fuse_ops import FusedFunctions, Fuser
from relax_mlir.lowering.relax.op_pattern import (
    OpPatternKind,
    multiplied_parameters,
    op_pattern,
)
from relax_mlir.mlir import ir


@register_pass("relax-fuse-attention")
@dataclass(frozen=True)
class FuseAttention(Pass):
    """Group `matmul -> (scale, mask) -> softmax -> matmul`, so that the scores between the two
    products never are whole matrices in memory.

    Works on calls of TensorIR functions, fused ones too, by what their blocks compute;
    `relax-fuse-tir` has to follow.  Only a chain whose intermediate results have no other use is
    grouped.
    """

    def run(self, state: ModuleState) -> None:
        kernels = prim_functions(state)
        softmaxes = {name for name, kernel in kernels.items() if _is_softmax(kernel)}
        if not softmaxes:
            return
        made = FusedFunctions()
        finder = _Finder(kernels, softmaxes)
        for function in relax_functions(state):
            if "Primitive" in attributes_of_function(function):
                continue
            fuser = Fuser(state, function, made)
            for block in list(binding_blocks(function)):
                for op in operations(block):
                    chain = finder.chain(op) if op.name == "relax.call_tir" else None
                    if chain is not None:
                        fuser.fuse(chain)


class _Finder:
    def __init__(self, kernels: dict[str, ir.Operation], softmaxes: set[str]):
        self.softmaxes = softmaxes
        self.multiplied = {name: multiplied_parameters(kernel) for name, kernel in kernels.items()}
        self.maps = {
            name
            for name, kernel in kernels.items()
            if name not in softmaxes
            and not self.multiplied[name]
            and op_pattern(kernel) <= OpPatternKind.BROADCAST
        }

    def chain(self, last: ir.Operation) -> list[ir.Operation] | None:
        """The calls from the first product to the second one, `last`; None if it is none."""
        arguments, _ = call_tir_operands(last)
        if callee_of(last) in self.softmaxes:
            return None
        for position in sorted(self.multiplied.get(callee_of(last), ())):
            if position >= len(arguments):
                continue
            weights = only_producer(arguments[position], last)
            if weights is None or callee_of(weights) not in self.softmaxes:
                continue
            if self.multiplied[callee_of(weights)]:  # the first product is in it already
                return [weights, last]
            before = self._scores(weights)
            if before is not None:
                return [*before, weights, last]
        return None

    def _scores(self, consumer: ir.Operation) -> list[ir.Operation] | None:
        """The first product and what is done to its result, up to `consumer`."""
        for argument in call_tir_operands(consumer)[0]:
            producer = only_producer(argument, consumer)
            if producer is None:
                continue
            name = callee_of(producer)
            if self.multiplied.get(name) and name not in self.softmaxes:
                return [producer]
            if name in self.maps:
                before = self._scores(producer)
                if before is not None:
                    return [*before, producer]
        return None


def _is_softmax(kernel: ir.Operation) -> bool:
    """Whether blocks of a function find a maximum, take exponentials and sum, each by itself."""
    found: set[str] = set()
    for block in walk(kernel):
        if block.name != "tir.block":
            continue
        kinds = {ir.StringAttr(kind).value for kind in ir.ArrayAttr(block.attributes["iter_kinds"])}
        names = {op.name for op in walk(block) if op.name.startswith(("arith.", "math."))}
        if "R" in kinds and "arith.maximumf" in names:
            found.add("maximum")
        if "math.exp" in names:
            found.add("exponential")
        if "R" in kinds and "arith.addf" in names and "arith.mulf" not in names:
            found.add("sum")
    return found == {"maximum", "exponential", "sum"}
