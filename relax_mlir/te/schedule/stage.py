"""`Stage`: how one operation is computed, as its user asks for it; nothing happens yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.relations import (
    Fuse,
    Reorder,
    Singleton,
    Split,
    Step,
    made_axis,
    position,
)
from relax_mlir.te.tensor import ComputeOp, Operation, Tensor
from relax_mlir.tir.expr import IntImm, IterVar, PrimExpr, StringImm, Var, as_expr, post_order

if TYPE_CHECKING:
    from relax_mlir.te.schedule.group import Group
    from relax_mlir.te.schedule.tensor_intrin import TensorIntrin

__all__ = ["LoopAttributes", "Stage"]

ROOT, INLINE, AT = 1, 2, 4
"""Where a stage is computed: TVM's numbers for on its own, where it is read, in a loop."""


@dataclass
class LoopAttributes:
    """How a loop runs: its kind (a type of `IterVar`), its thread, its pragmas, what it prefetches,
    its intrinsic."""

    iter_type: int = IterVar.DataPar
    bind_thread: IterVar | None = None
    pragmas: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    prefetches: list[tuple[Tensor, Any]] = field(default_factory=list[tuple[Tensor, Any]])
    tensor_intrin: TensorIntrin | None = None

    @property
    def pragma_keys(self) -> list[PrimExpr]:
        """The types of the pragmas, as TVM lists them."""
        return [StringImm(name) for name, _ in self.pragmas]

    @property
    def pragma_values(self) -> list[PrimExpr | None]:
        """Their values."""
        return [None if value is None else as_expr(value) for _, value in self.pragmas]


class Stage:
    """How an operation is computed: its loops, how they run, and where they are.

    `op` is the operation as rewritten so far (by cache_write, cache_read and rfactor),
    `origin_op` the one of the tensor expression.  Loops are named by their IterVars: first the
    operation's axes, then what split and fuse give.
    """

    def __init__(self, op: Operation, is_output: bool = False):
        self.origin_op = op
        self.is_output = is_output
        self.scope = ""
        self.group: Group | None = None
        self.store_predicate: PrimExpr | None = None
        self.threads: list[IterVar] = []
        self.is_double_buffer = self.is_rolling_buffer = False
        self.alignments: list[tuple[IterVar, int, int]] = []
        self.attach_type = ROOT
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None
        self.reset(op)

    def reset(self, op: Operation) -> None:
        """Compute another operation, with loops that nothing has changed."""
        self.op = op
        self.steps: list[Step] = []
        self.attributes: dict[int, tuple[IterVar, LoopAttributes]] = {}
        self.all_iter_vars = axes_of(op)
        self.leaf_iter_vars = axes_of(op)

    def __repr__(self) -> str:
        return f"stage({self.op.name})"

    @property
    def relations(self) -> list[Step]:
        """The splits and fusions, in order."""
        return [step for step in self.steps if not isinstance(step, Reorder)]

    @property
    def iter_var_attrs(self) -> dict[IterVar, LoopAttributes]:
        """How loops run, of those for which the schedule says so."""
        return dict(self.attributes.values())

    def of_loop(self, loop: IterVar) -> LoopAttributes:
        """How a loop runs, to be changed.  Raises ScheduleError if it is not one of the stage."""
        position(self.leaf_iter_vars, loop, self.op.name)
        return self.attributes.setdefault(id(loop), (loop, LoopAttributes()))[1]

    # -- loops ------------------------------------------------------------------------------

    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None
    ) -> tuple[IterVar, IterVar]:
        """Split a loop in two: the inner one has `factor` iterations, or the outer one `nparts`.

        Iterations beyond the loop's end are left out by a condition.  Returns (outer, inner).
        """
        if (factor is None) == (nparts is None):
            raise ScheduleError("split: either the factor or nparts, the number of parts, is given")
        at = position(self.leaf_iter_vars, parent, self.op.name)
        outer = made_axis(f"{parent.var.name}_outer", parent)
        inner = made_axis(f"{parent.var.name}_inner", parent)
        sizes = [None if size is None else _positive("split", size) for size in (factor, nparts)]
        self.steps.append(Split(parent, outer, inner, *sizes))
        self.leaf_iter_vars[at : at + 1] = [outer, inner]
        self.all_iter_vars += [outer, inner]
        return outer, inner

    def fuse(self, *args: Any) -> IterVar:
        """One loop for loops that follow each other, given outermost first.

        Without any, for a stage that computes one element, a loop of one iteration around it.
        """
        loops: list[IterVar] = []
        for given in args:
            loops += list(given) if isinstance(given, (list, tuple)) else [given]
        if not loops:
            return self._singleton()
        fused = loops[0]
        for loop in loops[1:]:
            fused = self._fuse_two(fused, loop)
        position(self.leaf_iter_vars, fused, self.op.name)
        return fused

    def _singleton(self) -> IterVar:
        if self.op.axis:
            raise ScheduleError(f"fuse: no loops given, and stage {self.op.name} has some")
        made = made_axis("singleton", IterVar(None, "singleton", IterVar.DataPar))
        self.steps.append(Singleton(made))
        self.leaf_iter_vars.insert(0, made)
        self.all_iter_vars.append(made)
        return made

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        first, second = (position(self.leaf_iter_vars, a, self.op.name) for a in (outer, inner))
        if second == first - 1:
            outer, inner, first = inner, outer, second
        elif second != first + 1:
            raise ScheduleError(
                f"fuse: {outer.var.name} and {inner.var.name} do not follow each other",
                hint="reorder puts them next to each other",
            )
        fused = made_axis(f"{outer.var.name}_{inner.var.name}_fused", outer, inner)
        self.steps.append(Fuse(outer, inner, fused))
        self.leaf_iter_vars[first : first + 2] = [fused]
        self.all_iter_vars.append(fused)
        return fused

    def reorder(self, *args: IterVar) -> None:
        """Put loops into the given order, outermost first, in the places they have together."""
        places = [position(self.leaf_iter_vars, loop, self.op.name) for loop in args]
        if len(set(places)) != len(places):
            raise ScheduleError("reorder: a loop is given twice")
        for place, loop in zip(sorted(places), args, strict=True):
            self.leaf_iter_vars[place] = loop
        self.steps.append(Reorder(tuple(args)))

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and put the outer ones first: (x_outer, y_outer, x_inner, y_inner)."""
        x_outer, x_inner = self.split(x_parent, x_factor)
        y_outer, y_inner = self.split(y_parent, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    # -- how loops run ----------------------------------------------------------------------

    def vectorize(self, var: IterVar) -> None:
        """Run a loop's iterations as vector lanes."""
        self._set_kind(var, IterVar.Vectorized)

    def parallel(self, var: IterVar) -> None:
        """Run a loop's iterations on the cores."""
        self._set_kind(var, IterVar.Parallelized)

    def unroll(self, var: IterVar) -> None:
        """Write a loop's iterations out."""
        self._set_kind(var, IterVar.Unrolled)

    def _set_kind(self, loop: IterVar, kind: int) -> None:
        how = self.of_loop(loop)
        if loop.iter_type == IterVar.CommReduce and kind != IterVar.Unrolled:
            raise ScheduleError(
                f"{loop.var.name} is a reduction loop of {self.op.name}, whose iterations depend "
                "on each other",
                hint="s.rfactor gives each of them a partial result",
            )
        how.iter_type = kind

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Run a loop's iterations on the blocks or threads of a GPU: `te.thread_axis(...)`."""
        if not isinstance(thread_ivar, IterVar) or not thread_ivar.thread_tag:
            raise ScheduleError(f"bind: te.thread_axis(...) expected, given {thread_ivar!r}")
        self.of_loop(ivar).bind_thread = thread_ivar

    def env_threads(self, threads: IterVar | Sequence[IterVar]) -> None:
        """The threads that the operations of a scan are launched on.

        They say how a scan runs in one kernel.  Here the operations that are bound to threads are
        kernels of their own, launched for each state, which takes no further threads.
        """
        self.threads = [threads] if isinstance(threads, IterVar) else list(threads)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotate a loop for passes and code generators, as `pragma_<type>` of the value (1
        without one).  What no pass knows stays a note: "import_llvm" links nothing."""
        value = pragma_value.value if isinstance(pragma_value, StringImm | IntImm) else pragma_value
        self.of_loop(var).pragmas.append((pragma_type, value))

    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """Say that a tensor is read `offset` iterations of a loop later.  A hint: hardware
        prefetches what is read in order."""
        self.of_loop(var).prefetches.append((tensor, offset))

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Compute a loop and what is in it by an intrinsic (`te.decl_tensor_intrin`)."""
        how = self.of_loop(var)
        how.iter_type, how.tensor_intrin = IterVar.Tensorized, tensor_intrin

    # -- where it is computed ---------------------------------------------------------------

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute, in each iteration of a loop of another stage, what that iteration needs."""
        if parent is self:
            raise ScheduleError(f"compute_at: stage {self.op.name} cannot be computed in itself")
        position(parent.leaf_iter_vars, scope, parent.op.name)
        if self.is_output:
            raise ScheduleError(f"compute_at: {self.op.name} is an output of the schedule")
        self.attach_type, self.attach_stage, self.attach_ivar = AT, parent, scope

    def compute_inline(self) -> None:
        """Compute elements where they are read, and nowhere else."""
        if not isinstance(self.op, ComputeOp) or self.op.reduce_axis:
            raise ScheduleError(f"compute_inline: {self.op.name} is no plain te.compute")
        if self.is_output:
            raise ScheduleError(f"compute_inline: {self.op.name} is an output of the schedule")
        self.attach_type, self.attach_stage, self.attach_ivar = INLINE, None, None

    def compute_root(self) -> None:
        """Compute everything before what reads it."""
        self.attach_type, self.attach_stage, self.attach_ivar = ROOT, None, None

    def remaining(self, loop: IterVar) -> IterVar:
        """The loop that stands for one which was split or fused: the innermost made of it."""
        for step in self.steps:
            if isinstance(step, Split) and step.parent is loop:
                loop = step.inner
            elif isinstance(step, Fuse) and (step.outer is loop or step.inner is loop):
                loop = step.fused
        return loop

    # -- how it is stored -------------------------------------------------------------------

    def set_scope(self, scope: str) -> None:
        """Set the storage scope: "global", "shared", "local", ..."""
        self.scope = scope

    def set_store_predicate(self, predicate: Any) -> None:
        """Let only some of the threads that store the same element do so.

        The condition is on threads (`tx.var.equal(0)`); as all of them store the same, they all
        may, and do.  Raises ScheduleError for a condition on anything else.
        """
        condition = as_expr(predicate)
        own = {axis.var for axis in self.all_iter_vars}
        if any(isinstance(node, Var) and node in own for node in post_order(condition)):
            raise ScheduleError(
                f"set_store_predicate: {condition} is on loops of {self.op.name}, not on threads",
                hint="te.if_then_else in the expression leaves elements out",
            )
        self.store_predicate = condition

    def storage_align(self, axis: IterVar, factor: Any, offset: Any) -> None:
        """Ask that the stride of an axis of the tensor be `offset` modulo `factor`."""
        self.alignments.append((axis, _positive("storage_align", factor), int(offset)))

    def double_buffer(self) -> None:
        """Fill one buffer while the other is read; for a stage that compute_at put into a loop."""
        self.is_double_buffer = True

    def rolling_buffer(self) -> None:
        """Compute in each iteration only what those before did not."""
        self.is_rolling_buffer = True

    def transform_layout(self, mapping_function: Callable[..., Any]) -> None:
        """Refused: a te tensor keeps its layout here.  Raises ScheduleError."""
        raise ScheduleError(
            f"transform_layout: {self.op.name} keeps its layout in a te schedule",
            hint="tvm.tir.Schedule(te.create_prim_func(args)) has transform_layout",
        )


def axes_of(op: Operation) -> list[IterVar]:
    """The axes of an operation, those it reduces over last."""
    return [*op.axis, *op.reduce_axis]


def _positive(what: str, value: Any) -> int:
    """A size as an int.  Raises ScheduleError unless it is a constant above 0."""
    known = as_expr(value)
    if not isinstance(known, IntImm) or known.value <= 0:
        raise ScheduleError(f"{what}: a constant size above 0 is expected, given {value}")
    return known.value
