"""Tuning for a GPU: what the rules make runs on the emulated one, and computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import meta_schedule as ms
from relax_mlir import tir
from relax_mlir.meta_schedule import postproc, schedule_rule
from relax_mlir.meta_schedule.utils import initialize
from relax_mlir.tir.schedule import Trace
from tests.exec.meta_schedule_programs import PROGRAMS
from tests.gpu.emulated import run_emulated

CUDA = tvm.target.Target("cuda")


def context_of(name: str, space: ms.SpaceGenerator | str = "post-order-apply") -> ms.TuneContext:
    return ms.TuneContext(
        PROGRAMS[name].mod, target=CUDA, space_generator=space, search_strategy="replay-trace",
        rand_state=3,
    )  # fmt: skip


def rolled() -> ms.SpaceGenerator:
    """The rules for GPUs without unrolling, which makes emulated kernels slow to compile."""
    unrolls = schedule_rule.ParallelizeVectorizeUnroll
    rules = [rule for rule in ms.ScheduleRule.create("cuda") if not isinstance(rule, unrolls)]
    return ms.space_generator.PostOrderApply(
        sch_rules=rules, postprocs="cuda", mutator_probs="cuda"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_candidates_compute_the_same(name: str) -> None:
    context = context_of(name, rolled())
    context.pre_tuning(2, 2)
    candidates = context.generate_measure_candidates()
    assert candidates is not None and len(candidates) == 2
    for number, candidate in enumerate(candidates):
        inputs = PROGRAMS[name].inputs(number)
        expected = PROGRAMS[name].reference(*inputs)
        got = np.full(expected.shape, np.nan, "float32")
        run_emulated(candidate.sch.mod, *inputs, got, order="forward")
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)


def test_a_product_is_tiled_for_blocks_and_threads() -> None:
    (sch,) = context_of("matmul_relu").generate_design_space()
    text = sch.mod.script()
    for words in ("blockIdx.x", "vthread.x", "threadIdx.x", "shared", "local"):
        assert f'"{words}"' in text
    assert 'T.block("relu")' not in text, "it is computed where results are written"
    assert text.count("meta_schedule.cooperative_fetch") == 2


def test_threads_reduce_together() -> None:
    together, alone = context_of("row_sum").generate_design_space()
    (threads,) = (i.decision for i in together.trace.insts if i.kind == "sample_categorical"
                  and i.keywords["candidates"][0] == 4)  # fmt: skip
    assert 'thread="threadIdx.x"' in together.mod.script()
    mutated = ms.mutator.MutateThreadBinding().apply(together.trace, 5)
    assert mutated is not None and threads not in [
        i.decision for i in mutated.insts if i.kind == "sample_categorical"
        and i.keywords["candidates"][0] == 4
    ]  # fmt: skip
    assert "bind" in str(alone.trace), "the rows are bound all the same"


def test_too_many_threads_are_rejected() -> None:
    verify = postproc.VerifyGPUCode()
    initialize(verify, context_of("elementwise"))
    sch = tir.Schedule(PROGRAMS["elementwise"].mod)
    assert not verify.apply(sch), "nothing is bound"
    for name in ("add", "double"):
        rows, columns = sch.get_loops(name)
        sch.bind(rows, "blockIdx.x")
        sch.bind(columns, "threadIdx.x")
    assert verify.apply(sch)
    small = tvm.target.Target({"kind": "cuda", "max_threads_per_block": 16})
    initialize(verify, ms.TuneContext(PROGRAMS["elementwise"].mod, target=small,
                                      space_generator="post-order-apply"))  # fmt: skip
    assert not verify.apply(sch)


def test_mutations_of_kernels_are_kernels() -> None:
    (sketch,) = context_of("matmul_relu").generate_design_space()
    mutators = list(ms.Mutator.create("cuda"))
    made = [m.apply(sketch.trace, seed) for m in mutators for seed in (1, 2, 3)]
    changed = [trace for trace in made if isinstance(trace, Trace)]
    assert len(changed) >= 4
    for trace in changed:
        sch = tir.Schedule(PROGRAMS["matmul_relu"].mod)
        trace.apply_to_schedule(sch)
        assert sch.mod.verify()
