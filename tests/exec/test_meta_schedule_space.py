"""Design spaces: what rules, postprocessors and mutators make, and that it computes the same."""

from __future__ import annotations

from typing import Any

import pytest

import relax_mlir as tvm
from relax_mlir import meta_schedule as ms
from relax_mlir import te, tir, topi
from relax_mlir.errors import Error, ScheduleError
from relax_mlir.meta_schedule import mutator, postproc, schedule_rule, space_generator
from relax_mlir.meta_schedule.search_strategy.search_strategy import apply_trace
from relax_mlir.meta_schedule.utils import initialize
from relax_mlir.script import tir as T
from tests.exec.meta_schedule_programs import PROGRAMS

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 2})


def context_of(name: str, space: Any = "post-order-apply", seed: int = 7) -> ms.TuneContext:
    return ms.TuneContext(
        PROGRAMS[name].mod,
        target=TARGET,
        space_generator=space,
        search_strategy="replay-trace",
        rand_state=seed,
    )


def space_of(name: str, *rules: ms.ScheduleRule) -> list[tir.Schedule]:
    generator = space_generator.PostOrderApply(
        sch_rules=rules, postprocs=[], mutator_probs={}
    )
    return context_of(name, generator).generate_design_space()


@pytest.mark.parametrize("name", PROGRAMS)
def test_candidates_compute_the_same(name: str) -> None:
    context = context_of(name)
    context.pre_tuning(max_trials=3, num_trials_per_iter=3)
    candidates = context.generate_measure_candidates()
    assert candidates is not None and len(candidates) == 3
    for number, candidate in enumerate(candidates):
        again = tir.Schedule(PROGRAMS[name].mod)
        tir.schedule.Trace.apply_json_to_schedule(candidate.sch.trace.as_json(), again)
        assert again.mod == candidate.sch.mod
        PROGRAMS[name].check(tvm.compile(candidate.sch.mod, TARGET), seed=number)


def test_a_product_is_tiled_with_and_without_a_copy_of_its_results() -> None:
    reuse = schedule_rule.ReuseType(req="may", levels=[1, 2], scope="global")
    rule = schedule_rule.MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=reuse)
    space = space_of("matmul_relu", rule)
    assert len(space) == 3
    for sch in space:
        assert 'T.block_attr({"meta_schedule.tiling_structure": "SSRSRS"})' in sch.mod.script()
        assert len(sch.get_loops("C")) == 10
    copies = [s for s in space if "cache_write" in str(s.trace)]
    assert len(copies) == 2
    with pytest.raises(ValueError, match="made of S and R"):
        schedule_rule.MultiLevelTiling("SSXS")


def test_a_filter_asks_for_more_tiling() -> None:
    plain = schedule_rule.MultiLevelTiling("SRS")
    assert [str(s.trace).count("split") for s in space_of("row_sum", plain)] == [0]
    asked = schedule_rule.MultiLevelTiling("SRS", filter_fn=lambda sch, block: True)
    assert [str(s.trace).count("split") for s in space_of("row_sum", asked)] == [1]


def test_a_reduction_with_few_rows_is_factored() -> None:
    space = space_of("row_sum", schedule_rule.AddRFactor(max_jobs_per_core=16))
    assert len(space) == 3
    assert sum("rfactor" in str(sch.trace) for sch in space) == 2
    assert space_of("elementwise", schedule_rule.AddRFactor())[0].mod == PROGRAMS["elementwise"].mod


def test_what_is_elementwise_is_inlined() -> None:
    switches = {
        "into_producer": False, "into_consumer": True, "inline_const_tensor": True,
        "disallow_if_then_else": True, "require_injective": True, "require_ordered": True,
    }  # fmt: skip
    (inlined,) = space_of("elementwise", schedule_rule.AutoInline(**switches))
    assert ms.utils.block_names(inlined.mod) == ["double"]
    (kept,) = space_of("softmax", schedule_rule.AutoInline(**switches, disallow_op=["tir.exp"]))
    assert ms.utils.block_names(kept.mod) == ["largest", "exp", "total", "norm"]
    (product,) = space_of("matmul_relu", schedule_rule.AutoInline(**switches))
    assert ms.utils.block_names(product.mod) == ["C", "relu"], "a reduction is not inlined"


def test_blocks_move_into_loops_of_their_consumers() -> None:
    (sch,) = space_of("softmax", schedule_rule.RandomComputeLocation())
    assert "sample_compute_location" in str(sch.trace) and "compute_at" in str(sch.trace)


def test_a_rule_that_a_block_names() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.block_attr({"schedule_rule": "test_halves"})
                B[vi] = A[vi]

    def halves(sch: tir.Schedule, block: Any) -> list[tir.Schedule]:
        sch.split(sch.get_loops(block)[0], [2, None])
        return [sch]

    rules = [schedule_rule.ApplyCustomRule()]
    generator = space_generator.PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    context = ms.TuneContext(main, target=TARGET, space_generator=generator)
    with pytest.raises(Error, match=r'"test_halves".*\n.*meta_schedule.cpu.test_halves'):
        context.generate_design_space()
    name = "meta_schedule.cpu.test_halves"
    tvm.register_global_func(name, halves)
    try:
        (sch,) = context.generate_design_space()
    finally:
        tvm.runtime.remove_global_func(name)
    assert len(sch.get_loops("B")) == 2


def test_rules_that_topi_names_need_not_be_registered() -> None:
    """Pooling has names of rules: tuning a network leaves it to compiling."""
    x = te.placeholder((1, 4, 8, 8), "float32", name="x")
    pool = topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    main = te.create_prim_func([x, pool])
    rules = [schedule_rule.ApplyCustomRule()]
    generator = space_generator.PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    context = ms.TuneContext(main, target=TARGET, space_generator=generator)
    (sch,) = context.generate_design_space()
    assert "meta_schedule.pool_max" in sch.mod.script()


def test_a_filter_of_blocks_and_rules_of_the_user() -> None:
    class Parallel(ms.schedule_rule.PyScheduleRule):
        def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
            self.target = context.target

        def apply(self, sch: tir.Schedule, block: Any) -> list[tir.Schedule]:
            if not ms.block_facts.is_root(sch, block):
                sch.parallel(sch.get_loops(block)[0])
            return [sch]

        def clone(self) -> Parallel:
            return Parallel()

    rule = Parallel()
    generator = space_generator.PostOrderApply(
        lambda block: block.sym_name.value == "double", [rule], [], {}
    )
    (sch,) = context_of("elementwise", generator).generate_design_space()
    assert rule.target == TARGET
    assert str(sch.trace).count("parallel") == 1
    assert generator.clone().sch_rules[0] is not rule


# -- spaces of functions ----------------------------------------------------------------------


def test_a_function_that_schedules_is_a_space() -> None:
    def in_place(sch: tir.Schedule) -> None:
        loop = sch.get_loops("sum")[1]
        sch.split(loop, sch.sample_perfect_tile(loop, 2))

    def several(sch: tir.Schedule) -> list[tir.Schedule]:
        other = sch.copy()
        in_place(other)
        return [sch, other]

    alone = space_generator.ScheduleFn(in_place)
    assert len(alone.generate_design_space(PROGRAMS["row_sum"].mod)) == 1, "without a task, too"
    (one,) = context_of("row_sum", in_place).generate_design_space()
    assert len(one.trace.decisions) == 1
    assert len(context_of("row_sum", several).generate_design_space()) == 2
    union = space_generator.SpaceGeneratorUnion(
        [space_generator.create(in_place), space_generator.create(several)],
        sch_rules=[], postprocs=[], mutator_probs={},
    )  # fmt: skip
    assert len(context_of("row_sum", union).generate_design_space()) == 3
    with pytest.raises(TypeError, match="returns None, a Schedule or a list"):
        context_of("row_sum", lambda sch: 3).generate_design_space()


def test_seeds_decide() -> None:
    decisions = [
        [list(s.trace.decisions.values()) for s in context_of("matmul_relu", seed=seed)
         .generate_design_space()] for seed in (1, 1, 2)
    ]  # fmt: skip
    assert decisions[0] == decisions[1] != decisions[2]


# -- postprocessors ---------------------------------------------------------------------------


def finished(name: str, *postprocs: ms.Postproc, **annotations: int) -> str:
    sch = tir.Schedule(PROGRAMS[name].mod)
    for key, value in annotations.items():
        sch.annotate(sch.get_sblock("root"), f"meta_schedule.{key}", value)
    for one in postprocs:
        initialize(one, context_of(name))
        assert one.apply(sch)
    return sch.mod.script()


def test_loops_run_as_the_root_block_says() -> None:
    rewrite = postproc.RewriteParallelVectorizeUnroll()
    text = finished("matmul_relu", rewrite, parallel=31, vectorize=64, unroll_explicit=16)
    assert "meta_schedule." not in text
    assert text.count("T.parallel(32,") == 1, "the rows of the product"
    assert text.count("T.parallel(24)") == text.count("T.vectorized(64)") == 1, "all of relu"
    assert text.count('"pragma_auto_unroll_max_step": 16') == 1, "only the reduction is unrolled"
    text = finished("elementwise", rewrite, parallel=4, vectorize=1024)
    assert text.count("T.parallel(7)") == 2 and text.count("T.vectorized(30)") == 2
    text = finished("elementwise", rewrite, parallel=4, vectorize=70)
    assert text.count("T.parallel(3)") == 2 and text.count("T.vectorized(70)") == 2
    assert finished("elementwise", rewrite) == PROGRAMS["elementwise"].mod.script()


def test_lanes_step_through_memory() -> None:
    @T.prim_func
    def transpose(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32")):
        for i, j in T.grid(16, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    sch = tir.Schedule(transpose)
    sch.annotate(sch.get_sblock("root"), "meta_schedule.vectorize", 64)
    assert postproc.RewriteParallelVectorizeUnroll().apply(sch)
    assert "vectorized" not in sch.mod.script()


def test_reductions_begin_in_loops_of_their_own() -> None:
    text = finished("convolution", postproc.RewriteReductionBlock())
    assert 'T.block("conv_init")' in text and "T.init()" not in text


def test_loops_of_unknown_extent_are_rejected() -> None:
    @T.prim_func
    def main(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            with T.block("A"):
                vi = T.axis.spatial(n, i)
                A[vi] = T.float32(0)

    assert not postproc.DisallowDynamicLoop().apply(tir.Schedule(main))
    assert postproc.DisallowDynamicLoop().apply(tir.Schedule(PROGRAMS["row_sum"].mod))


# -- mutators ---------------------------------------------------------------------------------


def sketch(name: str) -> tir.schedule.Trace:
    return context_of(name).generate_design_space()[0].trace


@pytest.mark.parametrize(
    ("name", "make", "kind"),
    [
        ("matmul_relu", mutator.MutateTileSize, "sample_perfect_tile"),
        ("matmul_relu", mutator.MutateUnroll, "sample_categorical"),
        ("softmax", mutator.MutateComputeLocation, "sample_compute_location"),
    ],
)
def test_mutators_change_one_decision(name: str, make: Any, kind: str) -> None:
    trace = sketch(name)
    for seed in range(1, 20):
        changed = make().apply(trace, seed)
        if changed is None:  # a factor that would be too large
            continue
        before, after = trace.decisions, changed.decisions
        different = [n for n in before if before[n] != after[n]]
        assert [trace.insts[n].kind for n in different] in ([kind], [])
        if different and kind == "sample_perfect_tile":
            one, other = before[different[0]], after[different[0]]
            assert sum(a != b for a, b in zip(one, other, strict=True)) == 2
        assert apply_trace(PROGRAMS[name].mod, changed, 1, []) is not None
    assert make().apply(tir.Schedule(PROGRAMS[name].mod).trace, 1) is None


def test_the_limit_of_parallel_iterations_is_changed() -> None:
    mutate = mutator.MutateParallel(max_jobs_per_core=16)
    initialize(mutate, context_of("matmul_relu"))
    trace = sketch("matmul_relu")
    limits = {
        i.keywords["ann_val"]
        for seed in range(1, 30)
        for i in (mutate.apply(trace, seed) or trace).insts
        if i.keywords.get("ann_key") == "meta_schedule.parallel"
    }
    assert limits == {2, 4, 8, 16}


def test_kinds_of_targets() -> None:
    for create in (ms.ScheduleRule.create, ms.Postproc.create, ms.Mutator.create):
        assert create("llvm") and create("cuda")
        with pytest.raises(ValueError, match="hexagon"):
            create("hexagon")


def test_a_refused_primitive_is_no_candidate() -> None:
    def refuse(sch: tir.Schedule) -> None:
        sch.vectorize(sch.get_loops("sum")[1])

    with pytest.raises(ScheduleError):
        context_of("row_sum", refuse).generate_design_space()
    trace = tir.Schedule(PROGRAMS["matmul_relu"].mod)
    trace.parallel(trace.get_loops("relu")[0])
    assert apply_trace(PROGRAMS["row_sum"].mod, trace.trace, 1, []) is None
