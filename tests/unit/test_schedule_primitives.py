"""What schedule primitives make of a program, and what they refuse, with the reason they give."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from relax_mlir.errors import ScheduleError
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from tests.exec.schedule_programs import PROGRAMS


@I.ir_module
class AddOne:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)


@I.ir_module
class Matmul:
    @T.prim_func
    def main(
        A: T.Buffer((16, 16), "float32"),
        W: T.Buffer((16, 16), "float32"),
        D: T.Buffer((16, 16), "float32"),
    ):
        C = T.alloc_buffer((16, 16), "float32")
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
        for i, j in T.grid(16, 16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))


def scheduled(module: IRModule) -> Schedule:
    return Schedule(module, debug_mask="all")


def test_quick_start_prints_as_the_document_shows() -> None:
    sch = scheduled(AddOne)
    assert repr(type(sch)) == "<class 'relax_mlir.tir.schedule.schedule.Schedule'>"
    block = sch.get_block("B")
    (i,) = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    text = sch.mod.script()
    assert "for i_0, i_1, i_2 in T.grid(2, 2, 2):" in text
    assert "vi = T.axis.spatial(8, i_0 * 4 + i_1 * 2 + i_2)" in text
    sch.reorder(i_0, i_2, i_1)
    assert "for i_0, i_2, i_1 in T.grid(2, 2, 2):" in sch.mod.script()
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    lines = [line.strip() for line in sch.mod.script().splitlines()]
    assert 'for i_0 in T.thread_binding(2, thread="blockIdx.x"):' in lines
    assert 'for i_2 in T.thread_binding(2, thread="threadIdx.x"):' in lines
    assert "for i_1 in range(2):" in lines


def test_split_and_fuse_back_is_the_plain_loop() -> None:
    sch = scheduled(Matmul)
    i, _, _ = sch.get_loops("C")
    outer, inner = sch.split(i, [None, 4])
    fused = sch.fuse(outer, inner)
    assert 'vi, vj, vk = T.axis.remap("SSR", [i_0_i_1_fused, j, k])' in sch.mod.script()
    assert isinstance(fused, LoopRV)


def test_the_argument_is_left_alone_and_mod_is_a_value() -> None:
    before = Matmul.script()
    sch = scheduled(Matmul)
    first = sch.mod
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert Matmul.script() == before == first.script()
    assert sch.mod.script() != before


def test_a_function_becomes_main() -> None:
    sch = Schedule(AddOne["main"])
    assert [v.name_hint for v in sch.mod.get_global_vars()] == ["main"]
    assert isinstance(sch.get_block("B"), BlockRV)


def test_queries() -> None:
    sch = scheduled(Matmul)
    root = sch.get_block("root")
    names = [sch.get(b).sym_name.value for b in sch.get_child_blocks(root)]
    assert names == ["C", "D"]
    assert [sch.get(b).sym_name.value for b in sch.get_producers("D")] == ["C"]
    assert [sch.get(b).sym_name.value for b in sch.get_consumers("C")] == ["D"]
    assert sch.get_consumers("D") == [] == sch.get_producers("C")
    assert [sch.get(b).sym_name.value for b in sch.get_output_blocks(root)] == ["D"]
    assert sch.get_loops(root) == []


def test_trace_as_python() -> None:
    sch = scheduled(AddOne)
    (i,) = sch.get_loops(sch.get_block("B"))
    outer, inner = sch.split(i, [None, 2])
    sch.vectorize(inner)
    assert sch.trace.as_python() == [
        'b0 = sch.get_sblock(name="B", func_name="main")',
        "l1, = sch.get_loops(block=b0)",
        "l2, l3 = sch.split(loop=l1, factors=[None, 2], preserve_unit_iters=True, disable_predication=False)",  # noqa: E501
        "sch.vectorize(loop=l3)",
    ]
    again = Schedule(AddOne)
    exec(str(sch.trace), {"__name__": "trace"}, namespace := {})
    namespace["apply_trace"](again)
    assert again.mod == sch.mod


def test_traces_decide_otherwise_and_end_before_the_postprocessing() -> None:
    sch = scheduled(AddOne)
    (i,) = sch.get_loops("B")
    sch.split(i, sch.sample_perfect_tile(i, 2, decision=[2, 4]))
    chosen = next(inst for inst in sch.trace.insts if inst.kind == "sample_perfect_tile")
    assert sch.trace.get_decision(chosen) == [2, 4]
    before = sch.mod
    sch.enter_postproc()
    sch.parallel(sch.get_loops("B")[0])
    sch.get_child_blocks(sch.get_sblock("B"))
    early, whole = Schedule(AddOne), Schedule(AddOne)
    sch.trace.apply_to_schedule(early, remove_postproc=True)
    sch.trace.apply_to_schedule(whole)
    assert early.mod == before and whole.mod == sch.mod != before
    assert sch.trace.as_python(remove_postproc=True) == early.trace.as_python()
    assert sch.trace.as_json(remove_postproc=True) == early.trace.as_json()
    kinds = [inst.kind for inst in sch.trace.simplified(remove_postproc=True).insts]
    assert kinds == ["get_sblock", "get_loops", "sample_perfect_tile", "split"]
    assert "get_child_blocks" not in [inst.kind for inst in sch.trace.simplified().insts]
    other = Schedule(AddOne)
    sch.trace.with_decision(chosen, [4, 2], remove_postproc=True).apply_to_schedule(other)
    assert [other.get(loop).extent for loop in other.get_loops("B")] == [4, 2]


def test_the_trace_does_not_follow_the_callers_list() -> None:
    sch = scheduled(Matmul)
    loops = sch.get_loops("C")
    loops.reverse()
    sch.reorder(*loops)
    again = Schedule(Matmul)
    sch.trace.apply_to_schedule(again)
    assert again.mod == sch.mod


def test_copy_is_independent_and_keeps_random_variables() -> None:
    sch = scheduled(Matmul)
    i, j, _ = sch.get_loops("C")
    other = sch.copy()
    other.reorder(j, i)
    assert "for j, i, k in" in other.mod.script()
    assert "for i, j, k in" in sch.mod.script()
    sch.split(i, [None, 4])
    assert len(other.trace.insts) == len(sch.trace.insts)


def test_annotations() -> None:
    sch = scheduled(Matmul)
    i, _ = sch.get_loops("D")
    sch.annotate(i, "pragma", [1, 2])
    sch.annotate(sch.get_block("D"), "flag", True)
    assert '"pragma": [1, 2]' in sch.mod.script()
    sch.unannotate(i, "pragma")
    assert "pragma" not in sch.mod.script()


def _i(sch: Schedule) -> Any:
    return sch.get_loops("C")[0]


def _k(sch: Schedule) -> Any:
    return sch.get_loops("C")[2]


REFUSED: dict[str, tuple[Callable[[Schedule], Any], list[str]]] = {
    "no_such_block": (lambda s: s.get_block("nope"), ['no block is named "nope"', '"C", "D"']),
    "split_too_small": (
        lambda s: s.split(_i(s), [3, 5]), ["3 x 5 cover fewer than the 16", "=>", "for i in"]
    ),
    "split_two_none": (lambda s: s.split(_i(s), [None, None]), ["at most one factor"]),
    "split_negative": (lambda s: s.split(_i(s), [None, -2]), ["factor -2 is not positive"]),
    "split_nothing": (lambda s: s.split(_i(s), []), ["no factors"]),
    "split_bound": (
        lambda s: (s.bind(_i(s), "blockIdx.x"), s.split(_i(s), [None, 2])),
        ["bound to a thread", "split before you bind"],
    ),
    "split_annotated": (
        lambda s: (s.annotate(_i(s), "a", 1), s.split(_i(s), [None, 2])), ["has annotations"]
    ),
    "fuse_apart": (lambda s: s.fuse(_i(s), _k(s)), ["is not the only statement of loop i"]),
    "reorder_twice": (lambda s: s.reorder(_k(s), _k(s)), ["loop k is given more than once"]),
    "reorder_two_nests": (
        lambda s: s.reorder(_i(s), s.get_loops("D")[0]), ["are not in one nest"]
    ),
    "vectorize_reduction": (
        lambda s: s.vectorize(_k(s)), ["drives vk of block \"C\"", "reduction variable", "rfactor"]
    ),
    "parallel_reduction": (lambda s: s.parallel(_k(s)), ["cannot be parallel"]),
    "bind_block_reduction": (lambda s: s.bind(_k(s), "blockIdx.x"), ["cannot be blockIdx.x"]),
    "bind_nonsense": (lambda s: s.bind(_i(s), "gpu.x"), ['"gpu.x" is no thread axis']),
    "bind_one_axis_twice": (
        lambda s: (s.bind(_i(s), "threadIdx.x"), s.bind(s.get_loops("C")[1], "threadIdx.x")),
        ["loop i and loop j would be the same threadIdx.x", 'block "C" needs both'],
    ),
    "inline_reduction": (lambda s: s.compute_inline("C"), ["is not complete", "not spatial"]),
    "inline_output": (lambda s: s.compute_inline("D"), ["writes D, which is an output"]),
    "reverse_inline_into_reduction": (
        lambda s: s.reverse_compute_inline("D"), ['block "C" is not complete']
    ),
    "compute_at_output": (
        lambda s: s.compute_at("D", _i(s)), ["writes an output of its scope"]
    ),
    "compute_at_unread": (
        lambda s: s.compute_at("C", _i(s)), ['block "C" is already under loop i']
    ),
    "reverse_at_reduction_loop": (
        lambda s: s.reverse_compute_at("D", _k(s)),
        ['loop k is a reduction loop of block "C"', "not complete inside it"],
    ),
    "decompose_inside": (
        lambda s: (s.reorder(_k(s), _i(s)), s.decompose_reduction("C", s.get_loops("C")[2])),
        ["reduction loop k is outside"],
    ),
    "decompose_elementwise": (
        lambda s: s.decompose_reduction("D", s.get_loops("D")[0]), ["it has no init"]
    ),
    "rfactor_spatial": (lambda s: s.rfactor(_i(s), 0), ["not a reduction loop"]),
    "rfactor_axis": (lambda s: s.rfactor(_k(s), 4), ["factor_axis 4 is not in [-3, 2]"]),
    "cache_no_such_buffer": (
        lambda s: s.cache_read("C", 7, "shared"), ["has 2 read regions, no number 7"]
    ),
    "cache_scope": (lambda s: s.cache_read("C", 0, "attic"), ['"attic" is no storage scope']),
    "unannotate": (lambda s: s.unannotate(_i(s), "x"), ['no annotation "x"']),
    "storage_align_axis": (
        lambda s: s.storage_align("C", 0, 5, 32, 1), ["has 2 axes, no number 5"]
    ),
    "set_scope_parameter": (lambda s: s.set_scope("D", 0, "shared"), ["D is a parameter"]),
    "layout_padding": (
        lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (i // 3, i % 3, j)),
        ["needs padding: 16 x 16 elements of C in 6 x 3 x 16", "give a pad_value"],
    ),
    "layout_not_injective": (
        lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (i + j, j * 0)),
        ["would store several elements of C in one place"],
    ),
    "layout_rank": (
        lambda s: s.transform_layout("C", ("write", 0), lambda i: i), ["takes 1 indices, not 2"]
    ),
    "pad_elementwise": (lambda s: s.pad_einsum("D", [4, 4]), ["is not a reduction block"]),
    "pad_after_split": (
        lambda s: (s.split(_i(s), [None, 4]), s.pad_einsum("C", [5, 1, 1])),
        ["pad before you split"],
    ),
    "pad_count": (lambda s: s.pad_einsum("C", [4, 4]), ["each of the 3 iteration variables"]),
    "blockize_predicate": (
        lambda s: s.blockize(s.split(_i(s), [None, 5])[1]), ["has a predicate"]
    ),
    "iter_order": (
        lambda s: s.reorder_block_iter_var("C", [0, 0, 1]), ["[0, 0, 1] is no order of 3"]
    ),
    "sample_probabilities": (
        lambda s: s.sample_categorical([1, 2], [1.0]), ["2 candidates with 1 probabilities"]
    ),
    "sample_tile": (
        lambda s: s.sample_perfect_tile(_i(s), 1, 4), ["16 has no 1 factors"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why_and_change_nothing(name: str) -> None:
    sch = scheduled(Matmul)
    attempt, reasons = REFUSED[name]
    with pytest.raises(ScheduleError) as caught:
        attempt(sch)
    for reason in reasons:
        assert reason in str(caught.value)
    replayed = Schedule(Matmul)
    sch.trace.apply_to_schedule(replayed)
    assert replayed.mod == sch.mod.verify()


def test_sampling_is_seeded_and_replays_its_decisions() -> None:
    def tiled(seed: int) -> Schedule:
        sch = Schedule(Matmul, seed=seed)
        i = sch.get_loops("C")[0]
        factors = sch.sample_perfect_tile(i, 3, max_innermost_factor=8)
        product = 1
        for factor in factors:
            product *= sch.get(factor)
        assert product == 16 and sch.get(factors[-1]) <= 8
        sch.split(i, factors)
        width = sch.sample_categorical([2, 4, 8], [0.2, 0.3, 0.5])
        sch.split(sch.get_loops("D")[1], [None, width])
        sch.compute_at("C", sch.sample_compute_location("C"))
        return sch

    first = tiled(5)
    assert tiled(5).mod == first.mod
    assert any(tiled(seed).mod != first.mod for seed in range(6, 16))
    replayed = Schedule(Matmul)
    first.trace.apply_to_schedule(replayed)
    assert replayed.mod == first.mod
    assert len(first.trace.decisions) == 3


def test_index_maps_survive_json() -> None:
    sch = scheduled(Matmul)
    sch.transform_layout("C", ("write", 0), lambda i, j: (j // 8, i, j % 8))
    assert "index_map=lambda i, j: (j // 8, i, j % 8,)" in sch.trace.as_python()[-1]
    again = Schedule(Matmul)
    sch.trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), again)
    assert again.mod == sch.mod


def test_simplified_traces_drop_unused_queries() -> None:
    sch = scheduled(Matmul)
    sch.get_block("D")
    sch.get_loops("D")
    sch.parallel(sch.get_loops("C")[0])
    kinds = [i.kind for i in sch.trace.simplified().insts]
    assert kinds == ["get_sblock", "get_loops", "parallel"]


def test_a_consumed_loop_is_no_longer_valid() -> None:
    sch = scheduled(AddOne)
    (i,) = sch.get_loops("B")
    sch.split(i, [None, 2])
    with pytest.raises(ScheduleError, match="no longer valid"):
        sch.parallel(i)


def test_random_variables_of_another_schedule_are_refused() -> None:
    (i,) = scheduled(AddOne).get_loops("B")
    with pytest.raises(ScheduleError, match="does not belong to this schedule"):
        scheduled(AddOne).parallel(i)


@I.ir_module
class Shifted:
    @T.prim_func
    def main(Y: T.Buffer((4, 8), "float32")):
        B = T.alloc_buffer((5, 9), "float32")
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi + 1, vj] = T.float32(1)
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = B[vi, vj + 1]


def test_blocks_that_meet_across_iterations_keep_their_order() -> None:
    sch = scheduled(Shifted)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="meet in a buffer across iterations"):
        sch.reorder(j, i)
    with pytest.raises(ScheduleError, match="meet in B across iterations"):
        sch.parallel(i)


@I.ir_module
class Overwritten:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(0)
        for i in range(8):
            with T.block("Y"):
                vi = T.axis.spatial(8, i)
                Y[vi] = B[vi]


def test_inlining_past_a_change_of_the_input_is_refused() -> None:
    sch = scheduled(Overwritten)
    for attempt in (
        lambda: sch.compute_inline("B"),
        lambda: sch.compute_at("B", sch.get_loops("Y")[0]),
    ):
        with pytest.raises(ScheduleError, match="overwrites A"):
            attempt()


@I.ir_module
class Nested:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
        for i in range(2):
            with T.block("O"):
                vo = T.axis.spatial(2, i)
                for r in range(4):
                    with T.block("Y"):
                        vr = T.axis.spatial(4, r)
                        Y[vo * 4 + vr] = A[vo * 4 + vr]


def test_a_copy_inside_a_block_only_takes_its_instances_region() -> None:
    sch = scheduled(Nested)
    sch.cache_write("Y", 0, "local")
    text = sch.mod.script()
    assert "for ax0 in range(4):" in text
    assert "v0 = T.axis.spatial(8, vo * 4 + ax0)" in text


TVM_METHODS = """
add_unit_loop annotate annotate_buffer_access bind blockize cache_index cache_inplace cache_read
cache_write can_decompose_padding compute_at compute_inline copy decompose_padding
decompose_reduction enter_postproc fork_seed func_working_on fuse fuse_reduction_epilogue get
get_child_blocks get_consumers get_loops get_output_blocks get_producers get_sblock get_sref
loop_partition merge mod pad_einsum parallel read_at reindex reindex_cache_read
reindex_cache_write remove_rv reorder reorder_block_iter_var reverse_compute_at
reverse_compute_inline rfactor rolling_buffer sample_categorical sample_compute_location
sample_partitioned_tile sample_perfect_tile seed set_scope show split state storage_align tensorize
trace transform_block_layout transform_layout unannotate unroll unsafe_hide_buffer_access
unsafe_set_dtype vectorize work_on write_at
""".split()
OLD_NAMES = ["get_block"]


@pytest.mark.parametrize("name", TVM_METHODS + OLD_NAMES)
def test_every_method_of_tvm_exists(name: str) -> None:
    sch = scheduled(AddOne)
    assert hasattr(sch, name)
    assert (getattr(Schedule, name, None) or getattr(sch, name)).__doc__


def test_a_schedule_may_change_which_of_equal_elements_an_argmax_takes() -> None:
    """As it may change how a sum of floats is rounded; rfactor compares by position, and insists
    on the order where the reducer does."""
    module = PROGRAMS["argmax"].module
    sch = Schedule(module, debug_mask="all")
    _, k = sch.get_loops("M")
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(k1, k0)
    sch = Schedule(module, debug_mask="all")
    _, k = sch.get_loops("M")
    _, k1 = sch.split(k, [None, 4])
    with pytest.raises(ScheduleError, match="keeps the first of equal values"):
        sch.rfactor(k1, 0)


def test_a_loop_around_a_block_given_by_name() -> None:
    sch = Schedule(PROGRAMS["argmax"].module, debug_mask="all")
    sch.add_unit_loop("M")
    assert len(sch.get_loops("M")) == 3


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_what_is_read_backwards_is_not_produced_in_an_iteration(kind: str) -> None:
    @T.prim_func
    def reversed_pairs(A: T.Buffer((12,), "int32"), Y: T.Buffer((12,), "int32")):
        B = T.alloc_buffer((6, 2), "int32")
        for i in range(12):
            with T.block("B"):
                vi = T.axis.spatial(12, i)
                B[vi // 2, vi % 2] = A[vi]
        for i in range(12):
            with T.block("Y"):
                vi = T.axis.spatial(12, i)
                Y[vi] = B[(11 - vi) // 2, (11 - vi) % 2]

    sch = scheduled(IRModule({"main": reversed_pairs}))
    (loop,) = sch.get_loops(sch.get_block("B"))
    if kind == "parallel":
        sch.parallel(loop)
    with pytest.raises(ScheduleError, match="reads more of B than an iteration of"):
        sch.reverse_compute_at(sch.get_block("Y"), loop)
