"""`BasePyModule`: a module whose TensorIR, Relax and Python functions are called from Python.

    @I.ir_module
    class Model(BasePyModule):
        @I.pyfunc
        def main(self, x): return self.call_tir(self.relu, [x], R.Tensor((4,), "float32"))

    model = Model(relax_mlir.cpu())
    model.main(torch.ones(4))

Arrays of numpy and torch and runtime tensors are taken; results are what the first argument is.
Python functions that compiled code calls are given torch tensors, where PyTorch is installed.
"""

from __future__ import annotations

import inspect
import itertools
import types as python_types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import types
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import callee_of, relax_functions, walk
from relax_mlir.mlir import ir
from relax_mlir.relax.array_exchange import as_torch, like, to_tensor, to_tensors
from relax_mlir.relax.struct_info import TupleType, to_mlir_type

__all__ = ["BasePyModule"]

_INSTANCES = itertools.count()


class BasePyModule:
    """A compiled module with Python functions beside it.

    `ir_mod` holds the TensorIR and Relax functions, compiled for `target` on first use;
    `python_functions` get the instance as their first argument where that is called `self`.
    """

    def __init__(
        self,
        ir_mod: IRModule,
        device: Any = None,
        target: Any = None,
        python_functions: Mapping[str, Callable[..., Any]] | None = None,
    ):
        from relax_mlir.runtime.device import cpu

        self.ir_mod = ir_mod
        self.device = cpu() if device is None else device
        self.target = "llvm" if target is None else target
        self.pyfuncs: dict[str, Callable[..., Any]] = {}
        self._prefix = f"relax_mlir.pyfunc.{next(_INSTANCES)}."
        kinds = {var.name_hint: face.attrs_key for var, face in ir_mod.functions.items()}
        self.tir_func_names = [n for n, key in kinds.items() if key == "tir.attrs"]
        self.relax_func_names = [n for n, key in kinds.items() if key != "tir.attrs"]
        self._kernels: Any = None
        self._machine: Any = None
        for name, function in (python_functions or {}).items():
            self.add_python_function(name, function)

    # -- functions ----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "ir_mod" not in self.__dict__:
            raise AttributeError(name)
        if name in self.relax_func_names:
            return self._relax_function(name)
        if name in self.tir_func_names:
            return self.tir_function(name)
        known = ", ".join(self.list_functions_flat()) or "none"
        raise AttributeError(f"the module has no function '{name}'; it has {known}")

    def list_functions(self) -> dict[str, list[str]]:
        """The names of the functions by kind."""
        return {
            "tir": list(self.tir_func_names),
            "relax": list(self.relax_func_names),
            "python": list(self.pyfuncs),
        }

    def list_functions_flat(self) -> list[str]:
        return [name for names in self.list_functions().values() for name in names]

    def add_python_function(self, name: str, func: Callable[..., Any]) -> None:
        """Let the module have a Python function, which Relax functions call by its name too.

        Raises Error for what cannot be called.
        """
        if not callable(func):
            raise Error(f"'{name}' must be a function, not a {type(func).__name__}")
        from relax_mlir.runtime.registry import register_global_func

        bound = python_types.MethodType(func, self) if _takes_self(func) else func
        self.pyfuncs[name] = func
        self._machine = None  # compiled code knows the functions there were
        setattr(self, name, bound)
        if not _python_calls(self.ir_mod):
            return

        def from_host(*args: Any) -> Any:
            return to_tensors(bound(*[as_torch(arg) for arg in args]))

        for registered in (name, f"{self._prefix}{name}"):
            register_global_func(registered, from_host, override=True)

    def _with_own_functions(self) -> IRModule:
        """The module as it is compiled: names of Python functions are the process's, so that those
        of this instance get one that no other has."""
        result = self.ir_mod.clone()
        with mlir.scope():
            for op in _python_calls(result):
                if callee_of(op) in self.pyfuncs:
                    op.attributes["callee"] = ir.StringAttr.get(f"{self._prefix}{callee_of(op)}")
        return result

    def script(self, **options: Any) -> str:
        """The TVMScript of the compiled functions."""
        return self.ir_mod.script(**options)

    def show(self, style: str | None = None, **options: Any) -> None:
        """Print the TVMScript of the compiled functions."""
        self.ir_mod.show(style, **options)

    # -- calls --------------------------------------------------------------------------------

    def call_tir(
        self, tir_func: Any, args: Any, out_sinfo: Any = None, *, out_ty: Any = None
    ) -> Any:
        """Call a TensorIR function, given by name or as `self.name`, with fresh outputs of the
        types `out_sinfo`; symbolic sizes of these are those of the arguments' types."""
        function = self.tir_function(tir_func) if isinstance(tir_func, str) else tir_func
        return self._into_outputs(function, args, out_sinfo if out_ty is None else out_ty)

    def call_dps_packed(
        self, func_name: str, args: Any, out_sinfo: Any = None, *, out_ty: Any = None
    ) -> Any:
        """Call a registered function that writes into outputs given behind its arguments."""
        from relax_mlir.runtime.registry import get_global_func

        function = get_global_func(func_name)
        return self._into_outputs(function, args, out_sinfo if out_ty is None else out_ty)

    def call_py_func(self, func_name: str, args: Any) -> Any:
        """Call a Python function of the module.  Raises Error for an unknown name."""
        if func_name not in self.pyfuncs:
            known = ", ".join(self.pyfuncs) or "none"
            raise Error(f"there is no Python function '{func_name}'; there are {known}")
        return getattr(self, func_name)(*_as_list(args))

    def _into_outputs(self, function: Callable[..., Any], args: Any, outputs: Any) -> Any:
        given = _as_list(args)
        shaped = _shapes(outputs, given)
        made = [np.empty(shape, dtype) for shape, dtype in shaped]
        tensors = [to_tensor(a) for a in given]
        results = [to_tensor(array) for array in made]
        function(*tensors, *results)
        back = [like(tensor, given) for tensor in results]
        return back[0] if len(back) == 1 else tuple(back)

    def tir_function(self, name: str) -> Callable[..., Any]:
        """A TensorIR function, compiled.  Raises Error for an unknown name."""
        if name not in self.tir_func_names:
            known = ", ".join(self.tir_func_names) or "none"
            raise Error(f"there is no TensorIR function '{name}'; there are {known}")
        if self._kernels is None:
            from relax_mlir.driver import compile as compile_module

            kernels = IRModule()
            for own in self.tir_func_names:  # private ones are called too
                kernels.update_func(own, self.ir_mod[own].with_attr("global_symbol", own))
            self._kernels = compile_module(kernels, self.target)
        return self._kernels[name]

    def _relax_function(self, name: str) -> Callable[..., Any]:
        if self._machine is None:
            from relax_mlir.driver import compile as compile_module
            from relax_mlir.runtime.vm import VirtualMachine

            module = self._with_own_functions()
            self._machine = VirtualMachine(compile_module(module, self.target), self.device)
        function = self._machine[name]

        def call(*args: Any) -> Any:
            return like(function(*[to_tensor(a) for a in args]), args)

        return call

    # -- conversions --------------------------------------------------------------------------

    def _convert_pytorch_to_tvm(self, tensors: Any) -> Any:
        """Torch tensors (or lists of them) as runtime tensors."""
        return to_tensors(tensors)

    def _convert_tvm_to_pytorch(self, tensors: Any) -> Any:
        """Runtime tensors (or lists of them) as torch tensors."""
        if isinstance(tensors, (list, tuple)):
            return [self._convert_tvm_to_pytorch(t) for t in tensors]
        return as_torch(tensors)


def _takes_self(function: Callable[..., Any]) -> bool:
    """Whether a function's first parameter is `self`: what was a Relax function, and what is
    written without it, knows nothing of the module that it is called through."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except ValueError:  # a function of C without a signature
        return False
    return parameters[:1] == ["self"]


def _python_calls(mod: IRModule) -> list[ir.Operation]:
    """The calls of Python functions in a module."""
    with mlir.scope():
        inside = [op for function in relax_functions(mod.state) for op in walk(function)]
        return [op for op in inside if op.name == "relax.call_py_func"]


def _as_list(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (list, tuple)) else [args]


def _shapes(outputs: Any, args: Sequence[Any]) -> list[tuple[tuple[int, ...], Any]]:
    """The shapes and numpy dtypes of outputs.  A symbol is a size that the caller cannot know
    otherwise, so it is taken from the arguments in order.  Raises Error when that is not enough."""
    from relax_mlir.dialects.relax.constants import numpy_dtype

    kinds = outputs.fields if isinstance(outputs, TupleType) else _as_list(outputs)
    found: list[tuple[tuple[int, ...], Any]] = []
    with mlir.scope():
        infos = [types.tensor_info(to_mlir_type(kind)) for kind in kinds]
    for info, kind in zip(infos, kinds, strict=True):
        if info is None or info.dims is None or info.dtype is None:
            raise Error(f"an output is a tensor of known shape and dtype, not {kind}")
        symbols = _symbol_sizes(info, args)
        sizes = [dim_algebra.substitute(dim, symbols) for dim in info.dims]
        unknown = [size for size in sizes if not isinstance(size, int)]
        if unknown:
            raise Error(f"the size {unknown[0]} of an output is not known from the arguments")
        found.append((tuple(int(s) for s in sizes), numpy_dtype(info.dtype)))
    return found


def _symbol_sizes(info: types.TensorInfo, args: Sequence[Any]) -> dict[str, Any]:
    """Symbols of an output are the sizes of the first argument of its rank, axis by axis."""
    shapes = [tuple(a.shape) for a in args if hasattr(a, "shape")]
    same_rank = next((shape for shape in shapes if len(shape) == info.ndim), None)
    if same_rank is None or info.dims is None:
        return {}
    return {
        str(dim): int(size)
        for dim, size in zip(info.dims, same_rank, strict=True)
        if dim_algebra.is_symbol(dim)
    }
