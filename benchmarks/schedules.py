"""What a schedule costs: each primitive on a matrix product, and twenty of them with the build.

The same script runs with relax_mlir and, where it is installed, with TVM, round by round in one
process; times are medians of the thread's CPU time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

ROUNDS = 15
_PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func{options}
    def main(
        A: T.Buffer((512, 512), "float32"),
        B: T.Buffer((512, 512), "float32"),
        C: T.Buffer((512, 512), "float32"),
    ):
        X = T.{alloc}((512, 512), "float32")
        Y = T.{alloc}((512, 512), "float32")
        for i, j in T.grid(512, 512):
            with T.{block}("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j, k in T.grid(512, 512, 512):
            with T.{block}("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * B[vk, vj]
        for i, j in T.grid(512, 512):
            with T.{block}("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))
"""


@dataclass
class Library:
    """One of the two: the program as its module, its Schedule, and its compiler."""

    name: str
    module: Any
    schedule: Callable[[Any], Any]
    build: Callable[[Any], Any]
    times: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)

    def median(self, name: str) -> float | None:
        return statistics.median(self.times[name]) if name in self.times else None


def _ours() -> Library:
    from relax_mlir.driver import build
    from relax_mlir.script import from_source
    from relax_mlir.script import ir as I
    from relax_mlir.script import tir as T
    from relax_mlir.tir.schedule import Schedule

    text = _PROGRAM.format(options="", alloc="alloc_buffer", block="block")
    # `mod["main"]` makes the machine code.
    return Library("relax_mlir", from_source(text, {"I": I, "T": T}), Schedule,
                   lambda module: build(module)["main"])  # fmt: skip


def _tvm() -> Library | None:
    try:
        import tvm
        from tvm.script import from_source, ir, tirx
    except ImportError:
        return None
    text = _PROGRAM.format(options="(s_tir=True)", alloc="sblock_alloc_buffer", block="sblock")
    module, api = from_source(text, {"I": ir, "T": tirx}), cast(Any, tvm)
    return Library("TVM 0.27", module, api.s_tir.Schedule,
                   lambda scheduled: api.compile(scheduled, target="llvm"))  # fmt: skip


class _Steps:
    """A schedule whose primitives are timed."""

    def __init__(self, schedule: Any, library: Library) -> None:
        self._schedule, self._library = schedule, library

    def __getattr__(self, name: str) -> Any:
        primitive = getattr(self._schedule, name)

        def call(*arguments: Any) -> Any:
            start = time.thread_time()
            result = primitive(*arguments)
            self._library.add(name, time.thread_time() - start)
            return result

        return call


def twenty(sch: Any) -> None:
    """A tiled, packed, vectorised and parallel product: twenty primitives."""
    y = sch.get_sblock("Y")
    sch.compute_inline(sch.get_sblock("X"))
    i, j, k = sch.get_loops(y)
    i0, i1 = sch.split(i, [None, 16])
    j0, j1 = sch.split(j, [None, 32])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    packed = sch.cache_read(y, 1, "global")
    sch.compute_at(packed, j0)
    tile = sch.cache_write(y, 0, "global")
    sch.reverse_compute_at(tile, j0)
    sch.reverse_compute_at(sch.get_sblock("C"), j0)
    both = sch.fuse(i0, j0)
    sch.parallel(both)
    sch.annotate(both, "pragma_auto_unroll_max_step", 8)
    sch.vectorize(j1)
    sch.unroll(k1)
    init = sch.decompose_reduction(y, k0)
    sch.unroll(sch.get_loops(init)[-2])
    sch.storage_align(packed, 0, 0, 32, 8)
    sch.vectorize(sch.get_loops(tile)[-1])
    sch.set_scope(packed, 0, "local")


def _single(sch: Any) -> None:
    """Primitives that the chain leaves out."""
    y = sch.get_sblock("Y")
    _, k1 = sch.split(sch.get_loops(y)[2], [None, 8])
    sch.rfactor(k1, 0)
    sch.transform_layout(sch.get_sblock("X"), ("write", 0),
                         lambda i, j: [i // 16, j // 16, i % 16, j % 16])  # fmt: skip


def _blocks(sch: Any) -> None:
    loops = [sch.split(loop, [None, 16]) for loop in sch.get_loops(sch.get_sblock("Y"))]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    sch.blockize(loops[0][1])
    sch.reindex(sch.get_sblock("C"), ("read", 0))


def _parts(sch: Any) -> None:
    sch.loop_partition(sch.get_loops(sch.get_sblock("Y"))[0], [128, None])


def run(rounds: int = ROUNDS) -> str:
    """The table: median milliseconds of each primitive, and of the chain with its build."""
    theirs = _tvm()  # before our runtime: both register functions, and TVM insists on being first
    libraries = [_ours(), *([theirs] if theirs else [])]
    for number in range(rounds + 1):
        for library in libraries:
            if number == 1:  # the first round loads what is loaded once
                library.times.clear()
            start = time.thread_time()
            schedule = library.schedule(library.module)
            twenty(_Steps(schedule, library))
            library.add("chain of 20", time.thread_time() - start)
            library.build(schedule.mod)
            library.add("chain of 20, with build", time.thread_time() - start)
            for other in (_single, _blocks, _parts):
                other(_Steps(library.schedule(library.module), library))
    return _table(libraries)


def _table(libraries: list[Library]) -> str:
    names = sorted(libraries[0].times, key=lambda name: (name.startswith("chain"), name))
    rows = ["| a schedule of a product, ms | " + " | ".join(lib.name for lib in libraries) + " |"]
    rows.append("|---|" + "---:|" * len(libraries))
    for name in names:
        cells = [lib.median(name) for lib in libraries]
        texts = ["" if cell is None else f"{cell * 1e3:.2f}" for cell in cells]
        rows.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(rows)
