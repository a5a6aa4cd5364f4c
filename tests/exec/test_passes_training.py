"""`relax.training`: losses and optimizers against numpy, and a model that learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.relax.training import AppendLoss, SetupTrainer, Trainer
from relax_mlir.relax.training.loss import (
    CategoricalCrossEntropyLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
)
from relax_mlir.relax.training.optimizer import SGD, Adam, MomentumSGD
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

F = "float32"
RNG = np.random.default_rng


def call(function: relax.Function, *arguments: Any) -> Any:
    name = function.name
    vm = relax.VirtualMachine(tvm.compile(IRModule({name: function})), tvm.cpu())
    return vm[name](*arguments)


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def reduced(each: np.ndarray, reduction: str) -> Any:
    return {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction: str) -> None:
    rng = RNG(0)
    a, b = (rng.standard_normal((3, 5)).astype(F) for _ in range(2))
    labels, weights = rng.integers(0, 5, 3), rng.random(5).astype(F)
    dense, classes = R.Tensor((3, 5), F), R.Tensor((3,), "int64")
    cases = [
        (L1Loss(reduction), (dense, dense), (a, b), np.abs(a - b)),
        (MSELoss(reduction), (dense, dense), (a, b), (a - b) ** 2),
        (
            CrossEntropyLoss(reduction),
            (dense, classes),
            (a, labels),
            -log_softmax(a)[np.arange(3), labels],
        ),
        (
            CategoricalCrossEntropyLoss(reduction),
            (dense, dense, R.Tensor((5,), F)),
            (a, b, weights),
            -(log_softmax(a) * b * weights).sum(-1),
        ),
    ]
    for loss, kinds, arguments, each in cases:
        got = call(loss(*kinds), *arguments).numpy()
        np.testing.assert_allclose(got, reduced(each, reduction), rtol=1e-5, atol=1e-5)


def test_one_hot_integers_are_targets() -> None:
    rng = RNG(1)
    a, labels, weights = rng.standard_normal((6, 4)).astype(F), rng.integers(0, 4, 6), rng.random(4)
    one_hot, weights = np.eye(4, dtype="int64")[labels], weights.astype(F)
    kinds = R.Tensor((6, 4), F), R.Tensor((6, 4), "int64"), R.Tensor((4,), F)
    each = -log_softmax(a)[np.arange(6), labels] * weights[labels]
    loss = CategoricalCrossEntropyLoss("sum")
    assert loss.num_backbone_outputs == 1
    got = call(loss(*kinds), a, one_hot, weights).numpy()
    np.testing.assert_allclose(got, each.sum(), rtol=1e-5)
    ignored = CategoricalCrossEntropyLoss("mean", ignore_index=int(labels[0]))
    counted = labels != labels[0]
    got = call(ignored(*kinds), a, one_hot, weights).numpy()
    np.testing.assert_allclose(got, each[counted].sum() / weights[labels][counted].sum(), rtol=1e-5)


def test_losses_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValueError, match="reduction must be one of"):
        MSELoss("median")
    with pytest.raises(TypeError, match="takes predictions, targets"):
        MSELoss()(R.Tensor((3,), F))


def sgd(p: np.ndarray, g: np.ndarray, memory: dict[str, Any]) -> np.ndarray:
    return p - 0.1 * (g + 0.02 * p)


def nesterov(p: np.ndarray, g: np.ndarray, memory: dict[str, Any]) -> np.ndarray:
    g = g + 0.02 * p
    v = memory["v"] = 0.9 * memory.get("v", 0) + 0.5 * g
    return p - 0.1 * (g + 0.9 * v)


def momentum(p: np.ndarray, g: np.ndarray, memory: dict[str, Any]) -> np.ndarray:
    v = memory["v"] = 0.9 * memory.get("v", 0) + g
    return p - 0.1 * v


def adam(p: np.ndarray, g: np.ndarray, memory: dict[str, Any]) -> np.ndarray:
    t = memory["t"] = memory.get("t", 0) + 1
    m = memory["m"] = 0.8 * memory.get("m", 0) + 0.2 * g
    v = memory["v"] = 0.99 * memory.get("v", 0) + 0.01 * g * g
    return p - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)


@pytest.mark.parametrize(
    "optimizer, reference",
    [
        (SGD(0.1, 0.02), sgd),
        (MomentumSGD(0.1, 0.9), momentum),
        (MomentumSGD(0.1, 0.9, 0.5, 0.02, True), nesterov),
        (Adam(0.1, (0.8, 0.99)), adam),
    ],
)
def test_optimizers(optimizer: Any, reference: Any) -> None:
    shapes = [(3, 4), (), (5,)]
    params = [relax.Var(f"p{i}", R.Tensor(shape, "float64")) for i, shape in enumerate(shapes)]
    function = optimizer.init(params).get_function()
    rng = RNG(0)
    expected = [np.asarray(rng.standard_normal(shape)) for shape in shapes]
    held: Any = tuple(tvm.runtime.tensor(array) for array in expected)
    states, memories = optimizer.state, [{} for _ in shapes]
    vm = relax.VirtualMachine(tvm.compile(IRModule({"f": function})), tvm.cpu())
    for _ in range(3):
        slopes = [np.asarray(rng.standard_normal(shape)) for shape in shapes]
        held, states = vm["f"](held, tuple(map(tvm.runtime.tensor, slopes)), tuple(states))
        expected = [reference(*row) for row in zip(expected, slopes, memories, strict=True)]
        for got, wanted in zip(held, expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-10)
    assert int(states[0].numpy()) == 3


@pytest.mark.parametrize(
    "params, message",
    [
        ([relax.Var("a", R.Tensor(("n",), F))], "constant shapes"),
        ([relax.Var("a", R.Tensor((2,), "int32"))], "float tensors"),
        (
            [relax.Var("a", R.Tensor((2,), F)), relax.Var("b", R.Tensor((2,), "float64"))],
            "one dtype",
        ),
        ([relax.Var("a", R.Tensor((2,), F))] * 2, "given twice"),
    ],
)
def test_optimizers_refuse_other_parameters(params: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        SGD(0.1).init(params)


def test_optimizers_are_initialised_first() -> None:
    with pytest.raises(Error, match="init"):
        Adam(0.1).get_function()


@I.ir_module
class Network:
    I.module_attrs({"param_num": 4, "state_num": 1})

    @R.function
    def backbone(
        x: R.Tensor((8, 2), F),
        w0: R.Tensor((2, 16), F),
        b0: R.Tensor((16,), F),
        w1: R.Tensor((16, 2), F),
        b1: R.Tensor((2,), F),
        steps: R.Tensor((), F),
    ):
        with R.dataflow():
            h = R.tanh(R.add(R.matmul(x, w0), b0))
            y = R.add(R.matmul(h, w1), b1)
            more = R.add(steps, R.const(1.0, F))
            R.output(y, more)
        return (y, more)


def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points in and outside a circle."""
    x = rng.uniform(-1, 1, (8, 2)).astype(F)
    return x, ((x**2).sum(1) < 0.5).astype("int64")


@pytest.mark.parametrize("legalize", [True, False])
def test_a_network_learns(legalize: bool) -> None:
    operands = [R.Tensor((8, 2), F), R.Tensor((8,), "int64")]
    mod = SetupTrainer(CrossEntropyLoss(), Adam(0.03), operands, legalize)(Network)
    names = {var.name_hint for var in mod.functions}
    assert {"backbone", "backbone_loss", "backbone_loss_adjoint", "update_params"} <= names
    trainer = Trainer(mod, relax.VirtualMachine(tvm.compile(mod), tvm.cpu()), tvm.cpu())
    trainer.xaiver_uniform_init_params(seed=1)
    rng = RNG(2)
    losses = [float(trainer.update(*points(rng)).numpy()) for _ in range(1500)]
    assert np.mean(losses[-100:]) < 0.2 < 0.5 < np.mean(losses[:10])
    right = 0
    for _ in range(20):
        x, labels = points(rng)
        right += int((trainer.predict(x).numpy().argmax(1) == labels).sum())
    assert right / 160 > 0.85
    assert float(trainer.export_states()["steps"].numpy()) == 1500
    assert list(trainer.export_params()) == ["w0", "b0", "w1", "b1"]


def test_trainer_refuses_what_does_not_fit() -> None:
    operands = [R.Tensor((8, 2), F), R.Tensor((8,), "int64")]
    mod = SetupTrainer(CrossEntropyLoss(), SGD(0.1), operands)(Network)
    trainer = Trainer(mod, None, zero_init_param_state=False)
    with pytest.raises(Error, match="no value yet"):
        trainer.predict(np.zeros((8, 2), F))
    with pytest.raises(Error, match="no parameter 'w2'"):
        trainer.load_params({"w2": np.zeros(2, F)})
    with pytest.raises(Error, match="has the shape"):
        trainer.load_params({"b1": np.zeros(3, F)})
    with pytest.raises(Error, match="takes 1 inputs"):
        trainer.predict()
    with pytest.raises(Error, match="param_num"):
        SetupTrainer(CrossEntropyLoss(), SGD(0.1), operands)(
            IRModule({"backbone": Network["backbone"]})
        )


def test_append_loss() -> None:
    loss = MSELoss("sum")(R.Tensor((8, 2), F), R.Tensor((8, 2), F))
    joined = AppendLoss("backbone", loss)(Network)["backbone_loss"]
    assert [p.name_hint for p in joined.params][-1] == "targets"
    rng = RNG(0)
    shapes = ((8, 2), (2, 16), (16,), (16, 2), (2,), (), (8, 2))
    x, w0, b0, w1, b1, steps, y = (np.asarray(rng.standard_normal(s), F) for s in shapes)
    value, more = call(joined, x, w0, b0, w1, b1, steps, y)
    wanted = ((np.tanh(x @ w0 + b0) @ w1 + b1 - y) ** 2).sum()
    np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-4)
    np.testing.assert_allclose(more.numpy(), steps + 1)
    with pytest.raises(Error, match="returns 2 tensors, the loss needs"):
        three = CategoricalCrossEntropyLoss()(*[R.Tensor((8, 2), F)] * 2, R.Tensor((2,), F))
        AppendLoss("backbone", three, 3)(Network)
