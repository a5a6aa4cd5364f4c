"""Gradients, compared with differences of the functions themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import PassError
from relax_mlir.relax import op
from relax_mlir.relax import transform as tr
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

F = "float64"
Shape = tuple[int, ...]


def positive(a: np.ndarray) -> np.ndarray:
    return np.abs(a) + 0.5


def inner(a: np.ndarray) -> np.ndarray:
    """Between -0.9 and 0.9."""
    return np.tanh(a) * 0.9


def above_one(a: np.ndarray) -> np.ndarray:
    return np.abs(a) + 1.5


def plain(a: np.ndarray) -> np.ndarray:
    return a


X, Y = (3, 4), (4,)
CONST = relax.const


def indices(*values: int) -> Any:
    return CONST(np.array(values, "int64"))


nn = op.nn
UNARY: list[tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray]]] = [
    (op.abs, plain),
    (op.acos, inner),
    (op.acosh, above_one),
    (op.asin, inner),
    (op.asinh, plain),
    (op.atan, plain),
    (op.atanh, inner),
    (op.cos, plain),
    (op.cosh, plain),
    (op.erf, plain),
    (op.exp, plain),
    (op.log, positive),
    (op.negative, plain),
    (op.rsqrt, positive),
    (op.sigmoid, plain),
    (op.sin, plain),
    (op.sinh, plain),
    (op.sqrt, positive),
    (op.square, plain),
    (op.tan, inner),
    (op.tanh, plain),
    (nn.relu, plain),
    (nn.relu6, lambda a: a * 8),
    (nn.leakyrelu, plain),
    (nn.gelu, plain),
    (nn.gelu_tanh, plain),
    (nn.silu, plain),
    (nn.selu, plain),
    (nn.softplus, plain),
    (lambda x: op.clip(x, -0.5, 0.7), plain),
    (lambda x: op.astype(op.astype(x, "float64"), F), plain),
]

OTHERS: list[tuple[Callable[..., Any], list[Shape], Callable[[np.ndarray], np.ndarray]]] = [
    (op.add, [X, Y], plain),
    (op.subtract, [X, (3, 1)], plain),
    (op.multiply, [X, Y], plain),
    (op.multiply, [(), X], plain),
    (op.divide, [X, Y], positive),
    (op.divide, [Y, X], positive),
    (op.power, [X, Y], positive),
    (op.maximum, [X, Y], plain),
    (op.minimum, [X, (1, 4)], plain),
    (op.atan2, [X, Y], plain),
    (op.ewise_fma, [X, X, X], plain),
    (lambda x, y: op.where(op.greater(x, CONST(0.1, F)), x, y), [X, Y], plain),
    (lambda x: op.sum(x, axis=1), [X], plain),
    (lambda x: op.sum(x, axis=[0, 2], keepdims=True), [(2, 3, 4)], plain),
    (op.mean, [X], plain),
    (lambda x: op.mean(x, axis=-1), [X], plain),
    (lambda x: op.variance(x, axis=1), [X], plain),
    (lambda x: op.std(x, axis=0, keepdims=True), [X], plain),
    (lambda x: op.max(x, axis=1), [X], plain),
    (lambda x: op.min(x, axis=0), [X], plain),
    (lambda x: op.prod(x, axis=1), [X], positive),
    (lambda x: op.cumsum(x, axis=1), [X], plain),
    (lambda x: op.cumsum(x, axis=0, exclusive=True), [X], plain),
    (op.cumsum, [X], plain),
    (op.matmul, [(3, 4), (4, 5)], plain),
    (op.matmul, [(2, 3, 4), (4, 5)], plain),
    (op.matmul, [(2, 1, 3, 4), (6, 4, 5)], plain),
    (op.matmul, [(4,), (4, 5)], plain),
    (op.matmul, [(3, 4), (4,)], plain),
    (op.matmul, [(4,), (4,)], plain),
    (op.outer, [(3,), (4,)], plain),
    (op.permute_dims, [(2, 3, 4)], plain),
    (lambda x: op.permute_dims(x, [1, 2, 0]), [(2, 3, 4)], plain),
    (lambda x: op.reshape(x, (2, 6)), [X], plain),
    (op.flatten, [X], plain),
    (lambda x: op.expand_dims(x, [0, 2]), [X], plain),
    (lambda x: op.squeeze(x, [1]), [(3, 1, 4)], plain),
    (lambda x: op.broadcast_to(x, (2, 3, 4)), [(3, 1)], plain),
    (lambda x, y: op.concat([x, y], axis=1), [(3, 2), (3, 4)], plain),
    (lambda x, y: op.stack([x, y], axis=1), [X, X], plain),
    (lambda x: op.split(x, 2, axis=1)[1], [X], plain),
    (lambda x: op.split(x, [1, 3], axis=1)[2], [X], plain),
    (lambda x: op.flip(x, axis=1), [X], plain),
    (op.triu, [X], plain),
    (lambda x: op.tril(x, 1), [X], plain),
    (lambda x: op.take(x, indices(2, 0, 2), axis=0), [X], plain),
    (lambda x: op.take(x, indices(1, 3, 1), axis=1), [(2, 4, 3)], plain),
    (lambda x: op.take(x, indices(1, 1)), [(4,)], plain),
    (nn.softmax, [X], plain),
    (lambda x: nn.softmax(x, axis=0), [X], plain),
    (nn.log_softmax, [X], plain),
    (nn.cross_entropy_with_logits, [X, X], plain),
    (nn.cross_entropy_with_logits, [Y, Y], plain),
    (lambda x: nn.nll_loss(x, indices(1, 3, 0)), [X], plain),
    (lambda x: nn.nll_loss(x, indices(1, 3, 0), reduction="sum", ignore_index=3), [X], plain),
    (lambda x: nn.nll_loss(x, indices(1, 3, 0), reduction="none"), [X], plain),
    (
        lambda x: nn.nll_loss(x, indices(1, 3, 0), CONST(np.array([1, 2, 3, 4.0])), ignore_index=0),
        [X],
        plain,
    ),
    (lambda x, g, b: nn.layer_norm(x, g, b, axes=[-1]), [X, Y, Y], plain),
    (lambda x: nn.dropout(x, 0.5)[0], [X], plain),
    (nn.conv2d, [(2, 3, 6, 5), (4, 3, 3, 2)], plain),
    (lambda x, w: nn.conv2d(x, w, strides=2, padding=1), [(1, 2, 7, 6), (3, 2, 3, 3)], plain),
    (lambda x, w: nn.conv2d(x, w, dilation=2, padding=(1, 0)), [(1, 2, 7, 7), (2, 2, 2, 3)], plain),
]


def module(build: Callable[..., Any], shapes: list[Shape]) -> Any:
    """The sum of the squares of what is built, so that gradients differ by element."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", R.Tensor(shape, F)) for i, shape in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            made = builder.emit(build(*params))
            squares = op.multiply(made, op.add(made, CONST(0.3, F)))
            total = builder.emit_output(op.sum(squares))
        builder.emit_func_output(total)
    return builder.get()


def check(mod: Any, inputs: list[np.ndarray], tolerance: float = 1e-5) -> None:
    """Gradients against central differences."""
    vm = relax.VirtualMachine(tvm.compile(tr.Gradient("main")(mod)), tvm.cpu())
    value, gradients = vm["main_adjoint"](*inputs)
    step = 1e-6
    np.testing.assert_allclose(value.numpy(), vm["main"](*inputs).numpy(), rtol=1e-12)
    for i, array in enumerate(inputs):
        expected = np.empty_like(array)
        for at in np.ndindex(array.shape):
            moved = [array.copy(), array.copy()]
            moved[0][at] += step
            moved[1][at] -= step
            up, down = (float(vm["main"](*inputs[:i], m, *inputs[i + 1 :]).numpy()) for m in moved)
            expected[at] = (up - down) / (2 * step)
        got = gradients[i].numpy()
        assert got.dtype == array.dtype and got.shape == array.shape
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def arrays(shapes: list[Shape], change: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.asarray(change(rng.standard_normal(shape))) for shape in shapes]


def test_unary() -> None:
    """All of them in one function: compiling takes longer than running."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", R.Tensor((5,), F)) for i in range(len(UNARY))]
    with builder.function("main", params):
        with builder.dataflow():
            total: Any = CONST(0.0, F)
            for (function, _), param in zip(UNARY, params, strict=True):
                made = builder.emit(function(param))
                total = builder.emit(op.add(total, op.sum(op.multiply(made, made))))
            total = builder.emit_output(total)
        builder.emit_func_output(total)
    rng = np.random.default_rng(5)
    check(builder.get(), [change(rng.standard_normal(5)) for _, change in UNARY])


@pytest.mark.parametrize("build, shapes, change", OTHERS)
def test_operator(build: Any, shapes: list[Shape], change: Any) -> None:
    check(module(build, shapes), arrays(shapes, change))


@I.ir_module
class Network:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((4, 3), "float32"),
        b: R.Tensor((3,), "float32"),
        unused: R.Tensor((2,), "float32"),
        labels: R.Tensor(("n",), "int64"),
    ):
        with R.dataflow():
            h = R.add(R.matmul(x, w), b)
            p = R.nn.log_softmax(h)
            picked = R.nn.nll_loss(p, labels, reduction="sum")
            stopped = R.grad.no_grad(h)
            both = (picked, R.sum(R.multiply(h, stopped)))
            loss = R.add(both[0], both[1])
            R.output(loss, h)
        return (loss, h)


def test_dynamic_network_and_chosen_parameters() -> None:
    made = tr.Gradient("main", ["w", "unused"])(Network)
    adjoint = made["main_adjoint"]
    assert "w_adjoint" in adjoint.script() and "R.dataflow" in adjoint.script()
    vm = relax.VirtualMachine(tvm.compile(made), tvm.cpu())
    rng = np.random.default_rng(0)
    for n in (1, 5):
        x, w, b = (rng.standard_normal(s).astype("float32") for s in ((n, 4), (4, 3), (3,)))
        labels = rng.integers(0, 3, n)
        (loss, h), (of_w, of_unused) = vm["main_adjoint"](x, w, b, np.ones(2, "float32"), labels)
        wanted = x @ w + b
        np.testing.assert_allclose(h.numpy(), wanted, rtol=1e-5, atol=1e-5)
        soft = np.exp(wanted) / np.exp(wanted).sum(1, keepdims=True)
        slope = soft - np.eye(3, dtype="float32")[labels] + wanted
        np.testing.assert_allclose(of_w.numpy(), x.T @ slope, rtol=1e-4, atol=1e-4)
        assert not of_unused.numpy().any()
        picked = -np.log(soft[np.arange(n), labels]).sum()
        np.testing.assert_allclose(loss.numpy(), picked + (wanted**2).sum(), rtol=1e-4)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"func_name": "other"}, "no Relax function 'other'"),
        ({"func_name": "main", "require_grads": ["z"]}, "no parameter 'z'"),
        ({"func_name": "main", "require_grads": ["labels"]}, "no gradient of 'labels'"),
        ({"func_name": "main", "target_index": 1}, "of a float scalar"),
        ({"func_name": "main", "target_index": 2}, "no field 2"),
    ],
)
def test_what_has_no_gradient_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PassError, match=message):
        tr.Gradient(**options)(Network)


def test_operators_without_a_gradient_are_named() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.sum(R.sort(x))

    with pytest.raises(PassError, match=r"no gradient of relax.sort"):
        tr.Gradient("main")(Module)
