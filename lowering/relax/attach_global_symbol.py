"""relax-attach-global-symbol."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import RELAX_ATTRS, TIR_ATTRS


@register_pass("relax-attach-global-symbol")
@dataclass(frozen=True)
class AttachGlobalSymbol(Pass):
    """Make every Relax and TensorIR function public: its name is the symbol it is exported by."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            ours = RELAX_ATTRS in function.attributes or TIR_ATTRS in function.attributes
            if ours and "sym_visibility" in function.attributes:
                del function.attributes["sym_visibility"]
