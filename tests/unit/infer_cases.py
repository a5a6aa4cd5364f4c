"""What every operator infers: rows of (operator, operands, attributes, result).

Operands are written `f32[n, 4]`, `i64[3]`, `f32[ndim=3]` (rank only), `f32` (dtype only),
`shape[2, n]`, `prim[3]`, `prim[0.5]`; a tuple of them is a variadic operand.  Results are written
as `types.describe` spells types.  tests/compat/test_infer_oracle.py checks the rows against TVM.
"""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects.relax import types
from relax_mlir.mlir import ir

DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "b": "bool",
}


def parse(text: str) -> tuple[str, Any]:
    """(kind, content) of an operand's text: ("f32", ["n", 4]), ("shape", [...]), ("prim", 3)."""
    name, _, rest = text.partition("[")
    if not rest:
        return name, None
    inner = rest.rstrip("]").strip()
    if inner.startswith("ndim="):
        return name, int(inner[5:])
    entries = [part.strip() for part in inner.split(",")] if inner else []
    values = [int(p) if p.lstrip("-").isdigit() else p for p in entries]
    return name, float(inner) if name == "prim" and "." in inner else values


def to_type(text: str) -> ir.Type:
    """The MLIR type of an operand's text."""
    name, content = parse(text)
    if name == "shape":
        return types.shape_type(content)
    if name == "prim":
        if isinstance(content, float):
            return types.prim_type("float32")
        return types.prim_type("int64", content[0])
    if isinstance(content, int):
        return types.tensor_type(None, DTYPES[name], content)
    return types.tensor_type(content, DTYPES[name])


def T(dims: str, dtype: str = "float32") -> str:
    """A tensor type as `describe` spells it."""
    return f'R.Tensor(({dims}), "{dtype}")'


def tuple_of(*fields: str) -> str:
    return f"R.Tuple({', '.join(fields)})"


Case = tuple[str, tuple[Any, ...], dict[str, Any], str]
UNKNOWN_2D = 'R.Tensor(dtype="float32", ndim=2)'
UNKNOWN_3D = 'R.Tensor(dtype="float32", ndim=3)'

ELEMENTWISE: list[Case] = [
    ("exp", ("f32[n, 4]",), {}, T("n, 4")),
    ("abs", ("i32[n, 4]",), {}, T("n, 4", "int32")),
    ("isnan", ("f32[3]",), {}, T("3,", "bool")),
    ("bitwise_not", ("u8[3]",), {}, T("3,", "uint8")),
    ("logical_not", ("b[]",), {}, T("", "bool")),
    ("clip", ("f32[n, 4]",), {"min": 0, "max": 6}, T("n, 4")),
    ("add", ("f32[n, 4]", "f32[4]"), {}, T("n, 4")),
    ("add", ("f32[n, 1]", "f32[1, m]"), {}, T("n, m")),
    ("add", ("f32[n, 4]", "f32[m, 4]"), {}, UNKNOWN_2D),
    ("multiply", ("f32[ndim=3]", "f32[4, 5]"), {}, UNKNOWN_3D),
    ("subtract", ("f32", "f32[4, 5]"), {}, 'R.Tensor(dtype="float32")'),
    ("less", ("i32[n, 4]", "i32[]"), {}, T("n, 4", "bool")),
    ("logical_and", ("b[2, 3]", "b[3]"), {}, T("2, 3", "bool")),
    ("left_shift", ("i32[2, 3]", "i32[3]"), {}, T("2, 3", "int32")),
    ("power", ("f16[0, 3]", "f16[3]"), {}, T("0, 3", "float16")),
    ("ewise_fma", ("f32[n, 4]", "f32[n, 4]", "f32[n, 4]"), {}, T("n, 4")),
    ("where", ("b[n, 1]", "f32[4]", "f32[n, 4]"), {}, T("n, 4")),
    ("astype", ("f32[n, 4]",), {"dtype": "int8"}, T("n, 4", "int8")),
    ("nn.relu", ("i32[n, 4]",), {}, T("n, 4", "int32")),
    ("nn.gelu", ("f16[n, 4]",), {}, T("n, 4", "float16")),
    ("nn.leakyrelu", ("f32[n, 4]",), {"alpha": 0.2}, T("n, 4")),
    ("nn.softplus", ("f32[n, 4]",), {}, T("n, 4")),
    ("nn.prelu", ("f32[n, 4]", "f32[4]"), {}, T("n, 4")),
]

REDUCTIONS: list[Case] = [
    ("sum", ("f32[n, 4]",), {}, T("")),
    ("sum", ("f32[n, 4]",), {"axis": [1]}, T("n,")),
    ("sum", ("f32[n, 4, 5]",), {"axis": [-1, 0], "keepdims": True}, T("1, 4, 1")),
    ("max", ("i32[n, 4]",), {"keepdims": True}, T("1, 1", "int32")),
    ("mean", ("f32[ndim=3]",), {"axis": [0]}, UNKNOWN_2D),
    ("variance", ("f32[n, 4]",), {"axis": 0}, T("4,")),
    ("argmax", ("f32[n, 4]",), {"axis": 1}, T("n,", "int64")),
    ("argmin", ("f32[n, 4]",), {"keepdims": True}, T("1, 1", "int64")),
    ("median", ("f32[n, 4]",), {"axis": [1]}, tuple_of(T("n,"), T("n,", "int64"))),
    ("cumsum", ("f32[n, 4]",), {"axis": -1, "dtype": "float64"}, T("n, 4", "float64")),
    ("cumprod", ("f32[n, 4]",), {}, T("n * 4,")),
    ("bucketize", ("f32[n, 4]", "f32[9]"), {}, T("n, 4", "int64")),
    ("nn.softmax", ("f32[n, 4]",), {"axis": 0}, T("n, 4")),
    ("nn.layer_norm", ("f32[n, 4, 3]", "f32[3]", "f32[3]"), {"axes": [-1]}, T("n, 4, 3")),
    ("nn.rms_norm", ("f32[n, 4, 3]", "f32[4, 3]"), {"axes": [1, 2]}, T("n, 4, 3")),
    (
        "nn.group_norm",
        ("f32[n, 4, 3]", "f32[4]", "f32[4]"),
        {"num_groups": 2, "channel_axis": 1, "axes": [2]},
        T("n, 4, 3"),
    ),
    (
        "nn.batch_norm",
        ("f32[n, 4, 3]", "f32[4]", "f32[4]", "f32[4]", "f32[4]"),
        {"axis": 1},
        tuple_of(T("n, 4, 3"), T("4,"), T("4,")),
    ),
    ("nn.dropout", ("f32[n, 4]",), {}, tuple_of(T("n, 4"), T("n, 4"))),
    ("nn.cross_entropy_with_logits", ("f32[n, 4]", "f32[n, 4]"), {}, T("")),
    ("nn.nll_loss", ("f32[n, 4]", "i64[n]", "f32[4]"), {"reduction": "none"}, T("n,")),
    ("sort", ("f32[n, 5]",), {}, T("n, 5")),
    ("argsort", ("f32[n, 5]",), {"dtype": "int64"}, T("n, 5", "int64")),
    ("topk", ("f32[n, 5]",), {"k": 2}, tuple_of(T("n, 2"), T("n, 2", "int32"))),
]

PRODUCTS: list[Case] = [
    ("matmul", ("f32[n, 4]", "f32[4, m]"), {}, T("n, m")),
    ("matmul", ("f32[4]", "f32[4]"), {}, T("")),
    ("matmul", ("f32[4]", "f32[5, 4, 6]"), {}, T("5, 6")),
    ("matmul", ("f32[5, 6, 4]", "f32[4]"), {}, T("5, 6")),
    ("matmul", ("f32[n, 1, 6, 4]", "f32[3, 4, m]"), {}, T("n, 3, 6, m")),
    ("matmul", ("i8[2, 4]", "i8[4, 3]"), {"out_dtype": "int32"}, T("2, 3", "int32")),
    ("matmul", ("f32[ndim=3]", "f32[4, 5]"), {}, UNKNOWN_3D),
    ("outer", ("f32[n]", "f32[4]"), {}, T("n, 4")),
    ("einsum", (("f32[2, 3]", "f32[3, 4]"),), {"subscripts": "ij,jk->ik"}, T("2, 4")),
    ("einsum", (("f32[5, 2, 3]",),), {"subscripts": "...ij->...ji"}, T("5, 3, 2")),
    ("einsum", (("f32[3, 3]",),), {"subscripts": "ii"}, T("")),
    ("nn.conv2d", ("f32[n, 4, 9, 9]", "f32[8, 4, 3, 3]"), {"strides": [2, 2], "padding": [1, 1]},
     T("n, 8, 5, 5")),
    ("nn.conv2d", ("f32[n, 9, 8, 4]", "f32[3, 3, 4, 6]"),
     {"data_layout": "NHWC", "kernel_layout": "HWIO", "dilation": [2, 2]}, T("n, 5, 4, 6")),
    ("nn.conv1d", ("f32[n, 4, m]", "f32[8, 2, 3]"), {"groups": 2}, T("n, 8, m - 2")),
    ("nn.conv2d_transpose", ("f32[n, 4, 5, 6]", "f32[4, 8, 3, 3]"),
     {"strides": [2, 2], "output_padding": [1, 1]}, T("n, 8, 12, 14")),
    ("nn.conv3d", ("f32[1, 2, 5, 6, 7]", "f32[3, 2, 3, 3, 3]"), {}, T("1, 3, 3, 4, 5")),
    ("nn.max_pool2d", ("f32[n, 4, 9, 8]",),
     {"pool_size": [2, 2], "strides": [2, 2], "ceil_mode": True}, T("n, 4, 5, 4")),
    ("nn.avg_pool1d", ("f32[n, 4, 9]",), {"pool_size": [3]}, T("n, 4, 7")),
    ("nn.adaptive_avg_pool2d", ("f32[n, 4, 9, 8]",), {"output_size": [2, 3]}, T("n, 4, 2, 3")),
    ("nn.attention", ("f32[n, 4, 2, 9]", "f32[n, m, 2, 9]", "f32[n, m, 2, 7]"), {},
     T("n, 4, 2, 7")),
]  # fmt: skip

REARRANGING: list[Case] = [
    ("permute_dims", ("f32[n, 4, 5]",), {}, T("5, 4, n")),
    ("permute_dims", ("f32[n, 4, 5]",), {"axes": [0, -1, 1]}, T("n, 5, 4")),
    ("reshape", ("f32[n, 4, 6]", "shape[-1, 8]"), {}, T("n * 3, 8")),
    ("reshape", ("f32[n, 4, 6]", "shape[0, -1]"), {}, T("n, 24")),
    ("reshape", ("f32[n, 4, 6]", "shape[24, n]"), {}, T("24, n")),
    ("flatten", ("f32[n, 5, 6]",), {}, T("n * 30,")),
    ("flatten", ("f32[]",), {}, T("1,")),
    ("nn.batch_flatten", ("f32[n, 4, 5]",), {}, T("n, 20")),
    ("expand_dims", ("f32[n, 5]",), {"axis": [0, -1]}, T("1, n, 5, 1")),
    ("squeeze", ("f32[n, 1, 6]",), {"axis": [1]}, T("n, 6")),
    ("squeeze", ("f32[1, 4, 1]",), {}, T("4,")),
    ("broadcast_to", ("f32[n, 1]", "shape[3, n, 5]"), {}, T("3, n, 5")),
    ("concat", (("f32[n, 4]", "f32[m, 4]"),), {"axis": 0}, T("m + n, 4")),
    ("concat", (("f32[3]", "f32[4]"),), {"axis": None}, T("7,")),
    ("stack", (("f32[n, 5]", "f32[n, 5]"),), {"axis": 1}, T("n, 2, 5")),
    ("split", ("f32[10, 4]",), {"indices_or_sections": 3},
     tuple_of(T("4, 4"), T("4, 4"), T("2, 4"))),
    ("split", ("f32[n, 10]",), {"indices_or_sections": [2, 5], "axis": 1},
     tuple_of(T("n, 2"), T("n, 3"), T("n, 5"))),
    ("repeat", ("f32[n, 2]",), {"repeats": 3}, T("n * 6,")),
    ("repeat", ("f32[n, 2]",), {"repeats": 3, "axis": -1}, T("n, 6")),
    ("tile", ("f32[n, 2]",), {"repeats": [2, 3, 4]}, T("2, n * 3, 8")),
    ("flip", ("f32[n, 2]",), {"axis": 1}, T("n, 2")),
    ("meshgrid", (("f32[n]", "f32[4]"),), {}, tuple_of(T("n, 4"), T("n, 4"))),
    ("collapse_sum_to", ("f32[n, 4, 5]", "shape[4, 1]"), {}, T("4, 1")),
    ("nn.pad", ("f32[n, 4]",), {"pad_width": [0, 1, 2, 3]}, T("n + 1, 9")),
    ("nn.pixel_shuffle", ("f32[n, 8, 3, 3]",), {"upscale_factor": 2}, T("n, 2, 6, 6")),
    ("image.resize2d", ("f32[n, 8, 3, 3]", "shape[6, 7]"), {}, T("n, 8, 6, 7")),
    ("image.affine_grid", ("f32[n, 2, 3]", "shape[4, 5]"), {}, T("n, 2, 4, 5")),
    ("image.grid_sample", ("f32[n, 3, 4, 5]", "f32[n, 2, 6, 7]"), {}, T("n, 3, 6, 7")),
    ("multinomial_from_uniform", ("f32[2, 5]", "f32[n, 1]", "i64[n, 1]"), {}, T("n, 1", "int64")),
    ("grad.no_grad", ("f32[n, 4]",), {}, T("n, 4")),
    ("reverse_sequence", ("f32[n, 8]", "i64[8]"), {"seq_axis": 0, "batch_axis": 1}, T("n, 8")),
]  # fmt: skip

SELECTING: list[Case] = [
    ("take", ("f32[n, 2]", "i32[5, 6]"), {"axis": 1}, T("n, 5, 6")),
    ("take", ("f32[n]", "i64[5]"), {}, T("5,")),
    ("take", ("f32[n, 3]", "prim[1]"), {"axis": 0}, T("3,")),
    ("strided_slice", ("f32[n, 9]", "shape[1]", "shape[1]", "shape[100]", "shape[3]"), {},
     T("n, 3")),
    ("strided_slice", ("f32[n, 9]", "shape[1]", "shape[8]", "shape[0]", "shape[-3]"), {},
     T("n, 3")),
    ("strided_slice", ("f32[n, 4]", "shape[0]", "shape[1]", "shape[n]"), {}, T("max(0, n - 1), 4")),
    ("strided_slice", ("f32[n, 4]", "shape[0]", "shape[0]", "shape[m]"), {"assume_inbound": True},
     T("m, 4")),
    ("dynamic_strided_slice", ("f32[n, 9]", "i64[2]", "i64[2]", "i64[2]"), {}, UNKNOWN_2D),
    ("gather_elements", ("f32[n, 3]", "i64[2, 3]"), {}, T("2, 3")),
    ("gather_nd", ("f32[4, 5, 6]", "i64[4, 3, 1]"), {"batch_dims": 1}, T("4, 3, 6")),
    ("scatter_elements", ("f32[n, 3]", "i64[2, 3]", "f32[2, 3]"), {}, T("n, 3")),
    ("scatter_nd", ("f32[8, 3]", "i64[2, 1]", "f32[2, 3]"), {}, T("8, 3")),
    ("index_tensor", ("f32[n, 5, 6]", ("i64[3, 1]", "i64[4]")), {}, T("3, 4, 6")),
    ("index_put", ("f32[n, 5]", ("i64[3]", "i64[3]"), "f32[3]"), {}, T("n, 5")),
    ("slice_scatter", ("f32[8, 4]", "f32[3, 4]", "prim[1]", "prim[7]", "prim[2]"), {}, T("8, 4")),
    ("one_hot", ("i32[n]", "prim[1]", "prim[0]"), {"depth": 7}, T("n, 7", "int64")),
    ("nonzero", ("f32[n, 5]",), {}, 'R.Tensor(dtype="int64", ndim=2)'),
    ("unique", ("f32[n, 5]",), {}, 'R.Tensor(dtype="float32", ndim=1)'),
]  # fmt: skip

MAKING: list[Case] = [
    ("full", ("shape[n, 3]", "f32[]"), {}, T("n, 3")),
    ("full", ("shape[n, 3]", "f32[]"), {"dtype": "int32"}, T("n, 3", "int32")),
    ("zeros", ("shape[2, n]",), {"dtype": "float16"}, T("2, n", "float16")),
    ("ones_like", ("f32[n, 3]",), {"dtype": "int8"}, T("n, 3", "int8")),
    ("zeros_like", ("f32[n, 3]",), {}, T("n, 3")),
    ("full_like", ("f32[n, 3]", "f32[]"), {}, T("n, 3")),
    ("arange", ("prim[5]",), {}, T("5,", "int64")),
    ("arange", ("prim[1]", "prim[n]", "prim[2]"), {}, T("floordiv(n, 2),", "int64")),
    ("eye", ("prim[n]", "prim[m]", "prim[1]"), {"dtype": "int32"}, T("n, m", "int32")),
    ("tril", ("f32[n, 3]", "prim[1]"), {}, T("n, 3")),
    ("shape_of", ("f32[n, 5]",), {}, "R.Shape([n, 5])"),
    ("shape_to_tensor", ("shape[n, 5]",), {}, T("2,", "int64")),
    ("tensor_to_shape", ("i64[3]",), {}, "R.Shape(ndim=3)"),
    ("size", ("f32[n, 5]",), {}, T("", "int64")),
    ("quantize", ("f32[n, 8]", "f32[8]", "i8[8]"), {}, T("n, 8", "int8")),
    ("dequantize", ("i8[n, 8]", "f32[8]", "i8[8]"), {}, T("n, 8")),
]

CASES = [*ELEMENTWISE, *REDUCTIONS, *PRODUCTS, *REARRANGING, *SELECTING, *MAKING]

INVALID: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("exp", ("i32[4]",), {}, 'needs a floating-point tensor, got R.Tensor((4,), "int32")'),
    ("add", ("f32[4]", "i32[4]"), {},
     'dtypes differ: R.Tensor((4,), "float32") and R.Tensor((4,), "int32")'),
    ("add", ("f32[2, 4]", "f32[3]"), {},
     'broadcast: R.Tensor((2, 4), "float32") and R.Tensor((3,), "float32"), dimension -1 is 4'),
    ("add", ("shape[2]", "f32[3]"), {}, "lhs must be a tensor, got R.Shape([2])"),
    ("logical_and", ("i32[2]", "i32[2]"), {}, "needs bool tensors"),
    ("bitwise_and", ("f32[2]", "f32[2]"), {}, "needs integer or bool tensors"),
    ("sum", ("f32[2, 3]",), {"axis": [2]}, "axis 2 is out of range for a tensor of rank 2"),
    ("sum", ("f32[2, 3]",), {"axis": [1, -1]}, "names a dimension twice"),
    ("argmax", ("f32[2, 3]",), {"axis": [0, 1]}, "axis must be one integer or None"),
    ("where", ("f32[2]", "f32[2]", "f32[2]"), {}, "condition must be bool"),
    ("matmul", ("f32[2, 3]", "f32[4, 5]"), {},
     'differ: R.Tensor((2, 3), "float32") and R.Tensor((4, 5), "float32"), 3 and 4'),
    ("matmul", ("f32[2, n]", "f32[n + 1, 5]"), {}, "reduction dimensions differ"),
    ("matmul", ("f32[]", "f32[4, 5]"), {}, "needs tensors of rank one or more"),
    ("matmul", ("f32[3, 2, 4]", "f32[2, 4, 5]"), {}, "shapes do not broadcast"),
    ("matmul", ("f32[2, 4]", "f32[4, 5]"), {"out_dtype": "float33"}, "unknown dtype 'float33'"),
    ("outer", ("f32[2, 2]", "f32[4]"), {}, "x1 must have rank 1"),
    ("einsum", (("f32[2, 3]",),), {"subscripts": "ij,jk->ik"}, "is for 2 tensors, got 1"),
    ("einsum", (("f32[2, 3]", "f32[4, 5]"),), {"subscripts": "ij,jk->ik"}, "'j' is 3 and 4"),
    ("permute_dims", ("f32[2, 3]",), {"axes": [0]}, "name 1 dimensions"),
    ("permute_dims", ("f32[2, 3]",), {"axes": [0, 0]}, "names a dimension twice"),
    ("reshape", ("f32[2, 3]", "shape[4, 2]"), {}, "6 elements cannot be reshaped to (4, 2) of 8"),
    ("reshape", ("f32[2, 3]", "shape[-1, 4]"), {}, "6 elements cannot be reshaped to (-1, 4)"),
    ("reshape", ("f32[2, 3]", "shape[-1, -1]"), {}, "leaves more than one dimension open"),
    ("reshape", ("f32[2, 3]", "f32[2]"), {}, "shape must be a shape"),
    ("broadcast_to", ("f32[2, 3]", "shape[2, 4]"), {}, "does not broadcast to R.Shape([2, 4])"),
    ("expand_dims", ("f32[2]",), {"axis": [3]}, "axis 3 is out of range for a tensor of rank 2"),
    ("concat", (("f32[n, 2]", "f32[m, 3]"),), {}, "shapes differ"),
    ("concat", (("f32[2]", "f32[2, 2]"),), {}, "ranks differ"),
    ("stack", (("f32[2]", "f32[3]"),), {}, "shapes differ"),
    ("split", ("f32[4]",), {"indices_or_sections": 0}, "needs at least one section, got 0"),
    ("split", ("f32[4]",), {"indices_or_sections": [3, 1]}, "must not decrease"),
    ("strided_slice", ("f32[4]", "shape[0]", "shape[0]", "shape[4]", "shape[0]"), {},
     "a stride must not be zero"),
    ("strided_slice", ("f32[4]", "shape[0]", "shape[0, 1]", "shape[4]"), {},
     "axes, begin, end and strides have 1, 2, 1 and 1 entries"),
    ("take", ("f32[4]", "f32[2]"), {}, "indices must be an integer tensor"),
    ("take", ("f32[4, 4]", "i32[2]"), {}, "without an axis x must have rank 1"),
    ("take", ("f32[4]", "i32[2]"), {"mode": "slow"}, "mode 'slow' is none of"),
    ("gather_elements", ("f32[4, 4]", "i32[2]"), {}, "indices must have rank 2"),
    ("scatter_elements", ("f32[4]", "i32[2]", "f32[3]"), {}, "shapes differ"),
    ("one_hot", ("f32[4]", "prim[1]", "prim[0]"), {"depth": 2}, "indices must be an integer"),
    ("astype", ("f32[4]",), {"dtype": "complex64"}, "unknown dtype 'complex64'"),
    ("astype", ("f32[4]",), {}, "attribute 'dtype' is missing"),
    ("full", ("shape[4]", "f32[2]"), {}, "fill_value must have rank 0"),
    ("tril", ("f32[4]",), {}, "needs a tensor of rank two or more"),
    ("arange", ("prim[0]", "prim[4]", "prim[0]"), {}, "step must not be zero"),
    ("nn.softmax", ("i32[4]",), {}, "needs a floating-point tensor"),
    ("nn.softmax", ("f32[4]",), {"axis": 1}, "axis 1 is out of range for a tensor of rank 1"),
    ("nn.layer_norm", ("f32[2, 4]", "f32[3]", "f32[3]"), {"axes": [-1]}, "shapes differ"),
    ("nn.layer_norm", ("f32[2, 4]", "f32[4]", "f16[4]"), {"axes": [-1]}, "dtypes differ"),
    ("nn.conv2d", ("f32[1, 3, 8, 8]", "f32[4, 2, 3, 3]"), {},
     "3 channels do not fit a kernel for 2"),
    ("nn.conv2d", ("f32[1, 2, 2, 8]", "f32[4, 2, 3, 3]"), {}, "larger than the padded data"),
    ("nn.conv2d", ("f32[1, 2, 8]", "f32[4, 2, 3, 3]"), {}, "data must have the layout NCHW"),
    ("nn.conv2d", ("f32[1, 2, 8, 8]", "f32[4, 2, 3, 3]"), {"data_layout": "NCW"},
     "data_layout must be an arrangement of NCHW, got 'NCW'"),
    ("nn.max_pool2d", ("f32[1, 2, 8, 8]",), {"pool_size": [1, 2, 3]}, "pool_size has 3 entries"),
    ("nn.attention", ("f32[1, 4, 2, 8]", "f32[1, 4, 3, 8]", "f32[1, 4, 3, 8]"), {},
     "dimension 2 of query and key differs"),
    ("image.affine_grid", ("f32[2, 3, 3]", "shape[4, 5]"), {}, "needs 2 by 3 matrices"),
    ("image.grid_sample", ("f32[1, 3, 4, 5]", "f32[2, 2, 6, 7]"), {}, "must have the data's batch"),
    ("multinomial_from_uniform", ("f32[2, 5]", "f32[3, 2]", "i64[3, 2]"), {}, "needs one column"),
    ("tensor_to_shape", ("f32[4]",), {}, "needs an int64 vector"),
    ("topk", ("f32[4]",), {"k": 5}, "k is 5, more than 4"),
]  # fmt: skip
