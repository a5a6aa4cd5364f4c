"""relax-decompose-ops-for-inference."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.decompositions import batch_norm_inference, decompose

RULES = {"relax.nn_batch_norm": batch_norm_inference}


@register_pass("relax-decompose-ops-for-inference")
@dataclass(frozen=True)
class DecomposeOpsForInference(Pass):
    """Write composite operators as simpler ones, as they are when a trained model runs.

    Batch normalisation uses the running statistics and leaves them as they are.
    """

    func_name: str = ""
    """The function to work on; all by default."""

    def run(self, state: ModuleState) -> None:
        decompose(state, self.func_name, RULES)
