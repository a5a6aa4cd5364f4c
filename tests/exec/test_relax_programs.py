"""Programs made by BlockBuilder, nn and TVMScript run, and give what numpy gives."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, te
from relax_mlir.relax import op
from relax_mlir.relax.frontend import nn
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def machine(module: tvm.IRModule) -> relax.VirtualMachine:
    return relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())


def randoms(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, dtype="float32") for shape in shapes]


def close(given: object, expected: np.ndarray) -> None:
    np.testing.assert_allclose(given.numpy(), expected, rtol=1e-5, atol=1e-5)


class MLP(nn.Module):
    def __init__(self) -> None:
        self.fc1 = nn.Linear(20, 33)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(33, 7)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc2(self.act(self.fc1(x)))


def test_nn_module_with_a_symbolic_batch() -> None:
    module, params = MLP().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 20), "float32")}})
    weights = randoms(0, *[tuple(p.shape) for _, p in params])
    vm = machine(module)
    w1, b1, w2, b2 = weights
    for n in (1, 3, 16):
        (x,) = randoms(n, (n, 20))
        close(vm["forward"](x, *weights), np.maximum(x @ w1.T + b1, 0) @ w2.T + b2)


def test_packed_parameters_and_several_results() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            self.scale = nn.Parameter((5,))
            self.shift = nn.Parameter((5,))

        def forward(self, x: nn.Tensor) -> tuple[nn.Tensor, nn.Tensor]:
            return x * self.scale, x + self.shift

    spec = {"x": nn.spec.Tensor((4, 5), "float32"), "$": {"param_mode": "packed"}}
    module, _ = Two().export_tvm({"forward": spec})
    x, scale, shift = randoms(1, (4, 5), (5,), (5,))
    packed = [tvm.runtime.tensor(scale), tvm.runtime.tensor(shift)]
    first, second = machine(module)["forward"](x, packed)
    close(first, x * scale)
    close(second, x + shift)


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute(
        (A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul"
    )


def test_emit_te_with_symbols() -> None:
    n = tvm.tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 6), "float32"))
    w = relax.Var("w", relax.TensorType((6, 5), "float32"))

    def prefix(a: te.Tensor, shape: list[object]) -> te.Tensor:
        return te.compute(shape, lambda i, j: a[i, j], name="prefix")

    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        y = bb.emit_te(te_matmul, x, w)
        z = bb.emit_te(prefix, y, relax.ShapeExpr([n - 1, 2]))
        bb.emit_func_output(z)
    vm = machine(bb.get())
    for size in (2, 9):
        a, b = randoms(size, (size, 6), (6, 5))
        close(vm["main"](a, b), (a @ b)[: size - 1, :2])


def test_constants_tuples_and_calls() -> None:
    weight = randoms(2, (6, 4))[0]

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 6), "float32")):
            cls = Module
            with R.dataflow():
                y = R.matmul(x, R.const(weight))
                both = cls.halves(y)
                z = R.concat((both[1], both[0] * 2.0), axis=1)
                R.output(y, z)
            return (z, y)

        @R.function(private=True)
        def halves(a: R.Tensor(("n", 4), "float32")) -> R.Tuple(
            R.Tensor(("n", 2), "float32"), R.Tensor(("n", 2), "float32")
        ):
            return R.split(a, 2, axis=1)

    (x,) = randoms(3, (3, 6))
    z, y = machine(Module)["main"](x)
    expected = x @ weight
    close(y, expected)
    close(z, np.concatenate([expected[:, 2:], expected[:, :2] * 2], axis=1))


@pytest.mark.parametrize("flag", [True, False])
def test_branches(flag: bool) -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((5,), "float32"), c: R.Tensor((), "bool")):
            if c:
                y = R.exp(x)
                z = R.add(y, y)
            else:
                z = R.negative(x)
            w = R.add(z, R.const(1.0))
            return w

    (x,) = randoms(4, (5,))
    result = machine(Module)["main"](x, np.array(flag))
    close(result, (2 * np.exp(x) if flag else -x) + 1)


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_gives_what_is_used_behind_it(flag: bool) -> None:
    """The value of the branch is another name for a value that stays: both are returned."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((5,), "float32"), c: R.Tensor((), "bool")):
            y = R.exp(x)
            if c:
                z = y
            else:
                z = x
            return (z, y, x)

    (x,) = randoms(4, (5,))
    z, y, same = machine(Module)["main"](x, np.array(flag))
    close(z, np.exp(x) if flag else x)
    close(y, np.exp(x))
    close(same, x)


def test_match_cast_binds_and_checks() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(ndim=2, dtype="float32")):
            n, m = T.int64(), T.int64()
            y = R.match_cast(x, R.Tensor((n, 4), "float32"))
            z = R.reshape(y, (n * 2, 2))
            return R.add(z, z)

    vm = machine(Module)
    (x,) = randoms(5, (3, 4))
    close(vm["main"](x), (x * 2).reshape(6, 2))
    with pytest.raises(Exception, match="4"):
        vm["main"](randoms(6, (3, 5))[0])


def test_bound_parameters_are_constants() -> None:
    x = relax.Var("x", relax.TensorType(("n", "k"), "float32"))
    w = relax.Var("w", relax.TensorType(("k", 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit(op.matmul(x, w)))
    weight, value = randoms(7, (8, 3), (5, 8))
    bound = bb.get()["main"].bind_params({"w": weight})
    close(machine(tvm.IRModule({"main": bound}))["main"](value), value @ weight)
