"""The emulator by itself, on kernels written by hand: results, and what its checks find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir.runtime import emulator
from relax_mlir.runtime.emulator import EmulatorError, compile_kernels
from tests.gpu.emulator_kernels import (
    MATMUL,
    MATMUL_SHARED,
    MATMUL_SIGNATURE,
    NEIGHBOUR,
    NEIGHBOUR_SHARED,
    NEIGHBOUR_SIGNATURE,
    WG,
    module,
)

ORDERS = ("forward", "reverse", "random")


def launch(
    text: str, block: tuple[int, ...], args: list[Any], grid: tuple[int, ...] = (1,), *,
    checks: bool = True, shared: int = 0, order: str = "forward",
) -> None:  # fmt: skip
    kernel = compile_kernels(text, checks=checks)["k"]
    with emulator.options(order=order, seed=5):
        kernel.launch(grid, block, shared, args)


def refused(text: str, block: tuple[int, ...], args: list[Any], **options: Any) -> EmulatorError:
    with pytest.raises(EmulatorError) as caught:
        launch(text, block, args, **options)
    return caught.value


def neighbour(*leave_out: str) -> str:
    return module(NEIGHBOUR, NEIGHBOUR_SIGNATURE, shared=NEIGHBOUR_SHARED, leave_out=leave_out)


def matmul(*leave_out: str) -> str:
    return module(MATMUL, MATMUL_SIGNATURE, shared=MATMUL_SHARED, leave_out=leave_out)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# -- results ----------------------------------------------------------------------------------
@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_matmul(rng: np.random.Generator, order: str, checks: bool) -> None:
    a, b = (rng.standard_normal((32, 32), dtype=np.float32) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    launch(matmul(), (16, 16), [a, b, c], (2, 2), order=order, checks=checks)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_neighbour(rng: np.random.Generator, order: str, checks: bool) -> None:
    x, y = rng.standard_normal(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(neighbour(), (64,), [x, y], order=order, checks=checks)
    np.testing.assert_array_equal(y, np.roll(x, 1))


def test_where_a_thread_is() -> None:
    body = """
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %z = gpu.thread_id z
    %b = gpu.block_id y
    %bd = gpu.block_dim x
    %gd = gpu.grid_dim y
    %lane = gpu.lane_id
    %warp = gpu.subgroup_id : index
    %g = gpu.global_id y
    %t0 = arith.muli %z, %c4 : index
    %t1 = arith.addi %t0, %y : index
    %t2 = arith.muli %t1, %c4 : index
    %t = arith.addi %t2, %x : index
    memref.store %b, %o[%b, %t, %c0] : memref<2x48x6xindex>
    memref.store %bd, %o[%b, %t, %c1] : memref<2x48x6xindex>
    memref.store %gd, %o[%b, %t, %c2] : memref<2x48x6xindex>
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    memref.store %lane, %o[%b, %t, %c3] : memref<2x48x6xindex>
    memref.store %warp, %o[%b, %t, %c4] : memref<2x48x6xindex>
    memref.store %g, %o[%b, %t, %c5] : memref<2x48x6xindex>
    """
    out = np.zeros((2, 48, 6), np.int64)
    launch(module(body, "%o: memref<2x48x6xindex>"), (4, 4, 3), [out], (1, 2))
    for block in range(2):
        for thread in range(48):
            y = thread // 4 % 4
            expected = [block, 4, 2, thread % 32, thread // 32, 4 * block + y]
            assert out[block, thread].tolist() == expected


@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_shuffle(mode: str, width: int, order: str) -> None:
    body = f"""
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %off = arith.constant 3 : i32
    %w = arith.constant {width} : i32
    %r, %ok = gpu.shuffle {mode} %v, %off, %w : i32
    %more, %ok2 = gpu.shuffle {mode} %r, %off, %w : i32
    memref.store %r, %y[%t] : memref<64xi32>
    memref.store %more, %z[%t] : memref<64xi32>
    %b = arith.extui %ok : i1 to i32
    memref.store %b, %p[%t] : memref<64xi32>
    """
    signature = ", ".join(f"%{name}: memref<64xi32>" for name in "xyzp")
    x = np.arange(100, 164, dtype=np.int32)
    y, z, p = (np.zeros(64, np.int32) for _ in range(3))
    launch(module(body, signature), (64,), [x, y, z, p], order=order)

    def source(thread: int) -> tuple[int, bool]:
        first, place = thread // width * width, thread % width
        wanted = {"xor": place ^ 3, "up": place - 3, "down": place + 3, "idx": 3}[mode]
        inside = 0 <= wanted < width
        return (first + wanted if inside else thread), inside

    once = [source(thread) for thread in range(64)]
    assert y.tolist() == [x[where] for where, _ in once]
    assert p.tolist() == [int(inside) for _, inside in once]
    assert z.tolist() == [y[where] for where, _ in once]


def test_atomics_and_dynamic_shared_memory(rng: np.random.Generator) -> None:
    body = f"""
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %raw = gpu.dynamic_shared_memory : memref<?xi8, {WG}>
    %s = memref.view %raw[%c16][] : memref<?xi8, {WG}> to memref<1xf32, {WG}>
    %first = arith.cmpi eq, %t, %c0 : index
    %zero = arith.constant 0.0 : f32
    scf.if %first {{
    memref.store %zero, %s[%c0] : memref<1xf32, {WG}>
    }}
    gpu.barrier
    %n = arith.muli %b, %c32 : index
    %i = arith.addi %n, %t : index
    %v = memref.load %x[%i] : memref<96xf32>
    %old = memref.atomic_rmw addf %v, %s[%c0] : (f32, memref<1xf32, {WG}>) -> f32
    gpu.barrier
    scf.if %first {{
    %sum = memref.load %s[%c0] : memref<1xf32, {WG}>
    %o2 = memref.atomic_rmw addf %sum, %o[%c0] : (f32, memref<1xf32>) -> f32
    }}
    """
    x, o = rng.standard_normal(96, dtype=np.float32), np.zeros(1, np.float32)
    launch(module(body, "%x: memref<96xf32>, %o: memref<1xf32>"), (32,), [x, o], (3,), shared=20)
    np.testing.assert_allclose(o[0], x.sum(), rtol=1e-5)


def test_dynamic_sizes_and_scalars(rng: np.random.Generator) -> None:
    """A memref argument is its pointer, then each dynamic size; scalars are themselves."""
    body = """
    %t = gpu.thread_id x
    %d = memref.dim %x, %c0 : memref<?x4xf32>
    %in = arith.cmpi ult, %t, %d : index
    scf.if %in {
    %v = memref.load %x[%t, %n] : memref<?x4xf32>
    %w = arith.mulf %v, %f : f32
    memref.store %w, %y[%t] : memref<?xf32>
    }
    """
    signature = "%x: memref<?x4xf32>, %n: index, %f: f32, %y: memref<?xf32>"
    kernel = compile_kernels(module(body, signature))["k"]
    assert kernel.kinds == ("ptr", "i64", "i64", "f32", "ptr", "i64")
    assert kernel.written == {4}
    x, y = rng.standard_normal((5, 4), dtype=np.float32), np.zeros(5, np.float32)
    kernel.launch((1,), (8,), 0, [x, 5, 2, 1.5, y, 5])
    np.testing.assert_array_equal(y, x[:, 2] * np.float32(1.5))
    with pytest.raises(TypeError, match=r"kernel k takes 6 arguments .*, got 1"):
        kernel.launch((1,), (8,), 0, [x])


@pytest.mark.parametrize("block,message", [((2000,), "2000 threads"), ((0,), "0 threads")])
def test_launches_that_no_device_takes(block: tuple[int, ...], message: str) -> None:
    kernel = compile_kernels(neighbour())["k"]
    x = np.zeros(64, np.float32)
    with pytest.raises(ValueError, match=message):
        kernel.launch((1,), block, 0, [x, x])
    with pytest.raises(ValueError, match="bytes of shared memory"):
        kernel.launch((1,), (64,), 300_000, [x, x])


# -- what the checks find ---------------------------------------------------------------------
@pytest.mark.parametrize("order", ORDERS)
def test_missing_barrier(order: str) -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    error = refused(neighbour("barrier"), (64,), [x, y], order=order)
    assert error.kind in ("race", "uninitialised")
    assert error.kernel == "k" and error.buffer == "x_shared"
    assert "'x_shared' in shared memory" in str(error)


def test_race_names_both_threads() -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    error = refused(neighbour("barrier"), (64,), [x, y], order="reverse")
    error = error if error.kind == "race" else refused(neighbour("barrier"), (64,), [x, y])
    assert error.kind in ("race", "uninitialised")
    if error.kind == "race":
        threads = {access.thread[0] for access in error.accesses}
        assert len(threads) == 2
        assert "no barrier between them" in str(error)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("barrier", ["first", "second"])
def test_missing_barrier_of_a_loop(barrier: str, order: str) -> None:
    a = np.ones((32, 32), np.float32)
    error = refused(matmul(barrier), (16, 16), [a, a.copy(), a.copy()], grid=(2, 2), order=order)
    expected = ("race", "uninitialised") if barrier == "first" else ("race",)
    assert error.kind in expected


def test_without_checks_a_missing_barrier_gives_wrong_numbers() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(neighbour("barrier"), (64,), [x, y], checks=False)
    assert np.isnan(y[0])  # shared memory is poisoned


def test_divergent_barrier() -> None:
    body = """
    %t = gpu.thread_id x
    %p = arith.cmpi ult, %t, %c8 : index
    scf.if %p {
    gpu.barrier
    }
    @tail gpu.barrier
    """
    for leave_out in ((), ("tail",)):
        text = module(body, "%x: memref<64xf32>", leave_out=leave_out)
        error = refused(text, (64,), [np.zeros(64, np.float32)])
        assert error.kind == "divergence"
        assert {access.thread for access in error.accesses} == {(0, 0, 0), (8, 0, 0)}
        assert "waits at a barrier" in str(error)
    assert "has ended" in str(error)


def test_shuffle_of_half_a_warp() -> None:
    body = """
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<32xf32>
    %one = arith.constant 1 : i32
    %w = arith.constant 32 : i32
    %p = arith.cmpi ult, %t, %c16 : index
    scf.if %p {
    %r, %ok = gpu.shuffle xor %v, %one, %w : f32
    memref.store %r, %x[%t] : memref<32xf32>
    }
    gpu.barrier
    """
    error = refused(module(body, "%x: memref<32xf32>"), (32,), [np.zeros(32, np.float32)])
    assert error.kind == "divergence"
    assert "waits for its warp" in str(error)


@pytest.mark.parametrize("what", ["load", "store"])
def test_out_of_bounds(what: str) -> None:
    access = {
        "load": "%v = memref.load %x[%c1, %t] : memref<2x64xf32>\n"
        "memref.store %v, %x[%c0, %c0] : memref<2x64xf32>",
        "store": "%f = arith.constant 1.0 : f32\nmemref.store %f, %x[%c1, %t] : memref<2x64xf32>",
    }[what]
    text = module(f"%t = gpu.thread_id x\n{access}", '%x: memref<2x64xf32> loc("X")')
    error = refused(text, (65,), [np.zeros((2, 64), np.float32)])
    assert error.kind == "out of bounds"
    assert error.accesses[0].thread == (64, 0, 0)
    assert "'X' at index (1, 64), its shape is (2, 64)" in str(error)


def test_negative_index() -> None:
    body = """
    %t = gpu.thread_id x
    %i = arith.subi %t, %c1 : index
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %x[%i] : memref<8xf32>
    """
    error = refused(module(body, "%x: memref<8xf32>"), (8,), [np.zeros(8, np.float32)])
    assert error.kind == "out of bounds" and "at index (?,)" not in str(error)
    assert "at index (-1,)" in str(error)


def test_buffer_smaller_than_the_kernel_says() -> None:
    body = """
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %x[%t] : memref<64xf32>
    """
    text = module(body, '%x: memref<64xf32> loc("X")')
    error = refused(text, (64,), [np.zeros(32, np.float32)])
    assert error.kind == "unknown address"
    assert error.accesses[0].thread == (32, 0, 0)


def test_misaligned_vector() -> None:
    body = """
    %t = gpu.thread_id x
    %i = arith.addi %t, %o : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
    vector.store %v, %y[%t] : memref<64xf32>, vector<4xf32>
    """
    text = module(body, "%x: memref<64xf32>, %y: memref<64xf32>, %o: index")
    base = np.zeros(72, np.float32)
    start = (-base.ctypes.data % 16) // 4
    x, y = base[start : start + 64], np.zeros(64, np.float32)
    launch(text, (1,), [x, y, 4])
    error = refused(text, (1,), [x, y, 1])
    assert error.kind == "misaligned" and "16 bytes at a time" in str(error)


def test_vectors_reach_to_their_last_element() -> None:
    body = """
    %t = gpu.thread_id x
    %v = vector.load %x[%n] : memref<64xf32>, vector<4xf32>
    vector.store %v, %x[%c0] : memref<64xf32>, vector<4xf32>
    """
    text = module(body, "%x: memref<64xf32>, %n: index")
    x = np.arange(64, dtype=np.float32)
    launch(text, (1,), [x, 60])
    assert x[:4].tolist() == [60, 61, 62, 63]
    assert refused(text, (1,), [x, 61]).kind == "out of bounds"


def test_masked_vectors_touch_only_their_lanes() -> None:
    body = """
    %m = vector.create_mask %n : vector<8xi1>
    %z = arith.constant dense<0.0> : vector<8xf32>
    %v = vector.maskedload %x[%c4], %m, %z : memref<10xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.maskedstore %y[%c4], %m, %v : memref<10xf32>, vector<8xi1>, vector<8xf32>
    """  # noqa: E501
    text = module(body, "%x: memref<10xf32>, %y: memref<10xf32>, %n: index")
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    launch(text, (1,), [x, y, 6])
    assert y.tolist() == [0, 0, 0, 0, 4, 5, 6, 7, 8, 9]
    error = refused(text, (1,), [x, y, 7])
    assert error.kind == "out of bounds" and "at index (10,)" in str(error)


@pytest.mark.parametrize("checks", [True, False])
def test_local_memory(checks: bool) -> None:
    body = """
    %t = gpu.thread_id x
    %l = memref.alloca() : memref<4xf32> loc("acc")
    %v = memref.load %x[%t] : memref<32xf32>
    @set memref.store %v, %l[%c2] : memref<4xf32>
    gpu.barrier
    %w = memref.load %l[%c2] : memref<4xf32>
    memref.store %w, %y[%t] : memref<32xf32>
    """
    signature = "%x: memref<32xf32>, %y: memref<32xf32>"
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    launch(module(body, signature), (32,), [x, y], checks=checks)
    np.testing.assert_array_equal(x, y)
    if checks:
        error = refused(module(body, signature, leave_out=("set",)), (32,), [x, y])
        assert error.kind == "uninitialised" and error.buffer == "acc"
        assert "'acc' in local memory" in str(error)


def test_blocks_race_in_global_memory() -> None:
    body = """
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    memref.store %i, %x[%c0] : memref<1xi32>
    """
    text = module(body, '%x: memref<1xi32> loc("X")')
    error = refused(text, (1,), [np.zeros(1, np.int32)], grid=(2,))
    assert error.kind == "race" and "blocks run in any order" in str(error)
    assert {access.block[0] for access in error.accesses} == {0, 1}


def test_storing_the_same_is_no_race() -> None:
    body = """
    %b = gpu.block_id x
    %seven = arith.constant 7 : i32
    memref.store %seven, %x[%c0] : memref<1xi32>
    """
    x = np.zeros(1, np.int32)
    launch(module(body, "%x: memref<1xi32>"), (64,), [x], (3,))
    assert x[0] == 7


def test_atomic_and_plain_store_race() -> None:
    body = """
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %p = arith.cmpi eq, %t, %c4 : index
    scf.if %p {
    memref.store %i, %x[%c0] : memref<1xi32>
    } else {
    %o = memref.atomic_rmw addi %i, %x[%c0] : (i32, memref<1xi32>) -> i32
    }
    """
    error = refused(module(body, "%x: memref<1xi32>"), (8,), [np.zeros(1, np.int32)])
    assert error.kind == "race" and "updates" in str(error)


def test_barrier_of_a_warp_orders_its_threads() -> None:
    body = """
    %t = gpu.thread_id x
    %f = arith.constant 1.0 : f32
    memref.store %f, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    @sync nvvm.bar.warp.sync %mask : i32
    %n = arith.xori %t, %d : index
    %v = memref.load %s[%n] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%t] : memref<64xf32>
    """
    shared = f"%s: memref<64xf32, {WG}>"
    signature, x = "%d: index, %mask: i32, %x: memref<64xf32>", np.zeros(64, np.float32)
    text = module(body, signature, shared=shared)
    launch(text, (64,), [1, -1, x])
    assert refused(text, (64,), [32, -1, x]).kind in ("race", "uninitialised")
    text = module(body, signature, shared=shared, leave_out=("sync",))
    assert refused(text, (64,), [1, -1, x]).kind in ("race", "uninitialised")


def test_a_failed_launch_leaves_the_emulator_as_it_was() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for _ in range(3):
        refused(neighbour("barrier"), (64,), [x, y])
        launch(neighbour(), (64,), [x, y])
        np.testing.assert_array_equal(y, np.roll(x, 1))


def test_options_are_checked() -> None:
    message = "one of forward, reverse, random"
    with pytest.raises(ValueError, match=message), emulator.options(order="sideways"):
        pass
    with pytest.raises(TypeError), emulator.options(speed=3):
        pass


# -- the nvvm dialect's own forms -------------------------------------------------------------
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_nvvm_registers_shuffles_and_votes(order: str) -> None:
    body = """
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ntid = nvvm.read.ptx.sreg.ntid.x : i32
    %ctaid = nvvm.read.ptx.sreg.ctaid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %base = arith.muli %ctaid, %ntid : i32
    %g = arith.addi %base, %tid : i32
    %t = arith.index_cast %g : i32 to index
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %clamp = arith.constant 31 : i32
    %r = nvvm.shfl.sync bfly %all, %g, %one, %clamp : i32 -> i32
    memref.store %r, %x[%t] : memref<128xi32>
    %bit = arith.andi %tid, %one : i32
    %odd = arith.cmpi eq, %bit, %one : i32
    %votes = nvvm.vote.sync ballot %all, %odd -> i32
    memref.store %votes, %y[%t] : memref<128xi32>
    %any = nvvm.vote.sync any %all, %odd -> i1
    %every = nvvm.vote.sync all %all, %odd -> i1
    %a = arith.extui %any : i1 to i32
    %e = arith.extui %every : i1 to i32
    %a2 = arith.addi %a, %a : i32
    %both = arith.addi %a2, %e : i32
    memref.store %both, %z[%t] : memref<128xi32>
    nvvm.barrier
    """
    x, y, z = (np.zeros(128, np.int32) for _ in range(3))
    signature = ", ".join(f"%{name}: memref<128xi32>" for name in "xyz")
    launch(module(body, signature), (64,), [x, y, z], (2,), order=order)
    np.testing.assert_array_equal(x, np.arange(128) ^ 1)
    assert set(y.view(np.uint32)) == {0xAAAAAAAA}
    assert set(z) == {2}


@pytest.mark.parametrize("wait", [True, False])
def test_nvvm_asynchronous_copies(wait: bool) -> None:
    body = """
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %sp = memref.extract_aligned_pointer_as_index %s : memref<128xf32, #gpu.address_space<workgroup>> -> index
    %xp = memref.extract_aligned_pointer_as_index %x : memref<128xf32> -> index
    %off = arith.muli %i, %c4 : index
    %sa = arith.addi %sp, %off : index
    %xa = arith.addi %xp, %off : index
    %si = arith.index_cast %sa : index to i64
    %xi = arith.index_cast %xa : index to i64
    %to = llvm.inttoptr %si : i64 to !llvm.ptr<3>
    %from = llvm.inttoptr %xi : i64 to !llvm.ptr<1>
    nvvm.cp.async.shared.global %to, %from, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    @wait nvvm.cp.async.wait.group 0
    gpu.barrier
    %n = arith.constant 31 : index
    %m = arith.subi %n, %t : index
    %j = arith.muli %m, %c4 : index
    %v = vector.load %s[%j] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    vector.store %v, %y[%i] : memref<128xf32>, vector<4xf32>
    """  # noqa: E501
    signature = "%x: memref<128xf32>, %y: memref<128xf32>"
    text = module(body, signature, shared=f'%s: memref<128xf32, {WG}> loc("staged")',
                  leave_out=() if wait else ("wait",))  # fmt: skip
    storage = np.zeros(160, np.float32)
    start = (-storage.ctypes.data % 16) // 4
    x, y = storage[start : start + 128], np.zeros(128, np.float32)
    x[:] = np.arange(128)
    if wait:
        launch(text, (32,), [x, y])
        np.testing.assert_array_equal(y, x.reshape(32, 4)[::-1].reshape(-1))
    else:
        error = refused(text, (32,), [x, y])
        assert error.buffer == "staged" and "asynchronous copy" in str(error)
