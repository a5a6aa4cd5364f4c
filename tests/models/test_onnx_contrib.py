"""Operators that ONNX Runtime adds (com.microsoft), against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

pytestmark = [pytest.mark.onnx, pytest.mark.filterwarnings("ignore:Field 'shape' of 'type'")]

B, S, H, D = 2, 5, 4, 8
WIDTH = H * D


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def integers(high, *shape, dtype="int32"):
    return np.random.default_rng(high).integers(0, high, shape).astype(dtype)


def check(op_type, arrays, outputs=1, output_type=None, **attributes):
    """One node over inputs (None where one is left out), compared with ONNX Runtime."""
    helper = onnx.helper
    feeds = {f"i{n}": array for n, array in enumerate(arrays) if array is not None}
    names = [f"i{n}" if array is not None else "" for n, array in enumerate(arrays)]
    results = [f"o{n}" for n in range(outputs)]
    node = helper.make_node(op_type, names, results, domain="com.microsoft", **attributes)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in feeds.items()
    ]
    kind = output_type or onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_tensor_value_info(n, kind, None) for n in results]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    expected = runtime.InferenceSession(model.SerializeToString()).run(None, feeds)
    program = relax.VirtualMachine(relax_mlir.compile(from_onnx(model)), relax_mlir.cpu())
    found = program["main"](*feeds.values())
    for want, have in zip(expected, [found] if outputs == 1 else list(found), strict=True):
        np.testing.assert_allclose(have.numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes"),
    [
        ("SkipLayerNormalization", [random(B, S, 16)] * 2 + [random(16)] * 3, {}),
        ("SkipSimplifiedLayerNormalization", [random(B, S, 16)] * 2 + [random(16)], {}),
        ("BiasGelu", [random(B, 16), random(16)], {}),
        ("FastGelu", [random(B, 16), random(16)], {}),
        ("QuickGelu", [random(B, 16)], {}),
        ("FusedMatMul", [random(3, 4), random(5, 4)], {"transB": 1, "alpha": 0.5}),
        ("Attention", [random(B, S, 32), random(32, 96), random(96)], {"num_heads": 4}),
        (
            "Attention",
            [random(B, S, 32), random(32, 96), random(96)],
            {"num_heads": 4, "unidirectional": 1},
        ),
    ],
)
def test_small_operators(op_type, arrays, attributes):
    check(op_type, arrays, **attributes)


def test_multi_head_attention_sees_only_unmasked_keys():
    mask = np.array([[1] * 7, [1] * 4 + [0] * 3], "int32")
    arrays = [random(B, S, WIDTH), random(B, 7, WIDTH), random(B, 7, WIDTH) + 1, None, mask]
    check("MultiHeadAttention", arrays, num_heads=H)


@pytest.mark.parametrize("past", [0, 3])
def test_group_query_attention_with_past(past):
    keys = [random(1, S, 2 * D), random(1, S, 2 * D) + 1]
    cache = [random(1, 2, past, D), random(1, 2, past, D) + 1]
    lengths = [np.array([S + past - 1], "int32"), np.array(S + past, "int32")]
    arrays = [random(1, S, WIDTH), *keys, *cache, *lengths]
    check("GroupQueryAttention", arrays, outputs=3, num_heads=H, kv_num_heads=2)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding_of_both_layouts(interleaved):
    positions = np.tile(np.arange(S), (B, 1))
    tables = [random(16, D // 2), random(16, D // 2) + 1]
    for x in (random(B, H, S, D), random(B, S, WIDTH)):
        check("RotaryEmbedding", [x, positions, *tables], interleaved=interleaved)


SCALE, OUT_SCALE = np.array(0.05, "float32"), np.array(0.11, "float32")
ZERO, OUT_ZERO = np.array(131, "uint8"), np.array(90, "uint8")
QUANTISED = [integers(255, 2, 6, 4, 3, dtype="uint8"), SCALE, ZERO, OUT_SCALE, OUT_ZERO]


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes"),
    [
        ("QLinearGlobalAveragePool", QUANTISED, {"channels_last": 0}),
        ("QLinearGlobalAveragePool", QUANTISED, {"channels_last": 1}),
        ("QLinearSigmoid", [*QUANTISED[:3], np.array(1 / 256, "float32"), np.uint8(0)], {}),
        ("QLinearLeakyRelu", QUANTISED, {"alpha": 0.2}),
        ("QLinearConcat", [OUT_SCALE, OUT_ZERO, *QUANTISED[:3], *QUANTISED[:3]], {"axis": 1}),
    ],
)
def test_quantised_operators(op_type, arrays, attributes):
    arrays = list(map(np.asarray, arrays))
    check(op_type, arrays, output_type=onnx.TensorProto.UINT8, **attributes)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("quantised", [True, False])
def test_quantised_product(bias, quantised):
    weight = (integers(255, 7, 10, dtype="int32") - 128).astype("int8")
    scales = (np.arange(7, dtype="float32") + 1) / 100
    arrays = [
        integers(255, 5, 10, dtype="uint8"), SCALE, ZERO, weight, scales, np.zeros(7, "int8"),
        np.arange(-3, 4, dtype="int32") * 50 if bias else None,
    ]  # fmt: skip
    if quantised:
        arrays += [np.array(3.5, "float32"), OUT_ZERO]
    kind = onnx.TensorProto.UINT8 if quantised else onnx.TensorProto.FLOAT
    check("QGemm", arrays, output_type=kind, transB=1)


def test_quantised_addition():
    left, right = (integers(200 + i, 3, 4, dtype="uint8") for i in range(2))
    scales = [np.float32(v) for v in (0.1, 0.2, 0.3)]
    zeros = [np.uint8(v) for v in (3, 7, 5)]
    arrays = [left, scales[0], zeros[0], right, scales[1], zeros[1], scales[2], zeros[2]]
    check("QLinearAdd", list(map(np.asarray, arrays)), output_type=onnx.TensorProto.UINT8)
