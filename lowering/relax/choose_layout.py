"""relax-choose-layout."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.conversion import convert
from relax_mlir.lowering.relax.layout.cost import CONVOLUTIONS, layout_cost, spatial_rank
from relax_mlir.lowering.relax.rewriting import dims_of
from relax_mlir.mlir import ir


@register_pass("relax-choose-layout")
@dataclass(frozen=True)
class ChooseLayout(Pass):
    """Compute convolutional networks with channels last, the layout that kernels are fastest in.

    Convolutions read NHWC images and HWIO kernels, as in one and three dimensions; operators around
    them take over the layout (`relax-convert-layout`), and transpositions that meet cancel.  What
    is left of them stands at the graph's borders and where an operator needs the other layout.  A
    function keeps its layouts where transposing would cost more than it gains.

    always: whatever it costs.
    """

    always: bool = False

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            desired = _desired(function)
            if not desired:
                continue
            with ir.InsertionPoint(function):
                before = function.clone()
            cost = layout_cost(function)
            convert(function, state, desired, absorb=True)
            if self.always or layout_cost(function) < cost:
                before.erase()
            else:
                function.erase()


def _desired(function: ir.Operation) -> dict[str, tuple[str, str]]:
    """The layouts of the convolutions there are; none if some has blocked ones or unknown sizes."""
    found: dict[str, tuple[str, str]] = {}
    for op in walk(function):
        spec = spec_of(op)
        if spec is None or spec.name not in CONVOLUTIONS:
            continue
        spatial = layouts.SPATIAL[spatial_rank(spec.name)]
        attributes = attributes_of(op)
        given = attributes["data_layout"], attributes["out_layout"] or attributes["data_layout"]
        plain = all(sorted(layout) == sorted(f"NC{spatial}") for layout in given)
        kernel = sorted(attributes["kernel_layout"]) == sorted(f"OI{spatial}")
        if not plain or not kernel or None in map(dims_of, [*op.operands, *op.results]):
            return {}
        found[spec.name] = (f"N{spatial}C", f"{spatial}IO")
    return found


__all__ = ["ChooseLayout"]
