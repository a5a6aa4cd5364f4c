"""relax-convert-layout."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.layout.conversion import convert


@register_pass("relax-convert-layout")
@dataclass(frozen=True)
class ConvertLayout(Pass):
    """Compute convolutions in another layout, and what follows them too as far as it goes.

    An entry of `desired_layouts` is `nn.conv2d=NHWC:OHWI`: the layouts of the data (and result) and
    of the weight.  Elementwise operators, pooling, resizing, concatenation, slices, reductions,
    normalisation, and reshapes of a channel shuffle take over the layout of their operands; others,
    and what a function returns, see the layout they had.  Constants are transposed here and now.
    """

    desired_layouts: tuple[str, ...] = ("nn.conv2d=NHWC:OHWI",)

    def run(self, state: ModuleState) -> None:
        desired = dict(map(_entry, self.desired_layouts))
        for function in relax_functions(state):
            convert(function, state, desired)


def _entry(text: str) -> tuple[str, list[str]]:
    name, equals, layouts = text.partition("=")
    given = layouts.split(":")
    if not equals or not 1 <= len(given) <= 3:
        raise PassError(f"'{text}' is no layout", hint="write nn.conv2d=NHWC:OHWI")
    return name.removeprefix("relax."), given


__all__ = ["ConvertLayout"]
