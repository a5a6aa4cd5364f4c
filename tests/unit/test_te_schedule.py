"""te.create_schedule: the loops that a schedule gives, and what stages say of themselves."""

from __future__ import annotations

import relax_mlir as tvm
from relax_mlir import te
from relax_mlir.te.schedule import Fuse, Split
from tests.exec.te_schedule_programs import chain, product

BLOCKED = """\
        for i_0 in T.parallel(4):
            for j_0 in range(2):
                for ax2_0, ax0, ax2_1 in T.grid(4, 4, 4):
                    for ax1 in T.vectorized(8):
                        with T.block("C.local"):
                for i_1, j_1 in T.grid(4, 8):
                    with T.block("C"):"""


def loops(s: te.Schedule, args: list[te.Tensor]) -> str:
    """The loops and blocks of the lowered schedule, without what blocks do."""
    lines = tvm.lower(s, args, simple_mode=True).script().splitlines()
    kept = [line for line in lines if line.strip().startswith(("for ", "with T.block("))]
    return "\n".join(kept)


def test_a_blocked_product_as_tvmscript() -> None:
    a, b, c = product(16, 16, 16)
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "local")
    i_outer, j_outer, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 8)
    s[cache].compute_at(s[c], j_outer)
    i, j = s[cache].op.axis
    k_outer, k_inner = s[cache].split(s[cache].op.reduce_axis[0], factor=4)
    s[cache].reorder(k_outer, i, k_inner, j)
    s[cache].vectorize(j)
    s[c].parallel(i_outer)
    assert loops(s, [a, b, c]) == BLOCKED


def test_a_function_has_the_name_it_is_given() -> None:
    a, _, c = chain(4)
    s = te.create_schedule(c.op)
    assert [v.name_hint for v in tvm.lower(s, [a, c], name="twice").get_global_vars()] == ["twice"]
    assert "main" in tvm.lower(s, [a, c])


def test_what_stages_say() -> None:
    a, b, c = chain(4, 6)
    s = te.create_schedule([c.op])
    assert [stage.op.name for stage in s.stages] == ["A", "B", "C"]
    assert s.outputs == [c.op]
    assert s[c].is_output and not s[b].is_output
    i, j = c.op.axis
    outer, inner = s[c].split(i, factor=2)
    fused = s[c].fuse(inner, j)
    split, fuse = s[c].relations
    assert isinstance(split, Split) and split.parent is i and split.factor == 2
    assert isinstance(fuse, Fuse) and fuse.fused is fused
    assert [loop.var.name for loop in s[c].leaf_iter_vars] == ["i0_outer", "i0_inner_i1_fused"]
    s[b].compute_at(s[c], outer)
    assert s[b].attach_ivar is outer and s[b].attach_stage is s[c]
    assert s.normalize()[c] is s[c]
    copied = s.copy()
    copied[c].parallel(outer)
    assert outer not in s[c].iter_var_attrs and copied[b].attach_stage is copied[c]
    assert s[a].op is a.op


def test_operations_that_the_schedule_puts_in() -> None:
    a, _, c = product(8, 8, 16)
    s = te.create_schedule(c.op)
    read = s.cache_read(a, "shared", [c])
    written = s.cache_write(c, "local")
    assert (read.op.name, written.op.name) == ("A.shared", "C.local")
    assert s[written].op.reduce_axis[0] is c.op.reduce_axis[0]
    assert s[c].op is not c.op and not s[c].op.reduce_axis
    _, inner = s[written].split(c.op.reduce_axis[0], factor=4)
    parts = s.rfactor(written, inner)
    assert parts.op.name == "C.local.rf"
    assert [int(size) for size in parts.shape] == [4, 8, 8]
    assert [axis.var.name for axis in s[parts].op.reduce_axis] == ["k_outer"]
    names = [stage.op.name for stage in s.stages]
    assert names.index("A.shared") < names.index("C.local.rf") < names.index("C.local")


def test_storage_follows_the_threads_around() -> None:
    a, b, c = chain(64, 8)
    s = te.create_schedule(c.op)
    block, thread = s[c].split(c.op.axis[0], factor=16)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[b].compute_at(s[c], thread)
    assert 'scope="local"' in tvm.lower(s, [a, c]).script()
    s[b].compute_at(s[c], block)
    assert 'scope="shared"' in tvm.lower(s, [a, c]).script()
    s[b].set_scope("global")
    assert "scope=" not in tvm.lower(s, [a, c]).script()
