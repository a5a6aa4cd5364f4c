"""Training of Relax models (TVM's `relax.training`)."""

from relax_mlir.relax.training import loss, optimizer, utils
from relax_mlir.relax.training.setup_trainer import SetupTrainer
from relax_mlir.relax.training.trainer import Trainer
from relax_mlir.relax.training.utils import AppendLoss

__all__ = ["AppendLoss", "SetupTrainer", "Trainer", "loss", "optimizer", "utils"]
