"""From a model, a loss and an optimizer to a module that can be trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import transform
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import TupleType
from relax_mlir.relax.training.loss import Loss
from relax_mlir.relax.training.optimizer import Optimizer
from relax_mlir.relax.training.utils import AppendLoss
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import ModulePass, Pass, PassInfo

PREDICT = "backbone"
LOSS = "backbone_loss"
ADJOINT = "backbone_loss_adjoint"
UPDATE = "update_params"


def SetupTrainer(
    loss: Loss, optimizer: Optimizer, loss_args: Sequence[Any], legalize: bool = True
) -> Pass:
    """A pass that adds to a module with a function `backbone` what training needs.

    The module has the attributes `param_num` (how many of the parameters of `backbone`, behind its
    inputs, are trained) and `state_num` (how many behind those are states, which `backbone` returns
    anew behind its prediction).  `loss_args` are the types of the loss's operands, the prediction
    first.  Added are `backbone_loss`, `backbone_loss_adjoint` and `update_params`, one step of the
    optimizer.
    """

    def apply(mod: IRModule, ctx: PassContext) -> IRModule:
        if PREDICT not in mod or not isinstance(mod[PREDICT], Function):
            raise Error(f"a module to train has a Relax function '{PREDICT}'")
        backbone = mod[PREDICT]
        assert isinstance(backbone, Function)
        counts = [mod.get_attr(key) for key in ("param_num", "state_num")]
        if any(count is None for count in counts):
            raise Error("a module to train has the attributes param_num and state_num")
        param_num, state_num = (int(count) for count in counts)
        inputs = len(backbone.params) - param_num - state_num
        if inputs < 0:
            raise Error(f"'{PREDICT}' has {len(backbone.params)} parameters, fewer than it trains")
        _check_states(backbone, state_num)
        params = backbone.params[inputs : inputs + param_num]
        mod = transform.DecomposeOpsForTraining(PREDICT)(mod)
        mod = AppendLoss(PREDICT, loss(*loss_args), new_func_name=LOSS)(mod)
        mod = transform.Gradient(LOSS, [param.name_hint for param in params])(mod)
        mod.update_func(UPDATE, optimizer.init(params).get_function())
        mod = mod.with_attrs({"input_num": inputs, "param_num": param_num, "state_num": state_num})
        if legalize:
            mod = transform.LegalizeOps()(mod)
        return mod.verify()

    return ModulePass(apply, PassInfo(0, "SetupTrainer"))


def _check_states(backbone: Function, state_num: int) -> None:
    kind = backbone.ret_struct_info
    given = len(kind) if isinstance(kind, TupleType) else 1
    if state_num and given < state_num + 1:
        raise Error(
            f"'{PREDICT}' has {state_num} states, so it returns (prediction, states), not "
            f"{given} results"
        )
