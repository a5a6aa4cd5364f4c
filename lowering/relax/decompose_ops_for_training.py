"""relax-decompose-ops-for-training."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.decompositions import batch_norm_training, decompose, layer_norm

RULES = {"relax.nn_batch_norm": batch_norm_training, "relax.nn_layer_norm": layer_norm}


@register_pass("relax-decompose-ops-for-training")
@dataclass(frozen=True)
class DecomposeOpsForTraining(Pass):
    """Write composite operators as simpler ones, whose gradients are known.

    Batch normalisation uses the batch's statistics and moves the running ones by `momentum`.
    """

    func_name: str = ""
    """The function to work on; all by default."""

    def run(self, state: ModuleState) -> None:
        decompose(state, self.func_name, RULES)
