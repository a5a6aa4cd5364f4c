"""Blocks and iteration variables, and the normal form in which every loop is one variable's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError, ScheduleError
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import bindings_of, init_of, is_reduction
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.reducers import Reducer


@dataclass(frozen=True)
class IterInfo:
    """An iteration variable of a block and the loop that drives it.

    `kind` is "S" (spatial), "R" (reduction) or "O" (other); `dom` the extent: an int, or a symbolic
    one as text; `var` is the variable's position in its block.
    """

    kind: str
    var: int
    dom: int | str
    loop_rv: LoopRV

    def __str__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'

    __repr__ = __str__


class SBlockInfo:
    """A block and its iteration variables."""

    def __init__(
        self,
        name: str,
        iters: Sequence[IterInfo],
        block_rv: BlockRV,
        reduction_block: bool = False,
    ):
        self.name = name
        self.iters = list(iters)
        self.block_rv = block_rv
        self._reduction_block = reduction_block

    def dom(self) -> list[int | str]:
        """The extents of the variables."""
        return [i.dom for i in self.iters]

    def dom_kind(self) -> str:
        """The kinds of the variables in a word, such as "SSR"."""
        return "".join(i.kind for i in self.iters)

    def is_injective(self) -> bool:
        """True when every variable is spatial."""
        return all(kind == "S" for kind in self.dom_kind())

    def is_reduction(self) -> bool:
        """True for a block with an init whose reduction variables do not choose what it writes."""
        return self._reduction_block

    def is_elementwise(self, sch: Schedule) -> bool:
        """True for a spatial block that reads one buffer where it writes one, `B[i, j] = f(A[i,
        j])`."""
        from relax_mlir.tir.schedule.analysis import reads_of, writes_of

        if not self.is_injective():
            return False
        with mlir.scope():
            block = sch.get(self.block_rv)
            reads, writes = reads_of(block), writes_of(block)
            if len(reads) != 1 or len(writes) != 1:
                return False
            variables = [as_index(v) for v in nest.iter_vars(block)]
            element = [(v, Index({}, 1)) for v in variables]
            return reads[0].region == element and writes[0].region == element

    def get_loops(self) -> list[LoopRV]:
        return [i.loop_rv for i in self.iters]

    def __str__(self) -> str:
        return f'SBlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'

    __repr__ = __str__


BlockInfo = SBlockInfo
"""The name of older TVM versions."""


def normalize_prim_func(sch: Schedule) -> list[SBlockInfo] | None:
    """The blocks of a function in normal form: the n-th loop around each is its n-th variable.

    Blocks bound otherwise get new loops.  None when that is not possible, when blocks share a
    loop, when the function does something outside of blocks, or when a loop is bound to threads
    already.
    """
    root = get_root_block(sch)
    with mlir.scope():
        if not _is_made_of_blocks(sch.get(root)) or not _have_own_loops(sch.get(root)):
            return None
    infos: list[SBlockInfo] = []
    for block in sch.get_child_blocks(root):
        info = get_sblock_info(sch, block)
        with mlir.scope():
            normal = _is_normal(sch.get(block))
        if not normal:
            try:
                sch.transform_block_layout(block, lambda *variables: variables)
            except ScheduleError:
                return None
            info = get_sblock_info(sch, block)
        infos.append(info)
    return infos


def get_sblock_info(sch: Schedule, block: BlockRV) -> SBlockInfo:
    """What a block's variables are, each with the loop at the same place of the nest."""
    loops = sch.get_loops(block)
    with mlir.scope():
        op: BlockOp = sch.get(block)
        rows: list[tuple[str, int | str]] = []
        for kind, (_, extent) in zip(op.kinds, op.domain_pairs, strict=True):
            index = as_index(extent)
            constant = index.as_constant()
            dom = str(index) if constant is None else constant
            rows.append((kind if kind in ("S", "R") else "O", dom))
        reduction = init_of(op) is not None and is_reduction(op)
        name = nest.name_of_block(op)
    iters = [
        IterInfo(kind, number, dom, loop)
        for number, ((kind, dom), loop) in enumerate(zip(rows, loops, strict=False))
    ]
    return SBlockInfo(name, iters, block, reduction)


get_block_info = get_sblock_info


def has_reduction(func: PrimFunc) -> bool:
    """True when a block of the function has a reduction variable: a cheap first question."""
    with mlir.scope():
        function = func.operation.opview
        return any("R" in block.kinds for block in nest.blocks_of(function))


def is_associative(sch: Schedule, info: SBlockInfo) -> bool:
    """True for a reduction whose partial results can be combined."""
    with mlir.scope():
        try:
            Reducer.of(sch.get(info.block_rv))
        except Refusal:
            return False
    return True


def get_root_block(sch: Schedule, func_name: str | None = None) -> BlockRV:
    """The function's own block."""
    return sch.get_sblock("root", func_name)


def get_max_threads_per_block(target: Target) -> int:
    """The most threads of a block.  Raises CompileError for a target that is no GPU."""
    from relax_mlir.dlight.base.utils import max_threads_per_block

    _require_gpu(target)
    return max_threads_per_block(target)


def get_max_shared_memory_per_block(target: Target) -> int:
    """The bytes of shared memory of a block.  Raises CompileError for a target that is no GPU."""
    from relax_mlir.dlight.base.utils import max_shared_memory_per_block

    _require_gpu(target)
    return max_shared_memory_per_block(target)


def _require_gpu(target: Target) -> None:
    if "gpu" not in target.keys:
        raise CompileError(f"expected a GPU target, got '{target.kind}'",
                           hint='such as Target("cuda")')  # fmt: skip


def _is_made_of_blocks(function: ir.OpView) -> bool:
    """True when blocks hold all that a function does, and no loop is bound to threads."""
    for op in nest.descend(function):
        if isinstance(op, ForOp) and nest.thread_axis(op) is not None:
            return False
        name = op.operation.name
        known = name in ("tir.for", "tir.block", "tir.alloc_buffer", "func.return")
        if not known and not nest.is_movable(op) and nest.scope_of(op) == function:
            return False
    return True


def _have_own_loops(function: ir.OpView) -> bool:
    """True when no loop has more than one block below it."""
    tops = [op for op in nest.body_of(function).operations if isinstance(op, ForOp)]
    return all(len(nest.child_blocks(top)) == 1 for top in tops)


def _is_normal(block: BlockOp) -> bool:
    """True when the n-th loop around a block, from zero, is its n-th variable over all it is."""
    loops = nest.loops_around(block)
    if len(loops) != len(block.kinds) or len(block.predicate):
        return False
    for loop, binding, (low, extent) in zip(
        loops, bindings_of(block), block.domain_pairs, strict=True
    ):
        same = as_index(loop.min) == Index() == as_index(low)
        same = same and as_index(loop.extent) == as_index(extent)
        if not same or binding.as_leaf() != nest.loop_var(loop):
            return False
        if loop.kind.value != "serial":
            return False
    return True
