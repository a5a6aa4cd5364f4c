"""What scales and shifts channels goes into constant weights, and only where that is the same."""

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


def _const(*shape: int, seed: int = 0) -> Any:
    array = np.random.default_rng(sum(shape) + seed).standard_normal(shape)
    return relax.const(array.astype("float32"))


def _norm(x: Any, axis: int) -> Any:
    terms = [_const(6, seed=s) for s in range(3)]
    variance = relax.const(np.linspace(0.5, 2, 6).astype("float32"))
    return op.nn.batch_norm(x, *terms, variance, axis=axis, training=False)[0]


def _conv(x: Any, **options: Any) -> Any:
    return op.nn.conv2d(x, _const(6, 4, 3, 3), padding=[1, 1], **options)


FOLDED: dict[str, Case] = {
    "norm": lambda x: _norm(_conv(x), 1),
    "bias, norm, scale": lambda x: op.multiply(
        _norm(op.add(_conv(x), _const(6, 1, 1)), 1), _const(1, 6, 1, 1)
    ),
    "two norms": lambda x: _norm(_norm(_conv(x), 1), 1),
    "quotient and difference": lambda x: op.subtract(
        op.divide(_conv(x), relax.const(np.float32(3))), _const(6, 1, 1)
    ),
    "depthwise": lambda x: op.multiply(
        op.nn.conv2d(x, _const(4, 1, 3, 3), groups=4), _const(4, 1, 1)
    ),
    "transposed": lambda x: _norm(
        op.nn.conv2d_transpose(x, _const(4, 6, 2, 2), strides=[2, 2], kernel_layout="IOHW"), 1
    ),
    "product": lambda x: op.multiply(op.add(op.matmul(x, _const(7, 6)), _const(6)), _const(6)),
    "constants that are computed": lambda x: op.multiply(
        _conv(x), op.reshape(op.rsqrt(op.add(_square(), relax.const(np.float32(1)))), [6, 1, 1])
    ),
}

KEPT: dict[str, Case] = {
    "used twice": lambda x: _twice(_conv(x)),
    "along the width": lambda x: op.multiply(_conv(x), _const(7)),
    "constant minus": lambda x: op.subtract(_const(6, 1, 1), _conv(x)),
    "constant over": lambda x: op.divide(_const(6, 1, 1), op.add(_conv(x), _const(6, 1, 1))),
    "by zero": lambda x: op.divide(_conv(x), relax.const(np.zeros((6, 1, 1), "float32"))),
    "wider": lambda x: op.multiply(_conv(x), _const(2, 1, 6, 1, 1)),
    "groups of a transposed": lambda x: op.multiply(
        op.nn.conv2d_transpose(x, _const(4, 3, 2, 2), groups=2, kernel_layout="IOHW"),
        _const(6, 1, 1),
    ),
}


def _square() -> Any:
    return relax.const(np.linspace(0, 3, 6).astype("float32"))


def _twice(y: Any) -> Any:
    return op.add(op.multiply(y, _const(6, 1, 1)), op.nn.relu(y))


def _module(case: Case) -> Any:
    x = relax.Var("x", relax.TensorStructInfo([2, 4, 5, 7], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(builder.normalize(case(x)))
        builder.emit_func_output(out)
    return builder.get()


def _run(module: Any) -> np.ndarray:
    executable = relax_mlir.compile(module, relax_pipeline="zero")
    x = np.random.default_rng(9).standard_normal((2, 4, 5, 7)).astype("float32")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    return main(relax_mlir.runtime.tensor(x)).numpy()


PASSES = "relax-fold-scale-axis,relax-dead-code-elimination"


@pytest.mark.parametrize("name", FOLDED)
def test_folded(name: str) -> None:
    module = _module(FOLDED[name])
    changed = PassPipeline(PASSES)(module)
    text = changed.script()
    left = ("batch_norm", "multiply", "divide", "subtract", "rsqrt")
    assert not any(f"{word}(" in text for word in left) and text.count("R.add(") <= 1, text
    np.testing.assert_allclose(_run(changed), _run(module), 1e-4, 1e-5)


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    module = PassPipeline("relax-eliminate-common-subexpr")(_module(KEPT[name]))
    before, after = module.script(), PassPipeline(PASSES)(module).script()
    assert [line.split("R.", 2)[-1] for line in after.splitlines() if "= R." in line] == [
        line.split("R.", 2)[-1] for line in before.splitlines() if "= R." in line
    ]


def test_a_norm_of_anything_else_is_a_product_and_a_sum() -> None:
    module = _module(lambda x: _norm(op.nn.relu(op.strided_slice(_wide(x), [1], [0], [6])), 1))
    changed = PassPipeline(PASSES)(module)
    text = changed.script()
    assert "batch_norm" not in text and text.count("R.multiply(") == text.count("R.add(") == 1
    np.testing.assert_allclose(_run(changed), _run(module), 1e-4, 1e-5)


def _wide(x: Any) -> Any:
    return op.concat([x, x], axis=1)
