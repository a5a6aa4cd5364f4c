"""relax-optimize-layout-transform."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax.layout_transform import transformed_dims
from relax_mlir.dialects.relax.spec import SPECS, attributes_of, build
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.index_maps import compose, is_identity
from relax_mlir.lowering.relax.rewriting import defining, dims_of, erase_dead, replace
from relax_mlir.mlir import ir, operations_named

_NAME = "relax.layout_transform"


@register_pass("relax-optimize-layout-transform")
@dataclass(frozen=True)
class OptimizeLayoutTransform(Pass):
    """Make one `relax.layout_transform` of two, none where the second undoes the first.

    The first must not add elements.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, [_NAME]):
                _optimize(op)


def _optimize(op: ir.Operation) -> None:
    """One transform, and the one it is of if there is one."""
    first = defining(op.operands[0], _NAME)
    own: ir.AffineMap = attributes_of(op)["index_map"].value
    if first is None:
        _drop_identity(op, op.operands[0], own)
        return
    source = first.operands[0]
    inner: ir.AffineMap = attributes_of(first)["index_map"].value
    given, middle = dims_of(source), dims_of(op.operands[0])
    if given is None or middle is None:
        return
    # With as many elements as before nothing was added between.
    if not dim_algebra.equal(dim_algebra.product(given), dim_algebra.product(middle)):
        return
    whole = compose(own, inner)
    between = [first, *_names(op.operands[0], first)]
    if _drop_identity(op, source, whole):
        erase_dead(between)
        return
    if transformed_dims(whole, given) != dims_of(op.results[0]):
        return  # what is known of its shape would change
    attributes = attributes_of(op) | {"index_map": ir.AffineMapAttr.get(whole)}
    with ir.InsertionPoint(op):
        made = build(SPECS["layout_transform"], [source], attributes, loc=op.location)
    replace(op, made)
    erase_dead(between)


def _names(value: ir.Value, first: ir.Operation) -> list[ir.Operation]:
    """The second names between a value and the operation that makes it, in program order."""
    found: list[ir.Operation] = []
    while value.owner.operation != first:
        found.append(value.owner.operation)
        value = found[-1].operands[0]
    return found[::-1]


def _drop_identity(op: ir.Operation, source: ir.Value, index_map: ir.AffineMap) -> bool:
    """Use the source itself where the map changes nothing."""
    sizes = dims_of(source)
    if source.type != op.results[0].type or sizes is None:
        return False
    known = [size if isinstance(size, int) else 0 for size in sizes]
    if not is_identity(index_map, known):
        return False
    replace(op, source)
    return True
