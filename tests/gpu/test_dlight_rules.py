"""Each rule on the functions it is meant for: on the emulated GPU against numpy, and refusing
others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te, topi
from relax_mlir.dlight.base.transform import apply_rules
from relax_mlir.dlight.gpu.matmul_tensor_cores import MatmulTensorization
from relax_mlir.ir import IRModule
from relax_mlir.script import tir as T
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.transform import PassContext
from tests.gpu.emulated import run_emulated
from tests.gpu.gpu_programs import symbolic_rows_matmul

CUDA = Target("cuda")


def scheduled(rule: dlight.ScheduleRule, function: PrimFunc, target: Target = CUDA) -> IRModule:
    spaces = apply_rules(function, target, [rule], tunable=False)
    assert spaces is not None and len(spaces) == 1
    return spaces[0].mod.verify()


def check(
    rule: dlight.ScheduleRule,
    function: PrimFunc,
    reference: Callable[..., np.ndarray],
    shapes: Sequence[tuple[int, ...]],
    dtype: str = "float32",
    tolerance: float = 1e-5,
) -> str:
    """Run the scheduled function on the emulator, its threads in several orders; its text."""
    module = scheduled(rule, function)
    rng = np.random.default_rng(len(shapes))
    arrays = [(rng.random(shape) - 0.5).astype(dtype) for shape in shapes[:-1]]
    out = np.zeros(shapes[-1], dtype)
    wanted = reference(*(a.astype("float64") for a in arrays))
    with PassContext(opt_level=0):
        run_emulated(module, *arrays, out)
    np.testing.assert_allclose(out, wanted, rtol=tolerance, atol=tolerance)
    return module.script()


def prim_func(inputs: Sequence[Any], output: Any) -> PrimFunc:
    return te.create_prim_func([*inputs, output])


def placeholders(*shapes: Sequence[Any], dtype: str = "float32") -> list[Any]:
    return [te.placeholder(shape, dtype, name) for shape, name in zip(shapes, "ABCD", strict=False)]


def product(a: Any, b: Any, transposed: bool = False) -> Any:
    """`a @ b`, or `a @ b.T`, of the last two dimensions; further ones are of both."""
    *batch, rows, inner = a.shape
    columns = b.shape[-2] if transposed else b.shape[-1]
    k = te.reduce_axis((0, inner), "k")

    def element(*at: Any) -> Any:
        *outer, i, j = at
        right = b(*outer, j, k) if transposed else b(*outer, k, j)
        return te.sum(a(*outer, i, k) * right, axis=k)

    return te.compute((*batch, rows, columns), element, name="C")


# -- Matmul ------------------------------------------------------------------------------------


@pytest.mark.parametrize("m, n, k", [(32, 64, 16), (35, 70, 33), (3, 5, 2)])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(m: int, n: int, k: int, transposed: bool) -> None:
    a, b = placeholders((m, k), (n, k) if transposed else (k, n))
    text = check(
        dlight.gpu.Matmul(),
        prim_func([a, b], product(a, b, transposed)),
        lambda x, y: x @ (y.T if transposed else y),
        [(m, k), (n, k) if transposed else (k, n), (m, n)],
    )
    assert 'scope="shared"' in text and 'scope="local"' in text and "T.vectorized" in text


def test_matmul_with_what_surrounds_it() -> None:
    """A batch, a decoded operand, a bias and an activation, in one kernel."""
    a, b, bias = placeholders((2, 33, 20), (2, 20, 40), (40,))
    decoded = te.compute(b.shape, lambda *i: b(*i) * 2.0 + 1.0, name="decoded")
    c = product(a, decoded)
    biased = te.compute(c.shape, lambda n, i, j: c[n, i, j] + bias[j], name="biased")
    out = te.compute(c.shape, lambda *i: T.max(biased(*i), T.float32(0)), name="relu")
    text = check(
        dlight.gpu.Matmul(),
        prim_func([a, b, bias], out),
        lambda x, y, z: np.maximum(x @ (y * 2 + 1) + z, 0),
        [(2, 33, 20), (2, 20, 40), (40,), (2, 33, 40)],
        tolerance=1e-4,
    )
    assert text.count('thread="blockIdx.x"') == 1


def test_matmul_of_symbolic_rows() -> None:
    for rows in (1, 33):
        sizes = [(rows, 20), (20, 40), (rows, 40)]
        check(dlight.gpu.Matmul(), symbolic_rows_matmul(), np.matmul, sizes)


def test_matmul_refuses_what_is_none() -> None:
    a, b = placeholders((8, 8), (8, 8))
    k = te.reduce_axis((0, 8), "k")
    row_sums = te.compute((8,), lambda i: te.sum(a[i, k], axis=k))
    assert dlight.gpu.Matmul().apply(prim_func([a], row_sums), CUDA, False) is None
    largest = te.compute((8, 8), lambda i, j: te.max(a[i, k] * b[k, j], axis=k))
    assert apply_rules(prim_func([a, b], largest), CUDA, [dlight.gpu.Matmul()], False) is None
    assert (
        dlight.gpu.Matmul().apply(prim_func([a, b], product(a, b)), Target("llvm"), False) is None
    )


# -- tensor cores ------------------------------------------------------------------------------

AMPERE = Target({"kind": "cuda", "arch": "sm_80"})
# float32 is multiplied by TF32 on request.
TENSOR_CORES = [
    ("float16", "float32", dlight.gpu.Matmul()),
    ("float16", "float16", dlight.gpu.Matmul()),
    ("bfloat16", "float32", dlight.gpu.Matmul()),
    ("int8", "int32", dlight.gpu.Matmul()),
    ("float32", "float32", MatmulTensorization(tf32=True)),
]


def matmul_of(m: int, n: int, k: int, dtype: str, sums: str) -> PrimFunc:
    """`max(A @ B, 1)` with sums of another dtype."""
    a, b = placeholders((m, k), (k, n), dtype=dtype)
    r = te.reduce_axis((0, k), "r")
    c = te.compute(
        (m, n), lambda i, j: te.sum(a[i, r].astype(sums) * b[r, j].astype(sums), axis=r), name="C"
    )
    out = te.compute((m, n), lambda i, j: T.max(c[i, j], T.cast(1, sums)), name="out")
    return prim_func([a, b], out)


@pytest.mark.parametrize("dtype, sums, rule", TENSOR_CORES, ids=lambda value: str(value)[:12])
def test_matmul_on_tensor_cores(dtype: str, sums: str, rule: dlight.ScheduleRule) -> None:
    """Odd sizes, a bias before and an activation after; whole numbers are exact."""
    m, n, k = 70, 130, 75
    module = scheduled(rule, matmul_of(m, n, k, dtype, sums), AMPERE)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, shape) for shape in ((m, k), (k, n)))
    kind = getattr(ml_dtypes, dtype, dtype)
    got = np.zeros((m, n), sums)
    run_emulated(module, x.astype(kind), y.astype(kind), got, target=AMPERE, order="reverse")
    np.testing.assert_array_equal(got, np.maximum(x @ y, 1))
    assert "mma" in module.script()


def test_small_products_stay_on_cuda_cores() -> None:
    a, b = placeholders((32, 128), (128, 128), dtype="float16")
    function = prim_func([a, b], product(a, b))
    assert "mma" not in scheduled(dlight.gpu.Matmul(), function, AMPERE).script()
    a, b = placeholders((128, 128), (128, 128), dtype="float16")
    function = prim_func([a, b], product(a, b))
    assert "mma" not in scheduled(dlight.gpu.Matmul(), function).script()
    marked = function.with_attr("dlight.do_not_tensorize", True)
    assert "mma" not in scheduled(dlight.gpu.Matmul(), marked, AMPERE).script()
    assert "tvm_mma_sync" in scheduled(dlight.gpu.Matmul(), function, AMPERE).script()


# -- GEMV --------------------------------------------------------------------------------------


@pytest.mark.parametrize("m, k", [(20, 64), (16, 256), (5, 33)])
def test_gemv(m: int, k: int) -> None:
    a, b = placeholders((m, k), (k,))
    r = te.reduce_axis((0, k), "r")
    c = te.compute((m,), lambda i: te.sum(a[i, r] * b[r], axis=r), name="C")
    out = te.compute((m,), lambda i: c[i] + 1.0, name="out")
    check(dlight.gpu.GEMV(), prim_func([a, b], out), lambda x, y: x @ y + 1, [(m, k), (k,), (m,)])


def test_gemv_of_a_batch() -> None:
    a, b = placeholders((3, 10, 40), (3, 40))
    r = te.reduce_axis((0, 40), "r")
    c = te.compute((3, 10), lambda n, i: te.sum(a[n, i, r] * b[n, r], axis=r), name="C")
    check(
        dlight.gpu.GEMV(),
        prim_func([a, b], c),
        lambda x, y: np.einsum("nik,nk->ni", x, y),
        [(3, 10, 40), (3, 40), (3, 10)],
    )


def test_low_batch_gemv() -> None:
    @T.prim_func
    def main(a: T.handle, B: T.Buffer((24, 40), "float32"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 40), "float32")
        C = T.match_buffer(c, (n, 24), "float32")
        D = T.alloc_buffer((n, 24), "float32")
        for i, j, k in T.grid(n, 24, 40):
            with T.sblock("D"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] += A[vi, vk] * B[vj, vk]
        for i, j in T.grid(n, 24):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = D[vi, vj] * T.float32(2)

    for rows in (1, 6):
        check(
            dlight.gpu.LowBatchGEMV(4),
            main,
            lambda x, y: x @ y.T * 2,
            [(rows, 40), (24, 40), (rows, 24)],
        )


# -- reductions --------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(1,), (0,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("combine", ["sum", "max"])
def test_reduction(axes: tuple[int, ...], combine: str) -> None:
    shape = (5, 37, 6)
    (a,) = placeholders(shape)
    reduced = {axis: te.reduce_axis((0, shape[axis]), f"k{axis}") for axis in axes}
    kept = [axis for axis in range(3) if axis not in axes]

    def element(*at: Any) -> Any:
        index = {axis: at[n] for n, axis in enumerate(kept)} | reduced
        return getattr(te, combine)(a(*(index[n] for n in range(3))), axis=list(reduced.values()))

    c = te.compute([shape[axis] for axis in kept], element, name="C")
    check(
        dlight.gpu.Reduction(),
        prim_func([a], c),
        lambda x: getattr(np, combine)(x, axis=axes),
        [shape, tuple(shape[axis] for axis in kept)],
        tolerance=1e-4,
    )


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_reduction_with_an_epilogue(axis: int, broadcast: bool) -> None:
    (a,) = placeholders((20, 34))
    k = te.reduce_axis((0, a.shape[axis]), "k")
    size = a.shape[1 - axis]
    total = te.compute((size,), lambda i: te.sum(a[k, i] if axis == 0 else a[i, k], axis=k),
                       name="total")  # fmt: skip
    if broadcast:
        out = te.compute((size, 3), lambda i, j: total[i] + j.astype("float32"), name="out")
    else:
        out = te.compute((size,), lambda i: total[i] * 0.5, name="out")

    def reference(x: np.ndarray) -> np.ndarray:
        sums = x.sum(axis)
        return sums[:, None] + np.arange(3) if broadcast else sums * 0.5

    shape = (int(size), 3) if broadcast else (int(size),)
    check(dlight.gpu.Reduction(), prim_func([a], out), reference, [(20, 34), shape])


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("shape", [(4, 300), (2, 3, 7)])
def test_general_reduction(shape: tuple[int, ...]) -> None:
    (a,) = placeholders(shape)
    text = check(
        dlight.gpu.GeneralReduction(),
        prim_func([a], topi.nn.softmax(a)),
        softmax,
        [shape, shape],
    )
    assert text.count('thread="blockIdx.x"') == 1 and 'scope="shared"' in text


def test_rms_norm() -> None:
    a, b = placeholders((3, 64), (64,))
    text = check(
        dlight.gpu.RMSNorm(),
        prim_func([a, b], topi.nn.rms_norm(a, b, [1], 1e-5)),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w,
        [(3, 64), (64,), (3, 64)],
    )
    assert "T.vectorized" in text


# -- Transpose ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_transpose(order: tuple[int, ...]) -> None:
    shape = (3, 20, 33)[3 - len(order) :]
    (a,) = placeholders(shape)
    moved = tuple(shape[n] for n in order)

    def element(*at: Any) -> Any:
        return a(*(at[order.index(n)] for n in range(len(order))))

    text = check(
        dlight.gpu.Transpose(),
        prim_func([a], te.compute(moved, element, name="moved")),
        lambda x: x.transpose(order),
        [shape, moved],
    )
    assert 'scope="shared"' in text


def test_transpose_refuses_copies_of_rows() -> None:
    (a,) = placeholders((3, 4, 5))
    rows = te.compute((4, 3, 5), lambda i, j, k: a[j, i, k])
    assert dlight.gpu.Transpose().apply(prim_func([a], rows), CUDA, False) is None


# -- ReductionChain ----------------------------------------------------------------------------


def attention(
    length: Any, keys: Any, heads: int = 2, size: int = 20, dtype: str = "float32"
) -> PrimFunc:
    """softmax(q k^T) v of heads that lie beside each other, the scores scaled and masked."""
    q, k, v = placeholders(*((n, heads, size) for n in (length, keys, keys)), dtype=dtype)
    half, lowest = T.cast(0.5, dtype), te.min_value(dtype)
    r, j = te.reduce_axis((0, size), "r"), te.reduce_axis((0, keys), "j")
    scores = te.compute(
        (heads, length, keys), lambda h, a, b: te.sum(q[a, h, r] * k[b, h, r], axis=r), name="S"
    )
    masked = te.compute(
        scores.shape, lambda h, a, b: T.if_then_else(b <= a, scores[h, a, b] * half, lowest)
    )
    weights = topi.nn.softmax(masked)
    out = te.compute(
        (length, heads, size),
        lambda a, h, c: te.sum(weights[h, a, j] * v[j, h, c], axis=j),
        name="O",
    )
    return prim_func([q, k, v], out)


def attention_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = np.einsum("ahr,bhr->hab", q, k) * 0.5
    later = np.arange(len(k))[None, :] > np.arange(len(q))[:, None]
    return np.einsum("hab,bhc->ahc", softmax(np.where(later, -1e30, scores)), v)


@pytest.mark.parametrize("length, keys", [(32, 32), (5, 37)])
def test_attention_is_a_chain_of_reductions(length: int, keys: int) -> None:
    shapes = [(length, 2, 20), (keys, 2, 20), (keys, 2, 20), (length, 2, 20)]
    text = check(dlight.gpu.ReductionChain(), attention(length, keys), attention_in_numpy, shapes)
    # Two products, each with both operands in shared memory, and two reductions across threads.
    assert text.count('scope="shared"') == 4 and text.count('scope="local"') == 2
    assert text.count(f'T.thread_binding({2 * length}, thread="blockIdx.x")') == 2


def test_chains_without_products_are_left_to_others() -> None:
    (a,) = placeholders((6, 100))
    rule = dlight.gpu.ReductionChain()
    assert rule.apply(prim_func([a], topi.nn.softmax(a)), CUDA, False) is None
    b, c = placeholders((8, 8), (8, 8))
    assert rule.apply(prim_func([b, c], product(b, c)), CUDA, False) is None
    assert rule.apply(attention(4, 4), Target("llvm"), False) is None


# -- CPU ---------------------------------------------------------------------------------------


def run_on_cpu(module: IRModule, arrays: Sequence[np.ndarray], shape: tuple[int, ...]) -> Any:
    out = relax_mlir.runtime.empty(shape, "float32")
    relax_mlir.build(module, "llvm")(*(relax_mlir.runtime.tensor(a) for a in arrays), out)
    return out.numpy()


def test_cpu_gemv() -> None:
    a, b = placeholders((200, 70), (70,))
    r = te.reduce_axis((0, 70), "r")
    c = te.compute((200,), lambda i: te.sum(a[i, r] * b[r], axis=r), name="C")
    module = scheduled(dlight.cpu.GEMV(), prim_func([a, b], c), Target("llvm"))
    assert "T.parallel" in module.script() and "T.vectorized" in module.script()
    rng = np.random.default_rng(0)
    x, y = rng.random((200, 70), dtype="float32"), rng.random(70, dtype="float32")
    np.testing.assert_allclose(run_on_cpu(module, [x, y], (200,)), x @ y, rtol=1e-5)


def test_cpu_reduction() -> None:
    (a,) = placeholders((6, 100))
    module = scheduled(dlight.cpu.Reduction(), prim_func([a], topi.nn.softmax(a)), Target("llvm"))
    assert "T.parallel" in module.script() and "T.vectorized" in module.script()
    x = np.random.default_rng(0).random((6, 100), dtype="float32")
    np.testing.assert_allclose(run_on_cpu(module, [x], (6, 100)), softmax(x), rtol=1e-5)
