"""Functions that are values: closures, local functions, recursion, and calls beyond call_tir."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

LOCAL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        @R.function
        def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            z = R.add(x, a)
            return z
        r = inner(y)
        return r

    @R.function
    def power(x: R.Tensor((), "int64"), n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def loop(i: R.Tensor((), "int64"), s: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                t = R.multiply(s, x)
                r: R.Tensor((), "int64") = loop(j, t)
            else:
                r: R.Tensor((), "int64") = s
            return r
        q = loop(R.const(0, "int64"), R.const(1, "int64"))
        return q

    @R.function
    def adder(x: R.Tensor(("n", 3), "float32")) -> R.Callable(
        (R.Tensor(("n", 3), "float32"),), R.Tensor(("n", 3), "float32")
    ):
        n = T.int64()
        @R.function
        def inner(a: R.Tensor((n, 3), "float32")) -> R.Tensor((n, 3), "float32"):
            z = R.add(x, a)
            return z
        return inner

    @R.function
    def twice(
        f: R.Callable((R.Tensor((2, 3), "float32"),), R.Tensor((2, 3), "float32")),
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tensor((2, 3), "float32"):
        y = f(x)
        z = f(y)
        return z

    @R.function
    def nested(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        @R.function
        def outer(a: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            @R.function
            def fill(v: R.Tensor((), "float32")) -> R.Tensor((n,), "float32"):
                w = R.full(R.shape([n]), v, "float32")
                s = R.add(w, x)
                return s
            b = fill(R.const(2.0, "float32"))
            c = R.multiply(a, b)
            return c
        r = outer(x)
        q = outer(r)
        return q

    @R.function
    def choose(c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32")):
        @R.function
        def plus(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            z = R.add(a, x)
            return z
        @R.function
        def times(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            z = R.multiply(a, x)
            return z
        if c:
            f = plus
        else:
            f = times
        r = f(x)
        return r
"""


def build(source: str) -> relax.VirtualMachine:
    module = from_source(source)
    assert isinstance(module, IRModule)
    return relax.VirtualMachine(relax.build(module), rm.cpu())


@pytest.fixture(scope="module")
def local() -> relax.VirtualMachine:
    return build(LOCAL)


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def test_a_local_function_sees_what_is_around_it(local: relax.VirtualMachine) -> None:
    x, y = values(0, 2, 3), values(1, 2, 3)
    np.testing.assert_array_equal(local["main"](x, y).numpy(), x + y)


@pytest.mark.parametrize(("base", "exponent"), [(3, 0), (3, 5), (2, 62), (1, 100_000)])
def test_a_loop_by_recursion(local: relax.VirtualMachine, base: int, exponent: int) -> None:
    made = local["power"](np.array(base), np.array(exponent)).numpy()
    assert int(made) == base**exponent


def test_closures_are_functions_of_python_and_of_other_functions(
    local: relax.VirtualMachine,
) -> None:
    x, y = values(2, 2, 3), values(3, 2, 3)
    add_x = local["adder"](x)
    np.testing.assert_array_equal(add_x(y).numpy(), x + y)
    np.testing.assert_array_equal(local["twice"](add_x, y).numpy(), x + (x + y))
    np.testing.assert_array_equal(local["twice"](lambda a: a, y).numpy(), y)
    with pytest.raises(ValueError, match=r"adder_inner: argument 1 'x'.*with n = 5"):
        add_x(values(4, 5, 3))
    with pytest.raises(TypeError, match="twice: callee of a call: expected a function, got int 3"):
        local["twice"](3, y)


def test_functions_in_functions_with_symbols(local: relax.VirtualMachine) -> None:
    for size in (0, 1, 7):
        x = values(size, size)
        np.testing.assert_allclose(local["nested"](x).numpy(), x * (x + 2) * (x + 2), rtol=1e-6)


def test_a_branch_picks_a_function(local: relax.VirtualMachine) -> None:
    x = values(5, 2, 3)
    np.testing.assert_array_equal(local["choose"](np.array(True), x).numpy(), x + x)
    np.testing.assert_array_equal(local["choose"](np.array(False), x).numpy(), x * x)


def test_a_closure_outlives_what_made_it(tmp_path: Path) -> None:
    x, y = values(6, 2, 3), values(7, 2, 3)
    module = from_source(LOCAL)
    vm = relax.VirtualMachine(relax.build(module), rm.cpu())
    closure = vm["adder"](x)
    path = tmp_path / "closures.so"
    relax.build(module).export_library(path)
    library = rm.runtime.load_module(path)
    exported = library["adder"](x)
    del vm, library, module
    gc.collect()
    for function in (closure, exported):
        np.testing.assert_array_equal(function(y).numpy(), x + y)


RECURSIVE = """
@I.ir_module
class Module:
    @R.function
    def factorial(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Module
        c = R.less(i, R.const(1, "int64"))
        if c:
            r: R.Tensor((), "int64") = R.const(1, "int64")
        else:
            j = R.subtract(i, R.const(1, "int64"))
            t = cls.factorial(j)
            r: R.Tensor((), "int64") = R.multiply(i, t)
        return r

    @R.function
    def even(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        cls = Module
        c = R.less(i, R.const(1, "int64"))
        if c:
            r: R.Tensor((), "bool") = R.const(True, "bool")
        else:
            j = R.subtract(i, R.const(1, "int64"))
            t = cls.odd(j)
            r: R.Tensor((), "bool") = R.logical_and(t, t)
        return r

    @R.function
    def odd(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        cls = Module
        t: R.Tensor((), "bool") = cls.even(i)
        u: R.Tensor((), "bool") = R.logical_not(t)
        return u

    @R.function
    def turns(
        i: R.Tensor((), "int64"), a: R.Tensor(("n",), "float32"), b: R.Tensor(("m",), "float32")
    ) -> R.Tensor(ndim=1, dtype="float32"):
        cls = Module
        c = R.less(i, R.const(1, "int64"))
        if c:
            r: R.Tensor(ndim=1, dtype="float32") = a
        else:
            j = R.subtract(i, R.const(1, "int64"))
            d = R.concat((b, a))
            e = R.add(b, R.const(1.0, "float32"))
            r: R.Tensor(ndim=1, dtype="float32") = cls.turns(j, d, e)
        return r
"""


@pytest.fixture(scope="module")
def recursive() -> relax.VirtualMachine:
    return build(RECURSIVE)


def test_recursion(recursive: relax.VirtualMachine) -> None:
    assert int(recursive["factorial"](np.array(15)).numpy()) == 1307674368000
    assert bool(recursive["even"](np.array(0)).numpy())


@pytest.mark.parametrize("name", ["factorial", "even"])
def test_recursion_that_is_too_deep_is_an_error(recursive: relax.VirtualMachine, name: str) -> None:
    for _ in range(2):
        with pytest.raises(RecursionError, match=r"calls itself too deeply"):
            recursive[name](np.array(10**7))
    assert int(recursive["factorial"](np.array(3)).numpy()) == 6


def test_shapes_may_change_from_round_to_round(recursive: relax.VirtualMachine) -> None:
    a, b = values(8, 2), values(9, 1)
    wanted = (a, b)
    for _ in range(6):
        wanted = (np.concatenate([wanted[1], wanted[0]]), wanted[1] + np.float32(1))
    np.testing.assert_array_equal(recursive["turns"](np.array(6), a, b).numpy(), wanted[0])


CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @T.prim_func(private=True)
    def increment(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(10)
                A[vi, vj] = A[vi, vj] + T.float32(1)

    @T.prim_func(private=True)
    def add_number(a: T.handle, b: T.handle, m: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.Cast("float32", m)

    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")):
        cls = Module
        y = R.call_tir_with_grad(
            cls.double, (x,), out_sinfo=R.Tensor((2, 3), "float32"), te_grad_name="f_grad",
            te_grad_kwargs={"k": 2.0, "axes": [1, 2]},
        )
        z = R.call_tir_inplace(
            cls.increment, (y,), inplace_indices=[0, -1],
            out_sinfo=[R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")],
        )
        w = R.call_inplace_packed(
            "test.calls.negate", z[0], inplace_indices=[0], sinfo_args=R.Tensor((2, 3), "float32")
        )
        v = R.call_builtin_with_ctx(
            "test.calls.add", (w, 3), sinfo_args=(R.Tensor((2, 3), "float32"),)
        )
        u = R.call_py_func("test.calls.same", (v,), out_sinfo=R.Tensor((2, 3), "float32"))
        return (u, z[0], z[1])

    @R.function(pure=False)
    def by_hand(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        s = R.vm.alloc_storage(R.shape([n * 4]), R.prim_value(0), R.dtype("uint8"))
        t: R.Tensor((n,), "float32") = R.vm.alloc_tensor(
            s, R.prim_value(0), R.shape([n]), R.dtype("float32")
        )
        _ = R.vm.call_tir_dyn(cls.add_number, (x, t, R.shape([n])))
        k = R.vm.kill_object(s)
        return t
"""


def _negate(value: rm.runtime.Tensor) -> rm.runtime.Tensor:
    data = np.from_dlpack(value)
    np.negative(data, out=data)
    return value


def test_calls_in_place_with_a_gradient_and_of_the_runtime() -> None:
    module = from_source(CALLS)
    assert isinstance(module, IRModule) and from_source(module.script()) == module
    rm.register_global_func("test.calls.negate", _negate, override=True)
    rm.register_global_func(
        "test.calls.add", lambda a, b: rm.runtime.tensor(a.numpy() + np.float32(b)), override=True
    )
    rm.register_global_func("test.calls.same", lambda a: a, override=True)
    vm = relax.VirtualMachine(relax.build(module), rm.cpu())
    x = values(10, 2, 3)
    kept = x.copy()
    last, changed, made = vm["main"](x)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(changed.numpy(), -(2 * x + 1))
    np.testing.assert_array_equal(made.numpy(), 20 * x)
    np.testing.assert_array_equal(last.numpy(), -(2 * x + 1) + 3)
    for size in (0, 1, 5):
        y = values(size, size)
        np.testing.assert_array_equal(vm["by_hand"](y).numpy(), y + np.float32(size))


def test_calls_are_refused_where_they_cannot_work() -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with pytest.raises(rm.errors.TypeInferenceError, match="at least one of inplace_indices"):
        relax.op.call_inplace_packed("f", x, inplace_indices=[-1], sinfo_args=x.struct_info)
    with pytest.raises(rm.errors.TypeInferenceError, match="there are 1 arguments"):
        relax.op.call_inplace_packed("f", x, inplace_indices=[1], sinfo_args=x.struct_info)
    with pytest.raises(TypeError, match="the callee must be a function of the module"):
        relax.op.make_closure(x, (x,))
