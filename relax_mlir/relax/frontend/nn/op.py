"""Operators of `nn`: `relax.op`'s on `nn.Tensor`, each result bound under the operator's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.relax import expr as rx
from relax_mlir.relax import op as _op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn.core import Object, Tensor, struct_info_of, unwrap, wrap_nested
from relax_mlir.relax.frontend.nn.op_image import (
    conv1d_transpose as conv1d_transpose,
)
from relax_mlir.relax.frontend.nn.op_image import (
    get_timestep_embedding as get_timestep_embedding,
)
from relax_mlir.relax.frontend.nn.op_image import interpolate as interpolate
from relax_mlir.relax.frontend.nn.op_image import pad as pad
from relax_mlir.relax.frontend.nn.op_sampling import (
    multinomial_from_uniform as multinomial_from_uniform,
)
from relax_mlir.relax.frontend.nn.op_sampling import (
    renormalize_top_p_top_k_prob as renormalize_top_p_top_k_prob,
)
from relax_mlir.relax.frontend.nn.op_sampling import (
    sample_top_p_top_k_from_sorted_prob as sample_top_p_top_k_from_sorted_prob,
)
from relax_mlir.relax.location import user_span
from relax_mlir.relax.op.special import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
)
from relax_mlir.relax.struct_info import ObjectType

# nn's name -> (operator, name of the result); the arguments are the operator's.
_SAME: dict[str, tuple[str, str]] = {
    "add": ("add", "add"),
    "subtract": ("subtract", "subtract"),
    "multiply": ("multiply", "mul"),
    "divide": ("divide", "divide"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
    "matmul": ("matmul", "matmul"),
    "less": ("less", "less"),
    "less_equal": ("less_equal", "less_equal"),
    "greater": ("greater", "greater"),
    "greater_equal": ("greater_equal", "greater_equal"),
    "equal": ("equal", "equal"),
    "not_equal": ("not_equal", "not_equal"),
    "where": ("where", "where"),
    "relu": ("nn.relu", "relu"),
    "relu6": ("nn.relu6", "relu6"),
    "silu": ("nn.silu", "silu"),
    "softmax": ("nn.softmax", "softmax"),
    "log_softmax": ("nn.log_softmax", "log_softmax"),
    "softplus": ("nn.softplus", "softplus"),
    "prelu": ("nn.prelu", "prelu"),
    "sigmoid": ("sigmoid", "sigmoid"),
    "tanh": ("tanh", "tanh"),
    "exp": ("exp", "exp"),
    "log": ("log", "log"),
    "floor": ("floor", "floor"),
    "sqrt": ("sqrt", "sqrt"),
    "square": ("square", "square"),
    "sin": ("sin", "sin"),
    "cos": ("cos", "cos"),
    "erf": ("erf", "erf"),
    "negative": ("negative", "neg"),
    "sum": ("sum", "sum"),
    "max": ("max", "max"),
    "min": ("min", "min"),
    "mean": ("mean", "mean"),
    "argmax": ("argmax", "argmax"),
    "cumsum": ("cumsum", "cumsum"),
    "broadcast_to": ("broadcast_to", "broadcast_to"),
    "permute_dims": ("permute_dims", "permute_dims"),
    "permute": ("permute_dims", "permute"),
    "reshape": ("reshape", "reshape"),
    "repeat": ("repeat", "repeat"),
    "take": ("take", "take"),
    "astype": ("astype", "astype"),
    "split": ("split", "split"),
    "triu": ("triu", "triu"),
    "tril": ("tril", "tril"),
    "arange": ("arange", "arange"),
    "zeros": ("zeros", "zeros"),
    "ones": ("ones", "ones"),
    "sort": ("sort", "sort"),
    "argsort": ("argsort", "argsort"),
    "topk": ("topk", "topk"),
    "ccl_allreduce": ("ccl.allreduce", "ccl_allreduce"),
    "ccl_allgather": ("ccl.allgather", "ccl_allgather"),
    "ccl_broadcast_from_worker0": ("ccl.broadcast_from_worker0", "broadcast_from_worker"),
}


def _operator(name: str, path: str, result: str) -> Callable[..., Any]:
    def function(*args: Any, name: str | None = None, **keywords: Any) -> Any:
        target: Any = _op
        for part in path.split("."):
            target = getattr(target, part)
        given = [unwrap(arg) for arg in args]
        call = target(*given, **{key: unwrap(value) for key, value in keywords.items()})
        return wrap_nested(call, name or result)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`relax.op.{path}` on nn tensors; `name` is that of the result."
    return function


for _name, (_path, _result) in _SAME.items():
    globals()[_name] = _operator(_name, _path, _result)
# Those that are used below, by name.
add, reshape, ones, zeros = (globals()[_name] for _name in ("add", "reshape", "ones", "zeros"))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"nn has no operator '{name}'")


# -- operators with arguments of their own -------------------------------------------------------


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """The Gaussian error linear unit; `approximate="tanh"` for the approximation by tanh."""
    if approximate not in (None, "none", "tanh"):
        raise ValueError(f"approximate is None or 'tanh', not {approximate!r}")
    function = _op.nn.gelu_tanh if approximate == "tanh" else _op.nn.gelu
    return wrap_nested(function(unwrap(x)), name)


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """`x` with a new dimension of size one."""
    return wrap_nested(_op.expand_dims(unwrap(x), dim), name)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """`x` without a dimension of size one."""
    return wrap_nested(_op.squeeze(unwrap(x), axis), name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """The tensors one after another along a dimension."""
    return wrap_nested(_op.concat(unwrap(list(x)), dim), name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> Any:
    """`x` in equal parts along a dimension."""
    return wrap_nested(_op.split(unwrap(x), chunks, dim), name)


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Layer normalisation over the last dimensions, which have the sizes `normalized_shape`."""
    sizes = (
        [normalized_shape]
        if not isinstance(normalized_shape, (list, tuple))
        else list(normalized_shape)
    )
    scale = weight if weight is not None else ones(sizes, x.dtype)
    shift = bias if bias is not None else zeros(sizes, x.dtype)
    axes = list(range(-len(sizes), 0))
    call = _op.nn.layer_norm(unwrap(x), unwrap(scale), unwrap(shift), axes=axes, epsilon=eps)
    return wrap_nested(call, name)


def rms_norm(
    x: Tensor,
    weight: Tensor,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    name: str = "rms_norm",
) -> Tensor:
    """Root-mean-square normalisation over the axes."""
    chosen = [axes] if isinstance(axes, int) else list(axes)
    return wrap_nested(_op.nn.rms_norm(unwrap(x), unwrap(weight), chosen, epsilon), name)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Normalisation over groups of channels; by default over all dimensions behind the channels."""
    channels = [x.shape[channel_axis]]
    scale = weight if weight is not None else ones(channels, x.dtype)
    shift = bias if bias is not None else zeros(channels, x.dtype)
    chosen = (
        list(axes) if axes is not None else [i for i in range(x.ndim) if i not in (0, channel_axis)]
    )
    call = _op.nn.group_norm(
        unwrap(x), unwrap(scale), unwrap(shift), num_groups, channel_axis, chosen, eps
    )
    return wrap_nested(call, name)


def full(
    shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full"
) -> Tensor:
    """A tensor filled with a scalar."""
    value = unwrap(fill_value)
    if not isinstance(value, rx.Expr):
        value = rx.const(value, dtype)
    return wrap_nested(_op.full(list(shape), value, dtype), name)


def _conv(
    kind: str, x: Tensor, weight: Tensor, bias: Tensor | None, name: str, **attributes: Any
) -> Tensor:
    function = getattr(_op.nn, kind)
    result = wrap_nested(function(unwrap(x), unwrap(weight), **attributes), name)
    if bias is None:
        return result
    layout = attributes.get("data_layout", "NCW")
    sizes = [1] * result.ndim
    sizes[layout.index("C")] = -1
    return add(result, reshape(bias, sizes))


def _padding(padding: Any) -> Any:
    if isinstance(padding, str):
        raise ValueError("padding is given in elements, not by name")
    return padding


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d",
) -> Tensor:
    """Convolution over one dimension (NCW)."""
    return _conv(
        "conv1d", x, weight, bias, name, strides=stride, padding=_padding(padding),
        dilation=dilation, groups=groups,
    )  # fmt: skip


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """Convolution over two dimensions."""
    return _conv(
        "conv2d", x, weight, bias, name, strides=stride, padding=_padding(padding),
        dilation=dilation, groups=groups, data_layout=data_layout,
    )  # fmt: skip


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """Convolution over three dimensions."""
    return _conv(
        "conv3d", x, weight, bias, name, strides=stride, padding=_padding(padding),
        dilation=dilation, groups=groups, data_layout=data_layout,
    )  # fmt: skip


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """Attention on (batch, sequence, heads, size) tensors; causal masks the later keys."""
    mask = "TopLeft" if is_causal else None
    arguments = [unwrap(query), unwrap(key), unwrap(value)]
    bias = None if attn_mask is None else unwrap(attn_mask)
    call = _op.nn.attention(*arguments, bias=bias, scale=scale, causal_mask=mask)
    return wrap_nested(call, name)


# -- functions of other kinds ----------------------------------------------------------------------


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Any],
    *,
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Call a te function on tensors, `tir` expressions and integers."""
    builder = _builder()
    keywords: dict[str, Any] = {"primfunc_name_hint": name_hint}
    if attrs:
        keywords["primfunc_attrs"] = attrs
    call = builder.call_te(tensor_expr_func, *[unwrap(arg) for arg in args], **keywords)
    return wrap_nested(call, name_hint)


def tensor_ir_op(func: BaseFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Call a TensorIR function; `out` are placeholders of the result's types."""
    given = list(args) if isinstance(args, (list, tuple)) else [args]
    tensors = [unwrap(arg) for arg in given if isinstance(arg, (Tensor, Object))]
    sizes = [arg for arg in given if not isinstance(arg, (Tensor, Object))]
    var = _builder().add_func(func.without_attr("global_symbol"), name_hint)
    call = call_tir(var, tensors, _types(out), sizes or None)
    return wrap_nested(call, name_hint)


def tensor_ir_inplace_op(
    func: BaseFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """As `tensor_ir_op`; output i is written into argument `inplace_indices[i]`, -1 is new."""
    given = list(args) if isinstance(args, (list, tuple)) else [args]
    tensors = [unwrap(arg) for arg in given if isinstance(arg, (Tensor, Object))]
    sizes = [arg for arg in given if not isinstance(arg, (Tensor, Object))]
    var = _builder().add_func(func.without_attr("global_symbol"), name_hint)
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    call = call_tir_inplace(var, tensors, indices, _types(out), sizes or None)
    return wrap_nested(call, name_hint)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor whose elements are not set."""
    return wrap_nested(_op.builtin.alloc_tensor(list(shape), dtype), name)


# -- debugging -------------------------------------------------------------------------------------


def print_(tensor: Tensor) -> None:
    """Print a tensor when the program runs; `export_tvm(spec, debug=True)` allows it."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_line())


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a registered function `(place, *args)` when the program runs.

    Raises Error unless the module is exported with `debug=True`.
    """
    from relax_mlir.relax.frontend.nn.exporter import Exporter

    exporter = Exporter.current()
    io = None if exporter is None else exporter.io_effect
    if io is None:
        raise Error("debugging functions need export_tvm(spec, debug=True)", span=user_span())
    values = [unwrap(arg) for arg in args]
    converted = [rx.PrimValue(v) if isinstance(v, (int, float)) else rx.as_expr(v) for v in values]
    line = rx.StringImm(_line_info or _line())
    call = call_pure_packed(
        "vm.builtin.invoke_debug_func",
        io.current(),
        rx.StringImm(name),
        line,
        *converted,
        sinfo_args=ObjectType(),
    )
    io.state = _builder().emit(call, "_io")


def _line() -> str:
    span = user_span()
    return "" if span is None else f"{span.file}:{span.line}"


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """Call a registered function that writes its results into tensors; `out` are placeholders of
    the results' types."""
    given = [unwrap(arg) for arg in args]
    converted = [
        rx.PrimValue(arg) if isinstance(arg, (int, float)) else rx.as_expr(arg) for arg in given
    ]
    return wrap_nested(call_dps_packed(name, converted, _types(out)), name.replace(".", "_"))


def call_registered(name: str, *args: Any, out: Any) -> Any:
    """Call a registered function for its result, of the type of the placeholder `out`."""
    call = call_packed(name, *[unwrap(arg) for arg in args], sinfo_args=_types(out))
    return wrap_nested(call, name.replace(".", "_"))


def _types(out: Any) -> list[Any]:
    values = out if isinstance(out, (list, tuple)) else [out]
    return [struct_info_of(value) for value in values]


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise TypeError("nn operators work in a method that is being exported")
    return builder
