"""Operators behind a convolution, computed with channels last: each gives what it gave before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op
from relax_mlir.transform import PassPipeline

Case = Callable[[Any], Any]

SAME_LAYOUT: dict[str, Case] = {
    "relu": op.nn.relu,
    "clip": lambda x: op.clip(x, -0.5, 0.5),
    "a vector of channels": lambda x: op.multiply(x, _const(4, 1, 1)),
    "a vector of columns": lambda x: op.add(x, _const(7)),
    "an image": lambda x: op.maximum(x, _const(2, 4, 6, 7)),
    "a scalar": lambda x: op.power(op.abs(x), relax.const(1.5, "float32")),
    "where": lambda x: op.where(op.greater(x, relax.const(0.0, "float32")), x, op.negative(x)),
    "max_pool": lambda x: op.nn.max_pool2d(x, [3, 2], [2, 1], [1, 0]),
    "avg_pool": lambda x: op.nn.avg_pool2d(x, [2, 2], [2, 2], ceil_mode=True),
    "adaptive pool": lambda x: op.nn.adaptive_avg_pool2d(x, [3, 2]),
    "resize": lambda x: op.image.resize2d(x, relax.ShapeExpr([9, 8]), method="linear"),
    "softmax": lambda x: op.nn.softmax(x, axis=1),
    "log_softmax of rows": lambda x: op.nn.log_softmax(x, axis=-1),
    "concat": lambda x: op.concat([x, op.exp(x), x], axis=1),
    "concat of columns": lambda x: op.concat([x, op.exp(x)], axis=-1),
    "flip": lambda x: op.flip(x, axis=3),
    "cumsum": lambda x: op.cumsum(x, axis=1),
    "mean kept": lambda x: op.subtract(x, op.mean(x, axis=[1], keepdims=True)),
    "squeeze and excite": lambda x: op.multiply(
        x, op.sigmoid(op.mean(x, axis=[2, 3], keepdims=True))
    ),
    "pad": lambda x: op.nn.pad(x, [0, 0, 1, 0, 0, 2, 3, 1], pad_value=1.5),
    "slice": lambda x: op.strided_slice(x, axes=[1, 3], begin=[1, 0], end=[4, 7], strides=[2, 3]),
    "broadcast": lambda x: op.broadcast_to(op.max(x, axis=1, keepdims=True), [2, 3, 6, 7]),
    "split": lambda x: op.add(op.split(x, 2, axis=1)[1], op.split(x, 2, axis=1)[0]),
    "layer_norm": lambda x: op.nn.layer_norm(x, _const(4), _const(4), axes=[1]),
    "layer_norm of images": lambda x: op.nn.layer_norm(
        x, _const(4, 6, 7), _const(4, 6, 7), axes=[1, 2, 3]
    ),
    "layer_norm of rows": lambda x: op.nn.layer_norm(x, _const(6, 7), _const(6, 7), axes=[-2, -1]),
    "rms_norm of images": lambda x: op.nn.rms_norm(x, _const(4, 6, 7), axes=[1, 2, 3]),
    "stack": lambda x: op.max(op.stack([x, op.exp(x)], axis=2), axis=2),
    "group_norm": lambda x: op.nn.group_norm(x, _const(4), _const(4), 2, 1, [2, 3]),
    "instance_norm": lambda x: op.nn.instance_norm(x, _const(4), _const(4), 1, [2, 3]),
    "batch_norm": lambda x: op.nn.batch_norm(
        x, _const(4), _const(4), _const(4), op.abs(_const(4)), axis=1, training=False
    )[0],
    "prelu": lambda x: op.nn.prelu(x, _const(4), axis=1),
    "transposed convolution": lambda x: op.nn.conv2d_transpose(
        x, _const(4, 5, 2, 3), strides=[2, 3], data_layout="NCHW", kernel_layout="IOHW"
    ),
    "overlapping transposed convolution": lambda x: op.nn.conv2d_transpose(
        x, _const(4, 5, 3, 3), strides=[2, 2], padding=[1, 1], kernel_layout="IOHW"
    ),
    "grouped convolution": lambda x: op.nn.conv2d(x, _const(8, 2, 3, 3), padding=[1, 1], groups=2),
    "depthwise convolution": lambda x: op.nn.conv2d(
        x, _const(4, 1, 3, 3), groups=4, strides=[2, 2]
    ),
    "pointwise convolution by 2": lambda x: op.nn.conv2d(x, _const(6, 4, 1, 1), strides=[2, 2]),
    "channel shuffle": lambda x: op.reshape(
        op.permute_dims(op.reshape(x, [2, 2, 2, 6, 7]), [0, 2, 1, 3, 4]), [2, 4, 6, 7]
    ),
    "pixel shuffle": lambda x: op.nn.pixel_shuffle(x, 2),
}
"""Programs that give images, and need no other layout for it."""

OTHERS: dict[str, Case] = {
    "argmax": lambda x: op.argmax(x, axis=1),
    "stack behind": lambda x: op.stack([x, op.exp(x)], axis=-1),
    "mean": lambda x: op.mean(x, axis=[2, 3]),
    "sum of channels": lambda x: op.sum(x, axis=1),
    "flatten": lambda x: op.nn.batch_flatten(x),
    "tokens": lambda x: op.permute_dims(op.reshape(x, [2, 4, 42]), [0, 2, 1]),
    "rows": lambda x: op.reshape(x, [2, 24, 7]),
    "squeezed": lambda x: op.squeeze(op.mean(x, axis=[2, 3], keepdims=True), axis=[2, 3]),
    "expanded": lambda x: op.expand_dims(x, axis=[0, 3]),
    "wide": lambda x: op.add(x, _const(3, 2, 4, 6, 7)),
    "take": lambda x: op.take(x, relax.const(np.array([2, 0]), "int64"), axis=1),
    "products": lambda x: op.matmul(x, _const(7, 5)),
    "everything": lambda x: op.sum(x),
}


def _const(*shape: int) -> Any:
    array = np.random.default_rng(sum(shape)).standard_normal(shape)
    return relax.const(array.astype("float32"))


def _module(cases: dict[str, Case]) -> Any:
    """A 3x3 convolution, then each case on its result."""
    x = relax.Var("x", relax.TensorStructInfo([2, 3, 6, 7], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(op.nn.conv2d(x, _const(4, 3, 3, 3), padding=[1, 1]))
            outs = [builder.emit(builder.normalize(case(y))) for case in cases.values()]
            out = builder.emit_output(relax.Tuple(outs))
        builder.emit_func_output(out)
    return builder.get()


def _run(module: Any) -> list[np.ndarray]:
    executable = relax_mlir.compile(module, relax_pipeline="zero")
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 7)).astype("float32")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    return [value.numpy() for value in main(relax_mlir.runtime.tensor(x))]


@pytest.mark.parametrize("cases", [SAME_LAYOUT, OTHERS], ids=["images", "others"])
def test_operators_take_over_the_layout(cases: dict[str, Case]) -> None:
    module = _module(cases)
    passes = (
        "relax-choose-layout{always=true},relax-fold-scale-axis,relax-convolution-to-matmul,"
        "relax-dead-code-elimination"
    )
    changed = PassPipeline(passes)(module)
    text = changed.script()
    assert 'NCHW"' not in text
    wrong = []
    for name, got, wanted in zip(cases, _run(changed), _run(module), strict=True):
        if got.shape != wanted.shape or not np.allclose(got, wanted, 1e-4, 1e-4):
            wrong.append(f"{name}: {got.reshape(-1)[:6]} for {wanted.reshape(-1)[:6]}")
    assert not wrong, "\n".join(wrong)


def test_one_transposition_in_front_and_one_behind() -> None:
    """An operator that needed the other layout would have one more of each."""
    for name, case in SAME_LAYOUT.items():
        text = PassPipeline("relax-choose-layout{always=true}")(_module({name: case})).script()
        inside = {"channel shuffle": 1}.get(name, 0)
        assert text.count("R.permute_dims") == 2 + inside, f"{name}:\n{text}"
