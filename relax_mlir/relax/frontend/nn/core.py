"""Tensors, parameters and modules of `relax.frontend.nn`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.relax import expr as rx
from relax_mlir.relax import symbols
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.location import user_span
from relax_mlir.relax.struct_info import StructInfo, TensorType, TupleType

_default_dtype = "float32"


def get_default_dtype() -> str:
    """The dtype of parameters that are given none."""
    return _default_dtype


def set_default_dtype(dtype: str) -> None:
    global _default_dtype
    _default_dtype = dtypes.canonical(dtype)


class Tensor:
    """A tensor in a module's `forward`: a Relax expression with PyTorch-like methods."""

    def __init__(self, *, _expr: rx.Expr):
        if not isinstance(_expr.struct_info, TensorType):
            raise TypeError(f"a tensor is expected, this is {_expr.struct_info}")
        self._expr = _expr

    @property
    def expr(self) -> rx.Expr:
        """The Relax expression; the exporter sets that of parameters."""
        return self._expr

    @expr.setter
    def expr(self, expr: rx.Expr) -> None:
        self._expr = expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A constant."""
        return Tensor(_expr=rx.const(data))

    @staticmethod
    def from_scalar(data: int | float, dtype: str) -> Tensor:
        """A constant of rank 0."""
        return Tensor(_expr=rx.const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorType, name: str = "tensor") -> Tensor:
        """A variable of that type."""
        return Tensor(_expr=rx.Var(name, struct_info))

    from_ty = from_struct_info

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """A variable; a string in the shape is a symbolic dimension."""
        return Tensor(_expr=rx.Var(name, TensorType(shape, dtype)))

    @property
    def _type(self) -> TensorType:
        info = self._expr.struct_info
        assert isinstance(info, TensorType)
        return info

    @property
    def shape(self) -> list[Any]:
        """The dimensions: integers, or `tir` expressions.  Raises Error when unknown."""
        dims = self._type.dims
        if dims is None:
            raise Error("the shape of this tensor is not known", span=user_span())
        return [dim if isinstance(dim, int) else symbols.to_expr(dim) for dim in dims]

    @property
    def ndim(self) -> int:
        return self._type.ndim

    @property
    def dtype(self) -> str | None:
        return self._type.dtype

    def __repr__(self) -> str:
        return f'Tensor({self.shape}, "{self.dtype}")'

    # -- arithmetic and the methods users know from PyTorch ------------------------------------

    def __add__(self, other: Any) -> Tensor:
        return _ops().add(self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _ops().add(self, other)

    def __sub__(self, other: Any) -> Tensor:
        return _ops().subtract(self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _ops().subtract(other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _ops().multiply(self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _ops().multiply(self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return _ops().divide(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _ops().divide(other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return _ops().matmul(self, other)

    def __lt__(self, other: Any) -> Tensor:
        return _ops().less(self, other)

    def __le__(self, other: Any) -> Tensor:
        return _ops().less_equal(self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _ops().greater(self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _ops().greater_equal(self, other)

    def __neg__(self) -> Tensor:
        return _ops().negative(self)

    def astype(self, dtype: str) -> Tensor:
        return _ops().astype(self, dtype)

    def maximum(self, other: Tensor) -> Tensor:
        return _ops().maximum(self, other)

    def minimum(self, other: Tensor) -> Tensor:
        return _ops().minimum(self, other)

    def reshape(self, *shape: Any) -> Tensor:
        return _ops().reshape(self, _flat(shape))

    def permute_dims(self, *axes: Any) -> Tensor:
        return _ops().permute_dims(self, _flat(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        return _ops().repeat(self, repeats, axis)


def _flat(values: tuple[Any, ...]) -> list[Any]:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return list(values[0])
    return list(values)


def _ops() -> Any:
    from relax_mlir.relax.frontend.nn import op

    return op


class Object:
    """A value of a `forward` that is no tensor."""

    def __init__(self, *, _expr: rx.Expr, _name: str = ""):
        self.expr = _expr
        self.name = _name


class Parameter(Tensor):
    """A weight: a shape and a dtype, and, once it is set, its `data`."""

    def __init__(self, shape: Sequence[Any], dtype: str | None = None):
        super().__init__(_expr=rx.Var("param", TensorType(shape, dtype or get_default_dtype())))
        self._data: Any = None
        self.attrs: OrderedDict[str, Any] = OrderedDict()

    @property
    def data(self) -> Any:
        """The value as a runtime tensor, or None."""
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        if value is None:
            self._data = None
            return
        from relax_mlir.runtime import tensor

        array = rx.as_array(value)
        given = TensorType(array.shape, array.dtype.name)
        if not self._type.is_base_of(given) and not _fits(self._type, given):
            raise ValueError(f"a parameter of type {self._type} cannot hold {given}")
        self._data = tensor(np.ascontiguousarray(array))

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype.  Raises ValueError once there is data."""
        if dtype is None:
            return
        if self._data is not None:
            raise ValueError("the dtype of a parameter with data cannot change")
        self._expr = rx.Var("param", TensorType(self._expr.shape, dtype))


def _fits(pattern: TensorType, given: TensorType) -> bool:
    """True when symbolic dimensions can be what `given` has in their place."""
    from relax_mlir import mlir
    from relax_mlir.dialects.relax import types

    with mlir.scope():
        return types.conflict(pattern.mlir_type, given.mlir_type) is None


class Module:
    """Base of models: parameters and modules as attributes, and a `forward`."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and those inside it, each once."""
        seen: set[int] = set()
        for name, value in _attributes(self, prefix, Parameter):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters():
            yield parameter

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of the modules inside this one."""
        yield from _attributes(self, prefix, Module)

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """The parameters by name."""
        found: dict[str, Parameter] = OrderedDict() if destination is None else destination
        found.update(self.named_parameters(prefix))
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Set the parameters' data by name; returns (missing, unexpected) names.

        Raises KeyError for them when `strict`.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            raise KeyError(f"missing parameters: {missing}, unexpected: {unexpected}")
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value.data if isinstance(value, Parameter) else value
        return missing, unexpected

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `define_subroutine` make a function of the module's `forward`."""
        super().__init_subclass__(**options)
        from relax_mlir.relax.frontend.nn.subroutine import dispatching

        if "forward" in vars(cls):
            cls.forward = dispatching(vars(cls)["forward"])

    define_subroutine = False
    """Whether calls of the module become calls of a function of its own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(f"module {type(self).__name__} has no method 'forward'")
        return forward(*args, **kwargs)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of every parameter."""
        for value in vars(self).values():
            if isinstance(value, (Module, Parameter)) or hasattr(value, "emit_init"):
                value.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(self, spec: Any, debug: bool = False, allow_extern: bool = False) -> Any:
        """The module with one Relax function for each method in `spec`, and the parameters.

        `spec` is `{"forward": {"x": nn.spec.Tensor((1, 784), "float32")}}` or a ModuleSpec.  With
        `debug` the functions may print (`nn.op.print_`), and get and give back a state for it.
        With `allow_extern` a third result lists the external modules (`nn.ExternModule`) in use.
        Raises Error when there are some without `allow_extern`.
        """
        from relax_mlir.relax.frontend.nn.exporter import export
        from relax_mlir.relax.frontend.nn.extern import external_modules

        module, params = export(self, spec, debug)
        used = external_modules(self)
        if allow_extern:
            return module, params, used
        if used:
            raise Error(
                "the module uses external modules",
                hint="export_tvm(spec, allow_extern=True) gives them too",
            )
        return module, params

    def jit(
        self,
        spec: Any,
        device: Any = "cpu",
        pipeline: Any = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """The module compiled: `module.jit(spec)["forward"](x)` takes and gives torch tensors.

        The parameters need data.  `out_format` is "torch", "numpy", or "raw" for runtime tensors.
        Raises ValueError for another format or a parameter without data.
        """
        from relax_mlir.relax.frontend.nn.jit import compile_module

        return compile_module(self, spec, device, pipeline, out_format, debug)


def _attributes(owner: Any, prefix: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of the attributes of a kind, modules searched in depth."""
    for name, value in owner.__dict__.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, kind):
            yield path, value
        if isinstance(value, Module):
            yield from value_attributes(value, path, kind)


def value_attributes(module: Module, path: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """As `_attributes`; containers have their own names for what they hold."""
    children = getattr(module, "named_children", None)
    if children is None:
        yield from _attributes(module, path, kind)
        return
    for name, child in children():
        inner = f"{path}.{name}" if path else name
        if isinstance(child, kind):
            yield inner, child
        if isinstance(child, Module):
            yield from value_attributes(child, inner, kind)


def wrap_nested(expr: rx.Expr, name: str) -> Any:
    """Bind an expression in the function being exported; a tuple comes back in parts."""
    if not isinstance(expr, rx.Var):
        builder = BlockBuilder.current()
        if builder is None:
            raise Error("nn operators work in a method that is being exported", span=user_span())
        expr = builder.emit(expr, name)
    kind = expr.struct_info
    if isinstance(kind, TensorType):
        return Tensor(_expr=expr)
    if isinstance(kind, TupleType):
        fields = range(len(kind.fields))
        return tuple(wrap_nested(rx.TupleGetItem(expr, i), f"{name}_{i}") for i in fields)
    return Object(_expr=expr, _name=name)


def unwrap(value: Any) -> Any:
    """The Relax expression behind a value of a `forward`, through lists and tuples."""
    if isinstance(value, (Tensor, Object)):
        return value.expr
    if isinstance(value, (list, tuple)):
        return type(value)(unwrap(item) for item in value)
    return value


def struct_info_of(value: Any) -> StructInfo:
    """The type behind a value of a `forward`."""
    inner = unwrap(value)
    if isinstance(inner, (list, tuple)):
        return TupleType([struct_info_of(item) for item in value])
    return inner.struct_info
