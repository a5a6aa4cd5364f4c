"""Recurrences over the first axis: `scan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import current_tag
from relax_mlir.te.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from relax_mlir.tir.expr import IntImm, PrimExpr, ProducerLoad, post_order, structural_key

__all__ = ["ScanOp", "scan"]


class ScanOp(Operation):
    """States over time: `init` gives the first of them, `update` each of the others from those
    before, which it reads from `state_placeholder`."""

    def __init__(
        self,
        name: str,
        init: Sequence[Tensor],
        update: Sequence[Tensor],
        state_placeholder: Sequence[Tensor],
        inputs: Sequence[Tensor],
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, tag, attrs)
        self.init, self.update = list(init), list(update)
        self.state_placeholder = list(state_placeholder)
        self.inputs = list(inputs)
        self.num_outputs = len(self.update)
        self.steps = self._steps()
        self.behind = self._behind()

    def output(self, index: int) -> Tensor:
        update = self.update[index]
        return Tensor(update.shape, update.dtype, self, index)

    @property
    def first(self) -> PrimExpr:
        """How many states the init gives."""
        return self.init[0].shape[0]

    @property
    def length(self) -> PrimExpr:
        """How many states there are."""
        return self.update[0].shape[0]

    @property
    def input_tensors(self) -> list[Tensor]:
        made: set[Operation] = set(self.steps)
        states = set(self.state_placeholder)
        read = [t for op in self.steps for t in op.input_tensors]
        outside = [t for t in read if t not in states and t.op not in made]
        return list(dict.fromkeys([*self.init, *self.inputs, *outside]))

    def _steps(self) -> list[ComputeOp]:
        """The operations that are run for each state, in order: what depends on states, and the
        updates."""
        order: dict[Operation, None] = {}
        states = {t.op for t in self.state_placeholder}

        def visit(op: Operation) -> bool:
            depends = [visit(t.op) for t in op.input_tensors]
            if op in states or op in order:
                return True
            if any(depends):
                order[op] = None
            return any(depends)

        for tensor in self.update:
            visit(tensor.op)
            order.setdefault(tensor.op)
        found: list[ComputeOp] = []
        for op in order:
            if not isinstance(op, ComputeOp) or not op.axis:
                raise Error(f"scan {self.name}: {op.name} is computed from the state, and is no "
                            "te.compute")  # fmt: skip
            length = op.output(0).shape[0]
            if structural_key(length) != structural_key(self.length):
                raise Error(f"scan {self.name}: {op.name} is computed from the state; the first "
                            f"axis of {op.name} has {length} values, not {self.length}",
                            hint="give it the scan's axis first")  # fmt: skip
            found.append(op)
        return found

    def _behind(self) -> set[Operation]:
        """The steps that copy states as they are, at the same index of the first axis (a schedule's
        caches): they run one state behind the others, on the last one that there is.

        Raises Error when the scan begins from several states: of those only one would be copied.
        """
        found: set[Operation] = set()
        states = set(self.state_placeholder)
        for op in self.steps:
            reads = [n for body in op.body for n in post_order(body) if isinstance(n, ProducerLoad)]
            if any(
                read.indices[0] is op.axis[0].var
                and (read.producer in states or read.producer.op in found)
                for read in reads
                if read.indices
            ):
                found.add(op)
        updates = {tensor.op for tensor in self.update}
        of_one = isinstance(self.first, IntImm) and self.first.value == 1
        if found & updates or (found and not of_one):
            names = ", ".join(op.name for op in found)
            raise Error(
                f"scan {self.name}: {names} reads the state that is being computed; the scan "
                f"begins from {self.first} states",
                hint="states are read at earlier indices; a copy of them needs a scan that begins "
                "from one",
            )
        return found


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors of states over the first axis, each computed from those before.

    init: the first state or states, of shape (steps, ...).  update: all states, of shape
    (length, ...), computed from `state_placeholder`, placeholders of that shape, at earlier
    indices of the first axis.  One tensor each, or lists for several states.  Running sums:

        state = te.placeholder((m, n))
        first = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        sums = te.scan(first, update, state, inputs=[X])

    Raises Error when shapes or dtypes do not fit.
    """
    firsts, updates, states = _as_list(init), _as_list(update), _as_list(state_placeholder)
    if not len(firsts) == len(updates) == len(states) or not firsts:
        raise Error(f"scan {name}: {len(firsts)} first states, {len(updates)} updates and "
                    f"{len(states)} placeholders; each state has one of each")  # fmt: skip
    for first, new, state in zip(firsts, updates, states, strict=True):
        _check(name, first, new, state)
    op = ScanOp(name, firsts, updates, states, _as_list(inputs), tag or current_tag(), attrs)
    outputs = [op.output(i) for i in range(op.num_outputs)]
    return outputs if len(outputs) > 1 else outputs[0]


def _check(name: str, first: Tensor, new: Tensor, state: Tensor) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise Error(f"scan {name}: {state.name} is no placeholder")
    shapes = [[structural_key(s) for s in t.shape] for t in (first, new, state)]
    if not shapes[0] or shapes[1] != shapes[2] or shapes[0][1:] != shapes[1][1:]:
        raise Error(f"scan {name}: first states {first}, states {new} and placeholder {state} "
                    "differ in more than the length of the first axis")  # fmt: skip
    if len({first.dtype, new.dtype, state.dtype}) != 1:
        raise Error(f"scan {name}: first states of {first.dtype}, states of {new.dtype}, "
                    f"placeholder of {state.dtype}")  # fmt: skip


def _as_list(value: Any) -> list[Tensor]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
