"""Joining a model and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.gradients.te_gradients import TE_GRADIENTS
from relax_mlir.relax.expr import Expr, Tuple, TupleGetItem, Var
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import TupleType
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import ModulePass, Pass, PassInfo


def register_te_gradient(
    te_grad_name: str, te_grad_func: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Register the gradient of `call_tir_with_grad` calls of that name; also a decorator.

    `te_grad_func(output_grad, *arguments, **te_grad_kwargs)` gives a te tensor for each argument.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        TE_GRADIENTS[te_grad_name] = function
        return function

    return register if te_grad_func is None else register(te_grad_func)


def AppendLoss(
    func_name: str,
    loss_function: Function,
    num_backbone_outputs: int = 1,
    new_func_name: str | None = None,
) -> Pass:
    """A pass that adds `<func_name>_loss`: the function, then the loss of what it returns.

    The first `num_backbone_outputs` results become the first parameters of the loss; the others of
    its parameters follow those of the function.  The rest of the results is returned behind the
    loss.
    """
    name = new_func_name or f"{func_name}_loss"

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        backbone = mod[func_name]
        if not isinstance(backbone, Function):
            raise Error(f"'{func_name}' is no Relax function")
        joined = _Joined(backbone, loss_function, num_backbone_outputs, name).function()
        mod.update_func(name, joined)
        return mod.verify()

    return ModulePass(transform, PassInfo(0, "AppendLoss"))


class _Joined(PyExprMutator):
    """Emits a function and a loss as one."""

    def __init__(self, backbone: Function, loss: Function, outputs: int, name: str):
        super().__init__()
        self._backbone, self._loss = backbone, loss
        self._outputs, self._name = outputs, name
        if not 0 < outputs <= len(loss.params):
            raise Error(f"the loss takes {len(loss.params)} operands, not {outputs} results")

    def function(self) -> Function:
        taken = {param.name_hint for param in self._backbone.params}
        extra: list[Var] = []
        for param in self._loss.params[self._outputs :]:
            hint = param.name_hint if param.name_hint not in taken else f"{param.name_hint}_1"
            extra.append(Var(hint, param.struct_info))
            self.set_var_remap(param, extra[-1])
        with self.builder_.function(self._name, [*self._backbone.params, *extra]):
            results = self._results(self._sequence(self._backbone.body))
            given = self._loss.params[: self._outputs]
            for param, result in zip(given, results[: self._outputs], strict=True):
                self.set_var_remap(param, result)
            loss = self._sequence(self._loss.body)
            rest = results[self._outputs :]
            self.builder_.emit_func_output(Tuple([loss, *rest]) if rest else loss)
        made = self.builder_.get()[self._name]
        assert isinstance(made, Function)
        return made

    def _results(self, value: Expr) -> list[Expr]:
        kind = value.struct_info
        if not isinstance(kind, TupleType):
            results: list[Expr] = [value]
        elif isinstance(value, Tuple):
            results = list(value.fields)
        else:
            results = [self.builder_.emit(TupleGetItem(value, i)) for i in range(len(kind))]
        if len(results) < self._outputs:
            raise Error(
                f"'{self._backbone.name}' returns {len(results)} tensors, the loss needs "
                f"{self._outputs} of them"
            )
        return results
