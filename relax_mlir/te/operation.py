"""The constructors of tensor expressions: placeholder, compute, extern and axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import (
    IterVar,
    PrimExpr,
    Range,
    Reduce,
    SizeVar,
    Var,
    as_expr,
    post_order,
    substitute,
)
from relax_mlir.tir.statements import Evaluate, Names, Statement

if TYPE_CHECKING:
    from relax_mlir.tir.builder import PrimFuncBuilder
    from relax_mlir.tir.function import PrimFunc

__all__ = [
    "compute", "current_tag", "extern", "extern_primfunc", "imperative", "placeholder",
    "reduce_axis", "size_var", "tag_scope", "thread_axis", "var",
]  # fmt: skip

_tag: ContextVar[str] = ContextVar("te_tag", default="")


def var(name: str = "tindex", dtype: object = "int32") -> Var:
    """A variable: a symbolic size, or a scalar input."""
    return Var(name, dtype)


def size_var(name: str = "size", dtype: object = "int32") -> SizeVar:
    """A variable that is a size, hence not negative."""
    return SizeVar(name, dtype)


def placeholder(
    shape: Sequence[Any] | Any, dtype: object = None, name: str = "placeholder"
) -> Tensor:
    """An input tensor; dtype float32 by default."""
    sizes = _shape(shape)
    return PlaceholderOp(name, sizes, "float32" if dtype is None else dtype).output(0)


def compute(
    shape: Sequence[Any] | Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at given indices is `fcompute(*indices)`.

    fcompute's parameters name the axes (`*i` gives i0, i1, ...).  It returns an expression or a
    list of them; the latter gives a tuple of tensors.  Raises Error if the number of parameters
    is not the rank, or a reduction is not at the top of an expression.
    """
    sizes = _shape(shape)
    names = _axis_names(fcompute, len(sizes), varargs_names)
    axis = [
        IterVar(Range.from_min_extent(as_expr(0, s.dtype), s), Var(n, s.dtype), IterVar.DataPar)
        for n, s in zip(names, sizes, strict=True)
    ]
    body = fcompute(*[a.var for a in axis])
    several = isinstance(body, (list, tuple))
    bodies = [as_expr(b) for b in body] if several else [as_expr(body)]
    _check_reductions(name, bodies)
    op = ComputeOp(name, axis, bodies, tag or _tag.get(), attrs)
    outputs = [op.output(i) for i in range(len(bodies))]
    return tuple(outputs) if several and len(outputs) > 1 else outputs[0]


def reduce_axis(
    dom: Range | Sequence[Any], name: str = "rv", thread_tag: str = "", span: Any = None
) -> IterVar:
    """A reduction axis over `(begin, end)` or a Range."""
    domain = dom if isinstance(dom, Range) else Range(*dom)
    return IterVar(domain, Var(name, domain.extent.dtype), IterVar.CommReduce, thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> IterVar:
    """An axis bound to a GPU thread index such as "threadIdx.x"."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise Error("thread_axis: a tag such as 'threadIdx.x' expected")
    domain = None
    if dom is not None:
        begin_end = dom if isinstance(dom, (list, tuple, Range)) else (0, dom)
        domain = begin_end if isinstance(begin_end, Range) else Range(*begin_end)
    return IterVar(domain, Var(name or tag, "int32"), IterVar.ThreadIndex, tag)


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors written by a call or by statements (`tir.ir_builder`): what
    `fcompute(in_buffers, out_buffers)` returns.

    shape: one shape, or a list of shapes for several outputs.  dtype: the outputs', by default
    that of the only input.
    """
    shapes = [list(s) for s in shape] if _is_nested(shape) else [_shape(shape)]
    dtypes = _extern_dtypes(dtype, inputs, len(shapes))
    ins = _as_list(in_buffers) or [Buffer(t.name, t.shape, t.dtype) for t in inputs]
    outs = _as_list(out_buffers) or [
        Buffer(name, s, d) for s, d in zip(shapes, dtypes, strict=True)
    ]
    made = fcompute(ins, outs)
    body = made if isinstance(made, Statement) else Evaluate(as_expr(made))

    def emit(build: PrimFuncBuilder, sources: list[Buffer], targets: list[Buffer]) -> None:
        actual = dict(zip([*ins, *outs], [*sources, *targets], strict=True))
        body.emit(build, Names(actual))

    return imperative(list(zip(shapes, dtypes, strict=True)), inputs, emit, name, tag, attrs)


def imperative(
    outputs: Sequence[tuple[Sequence[Any], object]],
    inputs: Sequence[Tensor],
    emit: Callable[[PrimFuncBuilder, list[Buffer], list[Buffer]], None],
    name: str,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors written by statements, for what no compute expresses: scans, sorts, scatters.

    outputs: (shape, dtype) of each.  emit: writes the statements, given the builder of the
    function and the buffers of inputs and outputs.
    """
    op = ExternOp(name, inputs, outputs, emit, tag or _tag.get(), attrs)
    tensors = [op.output(i) for i in range(op.num_outputs)]
    return tensors if len(tensors) > 1 else tensors[0]


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: PrimFunc, **kwargs: Any) -> Any:
    """The tensors that a PrimFunc writes, given those it reads: its first parameters.

    Raises Error if a parameter is a scalar, or inputs do not fit the parameters.
    """
    buffers = [primfunc.buffer_map.get(param) for param in primfunc.params]
    known = [b for b in buffers if b is not None]
    if len(known) != len(buffers) or len(input_tensors) >= len(buffers):
        raise Error(
            f"extern_primfunc: {primfunc.name} must take {len(input_tensors)} input buffers, "
            "then its outputs, and nothing else"
        )
    for tensor, buffer in zip(input_tensors, known, strict=False):
        if tensor.dtype != buffer.dtype or tensor.ndim != buffer.ndim:
            raise Error(
                f"extern_primfunc: parameter {buffer.name} of {primfunc.name} is {buffer.dtype} "
                f"of {buffer.ndim} dimensions, given {tensor}"
            )
    sizes: dict[Var, PrimExpr] = {}
    for tensor, buffer in zip(input_tensors, known, strict=False):
        for size, actual in zip(buffer.shape, tensor.shape, strict=True):
            if isinstance(size, Var):
                sizes.setdefault(size, actual)
    outputs = [
        ([substitute(s, sizes) for s in b.shape], b.dtype) for b in known[len(input_tensors) :]
    ]

    def emit(build: PrimFuncBuilder, sources: list[Buffer], targets: list[Buffer]) -> None:
        build.inline(primfunc, [*sources, *targets])

    return imperative(outputs, input_tensors, emit, kwargs.get("name", primfunc.name))


def current_tag() -> str:
    """The tag of the scope that operations are made in, "" outside of one."""
    return _tag.get()


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Tag the tensors computed inside; also a decorator."""
    if _tag.get():
        raise Error(f"tag scopes cannot nest: {tag!r} inside {_tag.get()!r}")
    token = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(token)


def _shape(shape: Any) -> list[PrimExpr]:
    sizes = shape if isinstance(shape, (list, tuple)) else [shape]
    # Programs of older TVM write `N / block` for a size, which is a float in Python.
    return [as_expr(int(s) if isinstance(s, float) and s.is_integer() else s) for s in sizes]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_nested(shape: Any) -> bool:
    return isinstance(shape, (list, tuple)) and bool(shape) and isinstance(shape[0], (list, tuple))


def _extern_dtypes(dtype: Any, inputs: Sequence[Tensor], count: int) -> list[Any]:
    if dtype is None:
        if len({t.dtype for t in inputs}) != 1:
            raise Error("extern: dtype must be given unless all inputs have the same one")
        return [inputs[0].dtype] * count
    return list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * count


def _axis_names(
    fcompute: Callable[..., Any], rank: int, varargs_names: Sequence[str] | None
) -> list[str]:
    spec = inspect.getfullargspec(fcompute)
    names = spec.args[1:] if inspect.ismethod(fcompute) else list(spec.args)
    if len(names) > rank and spec.defaults:  # `lambda i, bound=value` is a closure, not an axis
        names = names[: -len(spec.defaults)]
    if spec.varargs is not None:
        missing = rank - len(names)
        if missing >= 0:
            extra = varargs_names or [f"i{i}" for i in range(missing)]
            names += list(extra)
    if len(names) != rank:
        raise Error(
            f"compute: the function takes {len(names)} indices, the shape has {rank} dimensions"
        )
    return names


def _check_reductions(name: str, bodies: Sequence[PrimExpr]) -> None:
    for body in bodies:
        inside = [node for node in post_order(body) if isinstance(node, Reduce)]
        if len(inside) > isinstance(body, Reduce):
            raise Error(
                f"compute {name}: a reduction must be the whole expression",
                hint="put what follows the reduction into a second compute",
            )
    kinds = {isinstance(body, Reduce) for body in bodies}
    if len(kinds) > 1:
        raise Error(f"compute {name}: either all outputs are reductions or none")
