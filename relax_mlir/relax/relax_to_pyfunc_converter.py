"""Relax functions as Python functions on torch tensors, at any stage of compilation.

    converted = RelaxToPyFuncConverter(module).convert(["main"])
    converted.pyfuncs["main"](torch.randn(2, 4))

Converting a module before and after a pass, and comparing both with PyTorch, shows whether the pass
kept what the program means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import called_from, relax_functions, symbol_name

if TYPE_CHECKING:
    from relax_mlir.relax.torch_evaluator import TorchEvaluator

__all__ = ["ConvertedFunction", "RelaxToPyFuncConverter", "convert_relax_to_pyfunc"]


class ConvertedFunction:
    """A Relax function, run by PyTorch operation by operation; takes and returns torch tensors
    (tuples for Relax tuples, tuples of integers for shapes)."""

    def __init__(self, name: str, evaluator: TorchEvaluator):
        self.__name__ = name
        self.__doc__ = f"The Relax function {name}, run by PyTorch."
        self._evaluator = evaluator

    def __call__(self, *args: Any) -> Any:
        """Raises Error for arguments that do not fit the parameters' types."""
        return self._evaluator.run(self.__name__, args)

    def __repr__(self) -> str:
        return f"<Relax function {self.__name__}, run by PyTorch>"


class RelaxToPyFuncConverter:
    """Converts Relax functions of a module.  `operator_map` has the torch function of each
    operator by its name without `relax.`; entries may be added or replaced before `convert`.

    Raises Error without PyTorch.
    """

    def __init__(self, ir_module: IRModule):
        try:
            from relax_mlir.relax.torch_functions import torch_functions
        except ImportError:
            raise Error("converting to Python functions needs PyTorch: pip install torch") from None
        self.ir_module = ir_module
        self.operator_map = torch_functions()

    def convert(self, relax_function_names: str | Sequence[str]) -> IRModule:
        """A copy of the module whose `pyfuncs` have the named functions too.

        Raises Error for a name that is no Relax function, and for operators without a torch
        function, all of them at once.
        """
        from relax_mlir.relax.torch_evaluator import TorchEvaluator

        named = relax_function_names
        names = [named] if isinstance(named, str) else list(named)
        self._check(names)
        result = self.ir_module.clone()
        present: dict[str, Callable[..., Any]] = dict(self.ir_module.__dict__.get("pyfuncs", {}))
        # On a copy of its own: the caller may change what it gets.
        evaluator = TorchEvaluator(self.ir_module.clone(), self.operator_map, present)
        made = {name: ConvertedFunction(name, evaluator) for name in names}
        result.__dict__["pyfuncs"] = {**present, **made}
        return result

    def _check(self, names: Sequence[str]) -> None:
        from relax_mlir.relax.torch_evaluator import unknown_operators

        with mlir.scope():
            functions = {symbol_name(op): op for op in relax_functions(self.ir_module.state)}
            for name in names:
                if name not in functions:
                    known = ", ".join(functions) or "none"
                    raise Error(
                        f"there is no Relax function '{name}' to convert; there are {known}"
                    )
            found = {
                operator
                for name in {*names, *called_from(names, functions)}
                for operator in unknown_operators(functions[name], self.operator_map)
            }
        if found:
            raise Error(
                f"no torch functions are known for {', '.join(sorted(found))}; give them in the "
                "converter's operator_map: converter.operator_map['vision.roi_pool'] = "
                "lambda data, rois, *, pooled_size, spatial_scale, layout: ..."
            )


def convert_relax_to_pyfunc(
    ir_module: IRModule, relax_function_names: str | Sequence[str]
) -> IRModule:
    """A copy of a module with Relax functions as Python functions in its `pyfuncs`."""
    return RelaxToPyFuncConverter(ir_module).convert(relax_function_names)
