"""What lies below schedulable code runs as it is written: addresses, storage, checks, calls.

Each program is compared with numpy; what a CPU cannot run is refused when it is compiled.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir.driver.build_module import build
from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.runtime import register_global_func
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule

A = np.random.default_rng(7).standard_normal(16).astype("float32")
SQUARE = A.reshape(4, 4)


def module(body: str, parameters: str = "") -> IRModule:
    """A module whose `main` takes A and B of 16 floats, unless other parameters are given."""
    parameters = parameters or 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
    lines = "".join(f"        {line}\n" for line in body.strip("\n").splitlines())
    text = f"@I.ir_module\nclass Module:\n    @T.prim_func\n    def main({parameters}):\n{lines}"
    parsed = from_source(text, {"T": T, "I": I})
    assert isinstance(parsed, IRModule), "the text is that of a module"
    return parsed


def result_of(mod: IRModule, given: Any = A, size: int = 16) -> np.ndarray:
    found = np.zeros(size, "float32")
    build(mod)["main"](given, found)
    return found


CASES: dict[str, tuple[str, Any]] = {
    "attr": ("""
with T.attr(0, "pragma_auto_unroll_max_step", 16):
    for i in range(16):
        B[i] = A[i] + T.float32(1)
""", A + 1),
    "allocate": ("""
tmp = T.allocate([16], "float32", "global")
t = T.decl_buffer((16,), "float32", data=tmp)
for i in range(16):
    t[i] = A[i] * T.float32(3)
for i in range(16):
    B[i] = t[15 - i]
""", (A * 3)[::-1]),
    "declared on an address": ("""
F = T.decl_buffer((12,), "float32", data=T.address_of(A[4]))
for i in range(12):
    B[i] = F[i]
""", np.r_[A[4:], np.zeros(4)]),
    "declared on a pointer variable": ("""
p: T.handle("float32") = A.data
F = T.decl_buffer((2, 8), "float32", data=p)
for i, j in T.grid(2, 8):
    B[j * 2 + i] = F[i, j]
""", A.reshape(2, 8).T.reshape(-1)),
    "declared as integers": ("""
F = T.decl_buffer((16,), "int32", data=A.data)
for i in range(16):
    B[i] = T.Cast("float32", F[i] >> 23)
""", (A.view("int32") >> 23)),
    "a second name": ("""
F = T.decl_buffer((16,), "float32", data=B.data)
for i in range(16):
    B[i] = A[i]
for i in range(16):
    F[i] = F[i] + T.float32(1)
for i in range(16):
    B[i] = B[i] * T.float32(2)
""", (A + 1) * 2),
    "constants": ("""
c = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
C = T.decl_buffer((4,), "float32", data=c)
for i in range(16):
    B[i] = C[i % 4] * A[i]
""", np.tile([1, 2, 3, 4], 4) * A),
    "bool constants": ("""
c = T.allocate_const([True, False], "bool", [2])
C = T.decl_buffer((2,), "bool", data=c)
for i in range(16):
    B[i] = T.Select(C[i % 2], A[i], T.float32(0))
""", np.where(np.arange(16) % 2, 0, A)),
    "while": ("""
i = T.alloc_buffer((1,), "int32", scope="local")
i[0] = 0
while i[0] < 10:
    B[i[0]] = A[i[0]]
    i[0] = i[0] + 3
""", np.where((np.arange(16) % 3 == 0) & (np.arange(16) < 10), A, 0)),
    "let": ("""
for i in range(16):
    with T.LetStmt(A[i] * T.float32(2)) as v:
        x = T.float32()
        B[i] = v + T.Let(x * x, where={x: A[i] + T.float32(1)})
""", A * 2 + (A + 1) ** 2),
    "vectors": ("""
for i in range(2):
    B[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i, 2, 8)] * T.Broadcast(T.float32(2), 8)
""", np.r_[A[::2], A[1::2]] * 2),
    "a vector backwards": ("B[T.Ramp(0, 1, 16)] = A[T.Ramp(15, -1, 16)]", A[::-1]),
    "vectorized under a condition": ("""
for i in T.vectorized(16):
    B[i] = T.if_then_else(i < 5, A[i], T.float32(0))
""", np.where(np.arange(16) < 5, A, 0)),
    "scalable vectors have length one": ("""
for i in range(16):
    B[i] = A[i] * T.Cast("float32", T.vscale())
""", A),
    "pure extern": ("""
for i in range(16):
    B[i] = T.call_pure_extern("float32", "fabsf", A[i])
""", np.abs(A)),
    "extern on addresses": ("""
for i in range(4):
    with T.block("copy"):
        vi = T.axis.spatial(4, i)
        T.reads(A[vi * 4:vi * 4 + 4])
        T.writes(B[vi * 4:vi * 4 + 4])
        a = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), offset_factor=1)
        b = T.match_buffer(B[vi * 4:vi * 4 + 4], (4,), offset_factor=1)
        T.evaluate(T.call_extern("handle", "memcpy", b.access_ptr("w"), a.access_ptr("r"),
                                 T.int64(16)))
""", A),
    "access pointers": ("""
T.evaluate(T.call_extern("handle", "memcpy",
    T.tvm_access_ptr(T.type_annotation("float32"), B.data, 4, 8, 2),
    T.tvm_access_ptr(T.type_annotation("float32"), A.data, 2, 8, 1), T.int64(32)))
""", np.r_[np.zeros(4), A[2:10], np.zeros(4)]),
    "layout of a view": ("""
for i in range(4):
    with T.block("view"):
        vi = T.axis.spatial(4, i)
        a = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), offset_factor=1)
        for j in range(4):
            B[vi * 4 + j] = a[j] + T.Cast("float32", a.elem_offset)
""", A + np.repeat(np.arange(4) * 4, 4)),
    "hints": ("""
T.evaluate(T.assume(A[0] < T.float32(100)))
for i in range(16):
    T.evaluate(T.prefetch(T.address_of(A[i]), 0, 3, 1))
    if T.likely(i < 9):
        B[i] = A[i]
""", np.where(np.arange(16) < 9, A, 0)),
    "null": ("B[0] = T.Select(T.isnullptr(A.data), T.float32(1), T.float32(2))",
             np.r_[2, np.zeros(15)]),
    "atomic": ("""
for i in T.parallel(16):
    T.evaluate(T.atomic_add(T.address_of(B[3]), A[i]))
""", np.r_[0, 0, 0, A.sum(), np.zeros(12)]),
    "assert that holds": ("""
with T.Assert(A[0] < T.float32(100), "too large"):
    for i in range(16):
        B[i] = A[i]
""", A),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_runs_as_written(name: str) -> None:
    body, wanted = CASES[name]
    mod = module(body)
    np.testing.assert_allclose(result_of(mod), wanted, rtol=1e-5, atol=1e-6)
    again = from_source(mod.script(), {"T": T, "I": I})
    assert isinstance(again, IRModule)
    np.testing.assert_allclose(result_of(again), wanted, rtol=1e-5, atol=1e-6)


def test_declared_with_strides() -> None:
    mod = module(
        "F = T.decl_buffer((4,), 'float32', data=A.data, strides=[4], elem_offset=1)\n"
        "for i in range(4):\n    B[i] = F[i]",
        'A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")',
    )
    np.testing.assert_array_equal(result_of(mod, SQUARE, 4), SQUARE[:, 1])


def test_extern_calls_in_scheduled_code() -> None:
    mod = module(CASES["extern on addresses"][0])
    sch = Schedule(mod, debug_mask="all")
    (loop,) = sch.get_loops("copy")
    outer, _ = sch.split(loop, [None, 3])
    sch.parallel(outer)
    np.testing.assert_array_equal(result_of(sch.mod), A)


def test_packed_calls_in_loops() -> None:
    def double(source: Any, target: Any) -> None:
        np.multiply(np.from_dlpack(source), np.float32(2), out=np.from_dlpack(target))

    register_global_func("test.low_level.double", double, override=True)
    body = "for i in range(2):\n    T.call_packed('test.low_level.double', A, B)"
    np.testing.assert_array_equal(result_of(module(body)), A * 2)


# -- calls of other functions of the module ----------------------------------------------------


OTHER = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scaled(A: T.Buffer((16,), "float32"), n: T.int32, B: T.Buffer((16,), "float32")):
        assert n <= 16, "n is too large"
        for i in range(n):
            B[i] = A[i] * T.float32(2)
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        C = T.alloc_buffer((16,), "float32")
        Module.scaled(A.data, {n}, C)
        for i in range(16):
            B[i] = C[i] + T.float32(1)
"""


def test_calls_of_primitive_functions() -> None:
    mod = from_source(OTHER.replace("{n}", "16"), {"T": T, "I": I})
    assert isinstance(mod, IRModule)
    np.testing.assert_array_equal(result_of(mod), A * 2 + 1)


def test_a_check_that_fails_in_a_called_function_is_the_callers_error() -> None:
    mod = from_source(OTHER.replace("{n}", "17"), {"T": T, "I": I})
    assert isinstance(mod, IRModule)
    with pytest.raises(RuntimeError, match="n is too large"):
        result_of(mod)


def test_other_arguments_than_the_function_takes_are_refused() -> None:
    text = OTHER.replace("{n}, C", "3, D").replace("C[i] +", "A[i] +")
    mod = from_source(text.replace("C = T.alloc_buffer((16,)", "D = T.alloc_buffer((8,)"),
                      {"T": T, "I": I})  # fmt: skip
    assert isinstance(mod, IRModule)
    with pytest.raises(CompileError, match="the call of 'scaled': argument 2 is memref<8xf32"):
        build(mod)


# -- checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", ["range", "T.parallel", "T.unroll"])
def test_a_check_that_fails_is_an_error(loop: str) -> None:
    mod = module(
        f"for i in {loop}(n):\n    assert A[i] < T.float32(5), 'too large'\n    B[i] = A[i]",
        'A: T.Buffer((16,), "float32"), n: T.int32, B: T.Buffer((16,), "float32")',
    ) if loop != "T.unroll" else module(
        "for i in T.unroll(16):\n    assert A[i] < T.float32(5), 'too large'\n    B[i] = A[i]",
        'A: T.Buffer((16,), "float32"), n: T.int32, B: T.Buffer((16,), "float32")',
    )  # fmt: skip
    run = build(mod)["main"]
    found = np.zeros(16, "float32")
    run(A, 16, found)
    np.testing.assert_array_equal(found, A)
    with pytest.raises(RuntimeError, match="too large"):
        run(np.where(np.arange(16) == 9, 6, A).astype("float32"), 16, found)
    run(A, 16, found)  # the error is gone


# -- what a function returns -------------------------------------------------------------------


@pytest.mark.parametrize(("value", "wanted"), [("7", 7), ("A[3]", float(A[3])), ("n + 1", 6)])
def test_a_number_is_returned(value: str, wanted: float) -> None:
    mod = module(f"B[0] = A[1]\nT.ret({value})",
                 'A: T.Buffer((16,), "float32"), n: T.int32, B: T.Buffer((16,), "float32")',
                 )  # fmt: skip
    found = np.zeros(16, "float32")
    assert build(mod)["main"](A, 5, found) == wanted
    assert found[0] == A[1]


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T.evaluate(T.ptx_wait_group(0))", "intrinsic 'ptx_wait_group' at .*NVIDIA"),
        ('T.evaluate(T.mma_fill("float32", 8, A.data, 0))', "'mma_fill' at .*NVIDIA"),
        ('T.evaluate(T.tvm_storage_sync("shared"))', "'tvm_storage_sync'.*one after the other"),
        ("for i in range(4):\n    T.ret(i)", "T.ret at .* is not the last statement"),
    ],
)  # fmt: skip
def test_what_a_cpu_cannot_run_is_refused(body: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as error:
        build(module(body))
    assert "hint" in str(error.value)


# -- vectors -----------------------------------------------------------------------------------


def test_a_quotient_that_is_the_same_in_all_lanes() -> None:
    """The lane's number must be in nothing that is computed once for all lanes."""
    mod = module(
        """
for i, j in T.grid(4, 50):
    for k in T.vectorized(1):
        with T.block("Y"):
            vi = T.axis.spatial(10, i * 5 + (j + k) // 10)
            vj = T.axis.spatial(10, (j + k) % 10)
            T.where(i * 5 + (j + k) // 10 < 10)
            Y[vi, vj] = A[vi // 2, X[vj]]
""",
        'A: T.Buffer((5, 5), "int32"), X: T.Buffer((10,), "int32"), Y: T.Buffer((10, 10), "int32")',
    )
    rng = np.random.default_rng(2)
    a, x = rng.integers(0, 99, (5, 5)).astype("int32"), rng.integers(0, 5, 10).astype("int32")
    found = np.zeros((10, 10), "int32")
    build(mod)["main"](a, x, found)
    np.testing.assert_array_equal(found, a[np.arange(10) // 2][:, x])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_failed_check_leaves_no_temporaries_behind() -> None:
    size = 1 << 20
    body = f"""
tmp = T.allocate([{size}], "float32", "global")
t = T.decl_buffer(({size},), "float32", data=tmp)
for i in range({size}):
    t[i] = A[i % 16]
with T.Assert(A[0] < T.float32(100), "too large"):
    for i in range(16):
        B[i] = t[{size} - 16 + i]
"""
    run = build(module(body))["main"]
    large, found = np.full(16, 1000, "float32"), np.zeros(16, "float32")

    def fail(times: int) -> None:
        for _ in range(times):
            with pytest.raises(RuntimeError, match="too large"):
                run(large, found)

    fail(4)
    before = _resident_bytes()
    fail(40)
    assert _resident_bytes() - before < 10 * 4 * size
    run(A, found)
    np.testing.assert_array_equal(found, A)


def test_lanes_of_vectors_are_taken_and_joined() -> None:
    parameters = (
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), '
        'C: T.Buffer((8,), "float32"), n: T.int32'
    )
    body = """
low = A[0:4:1]
high = A[4:8:1]
B[0:4] = T.Shuffle([low, high], [7, 0, 4, 3])
B[4:8] = T.Shuffle([T.Shuffle([low], [2]), C[5], high], [3, 0, 1, 5])
C[0] = T.Shuffle([high], [n])
C[1] = T.Shuffle([high], [2]) + T.Shuffle([T.Shuffle([low], [3, 2, 1, 0])], [n])
"""
    given = np.random.default_rng(3).standard_normal(8).astype("float32")
    places = np.arange(8, dtype="float32")
    run = build(module(body, parameters))["main"]
    for lane in (0, 3):
        made, found = np.zeros(8, "float32"), places.copy()
        run(given, made, found, lane)
        np.testing.assert_array_equal(made[:4], given[[7, 0, 4, 3]])
        np.testing.assert_array_equal(made[4:], [given[5], given[2], places[5], given[7]])
        np.testing.assert_array_equal(found[:2], [given[4 + lane], given[6] + given[3 - lane]])
