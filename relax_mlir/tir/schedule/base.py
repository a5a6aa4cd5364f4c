"""The machinery of a schedule: random variables, applying primitives, the trace, the seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import ScheduleError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.error import Refusal, to_error
from relax_mlir.tir.schedule.random_variable import (
    Arithmetic,
    BlockRV,
    ExprRV,
    LoopRV,
    RandomVariable,
)
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.schedule.trace import Instruction, Trace

_CHECKED = {"all", "verify_sref_tree", "verify_cached_flags"}


class ScheduleBase:
    """What every primitive of `Schedule` is built on."""

    def __init__(
        self,
        mod: IRModule | BaseFunc,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ):
        """A schedule of a copy of `mod`, an IRModule or a PrimFunc (then its only function).

        `seed` is the random state of sampling; `debug_mask="all"` verifies the module after every
        primitive; `error_render_level` "detail" shows the loop nest in errors, "fast" does not.
        """
        if isinstance(mod, BaseFunc):
            mod = IRModule({"main": mod})
        if not isinstance(mod, IRModule):
            raise TypeError(f"Schedule takes an IRModule or a PrimFunc, not {type(mod).__name__}")
        if error_render_level not in ("detail", "fast", "none"):
            raise ValueError(f'error_render_level is "detail", "fast" or "none", not '
                             f"{error_render_level!r}")  # fmt: skip
        self._module = mod.clone()
        self._snapshot: IRModule | None = None
        self.state = ScheduleState(self._module.state.module)
        self._trace = Trace()
        self._checks = debug_mask in _CHECKED or (isinstance(debug_mask, int) and debug_mask != 0)
        self._detail = error_render_level == "detail"
        self._options: dict[str, Any] = {
            "debug_mask": debug_mask,
            "error_render_level": error_render_level,
            "enable_check": enable_check,
        }
        self._func_working_on: str | None = None
        self.seed(seed if seed is not None else -1)

    # -- what it is now ---------------------------------------------------------------------

    @property
    def mod(self) -> IRModule:
        """The module as scheduled so far, a value: later primitives do not change it."""
        if self._snapshot is None:
            self._snapshot = self._module.clone()
        return self._snapshot

    @property
    def trace(self) -> Trace:
        """The primitives applied so far."""
        return self._trace

    @property
    def func_working_on(self) -> str | None:
        """The function that `get_sblock` looks in when no other is named."""
        return self._func_working_on

    def work_on(self, func_name: str) -> None:
        """Let `get_sblock` look in this function from now on."""
        with mlir.scope():
            self._function(func_name)
        self._func_working_on = func_name

    def copy(self) -> Any:
        """An independent schedule; random variables of this one stand for the same there."""
        with mlir.scope():
            paths = {v: _path(p) if isinstance(p, ir.OpView) else p
                     for v, p in self.state.places.items()}  # fmt: skip
            other = type(self)(self._module, **self._options)
            for variable, path in paths.items():
                found = _follow(other.state.module, path) if isinstance(path, tuple) else path
                other.state.places[variable] = found
        other._trace = Trace(self._trace.insts)
        other._func_working_on = self._func_working_on
        other.seed(self.fork_seed())
        return other

    def seed(self, seed: int) -> None:
        """Set the random state; -1 takes one from the system."""
        self._random = random.Random(None if seed == -1 else seed)

    def fork_seed(self) -> int:
        """A seed for another schedule, drawn from this one's random state."""
        return self._random.randrange(1, 2**31 - 1)

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Print the module and the trace, highlighted where the output allows."""
        self.mod.show(*args, **kwargs)
        self._trace.show(*args[:1])

    def get(self, rand_var: Any) -> Any:
        """What a random variable stands for: an int, or the loop's or block's operation."""
        return self._resolve(rand_var)

    def get_sref(self, rand_var: RandomVariable | ir.OpView) -> ir.OpView:
        """The operation of a loop or block."""
        return rand_var if isinstance(rand_var, ir.OpView) else self._resolve(rand_var)

    def remove_rv(self, rand_var: RandomVariable) -> None:
        """Forget a random variable."""
        self.state.places.pop(rand_var, None)

    # -- applying primitives ----------------------------------------------------------------

    def _function(self, name: str | None) -> ir.OpView:
        functions = self.state.prim_functions()
        chosen = name or self._func_working_on
        if chosen is None:
            if len(functions) == 1:
                return next(iter(functions.values()))
            chosen = "main"
        if chosen not in functions:
            names = ", ".join(sorted(functions)) or "none"
            raise ScheduleError(f"the module has no TensorIR function '{chosen}'; it has {names}")
        return functions[chosen]

    def _resolve(self, value: Any) -> Any:
        """Random variables, also inside lists, as what they stand for."""
        if isinstance(value, Arithmetic):
            return self._evaluate(value)
        if isinstance(value, RandomVariable):
            if value not in self.state.places:
                raise ScheduleError(f"{value!r} does not belong to this schedule")
            place = self.state.places[value]
            if place is None:
                what = value.kind[:-2].lower()
                raise ScheduleError(f"{value!r} is no longer valid: its {what} was consumed")
            return place
        if isinstance(value, (list, tuple)):
            return [self._resolve(v) for v in value]
        return value

    def _evaluate(self, expr: Arithmetic) -> int:
        try:
            return expr.evaluate([self._resolve(operand) for operand in expr.operands])
        except ZeroDivisionError:
            raise ScheduleError(f"{expr!r} divides by zero") from None

    def _wrap(self, value: Any) -> Any:
        """Operations and sampled integers as random variables."""
        if isinstance(value, list):
            return [self._wrap(v) for v in value]
        if value is None:
            return None
        variable: RandomVariable
        if isinstance(value, ForOp):
            variable = LoopRV()
        elif isinstance(value, ir.OpView):
            variable = BlockRV()
        else:
            variable = ExprRV()
        self.state.places[variable] = value
        return variable

    def _apply(
        self,
        name: str,
        primitive: Callable[..., Any],
        positional: list[Any],
        keywords: Mapping[str, Any],
        decide: bool = False,
    ) -> Any:
        """Resolve the arguments, run the primitive, record it, wrap what it made.

        With `decide` the primitive is one of sampling: it is also given the random state, and its
        result is `(results, decision)`.
        """
        with mlir.scope():
            arguments = [self._resolve(a) for a in positional]
            named = {k: self._resolve(v) for k, v in keywords.items()}
            _check_kinds(name, positional, arguments)
            try:
                if decide:
                    result, decision = primitive(self._random, *arguments, **named)
                else:
                    result, decision = primitive(self.state, *arguments, **named), None
            except Refusal as refusal:
                raise to_error(name, refusal, self._detail) from None
            self._snapshot = None
            wrapped = self._wrap(result)
            if self._checks:
                self._verify(name)
        kept = {k: v for k, v in keywords.items() if k != "decision"}
        outputs = list(wrapped) if isinstance(wrapped, list) else [wrapped] if wrapped else []
        self._trace.append(Instruction(name, list(positional), kept, outputs, decision))
        return wrapped

    def _verify(self, name: str) -> None:
        try:
            self.state.module.operation.verify()
        except ir.MLIRError as error:
            raise ScheduleError(f"{name}: left a module that does not verify\n{error}") from None

    def _block(self, block: Any) -> Any:
        """A block given by name as its random variable."""
        return self.get_sblock(block) if isinstance(block, str) else block

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block of that name; the function's own block is "root".

        Raises ScheduleError when there is none, or more than one.
        """
        with mlir.scope():
            function = self._function(func_name)
            blocks = nest.blocks_of(function)
            found = [b for b in blocks if b.sym_name.value == name]
            place: Any = found[0] if found else None
            if name == "root" and not found:
                place = function
            if len(found) > 1:
                raise to_error("get_sblock", Refusal(f'{len(found)} blocks are named "{name}"',
                                                     *found), self._detail)  # fmt: skip
            if place is None:
                names = ", ".join(f'"{b.sym_name.value}"' for b in blocks) or "no blocks"
                raise to_error("get_sblock", Refusal(f'no block is named "{name}"',
                               hint=f"the function has {names}"))  # fmt: skip
            symbol = ir.StringAttr(function.operation.attributes["sym_name"]).value
            variable = self._wrap(place)
        self._trace.append(
            Instruction("get_sblock", [], {"name": name, "func_name": symbol}, [variable])
        )
        return variable


def _check_kinds(name: str, given: list[Any], resolved: list[Any]) -> None:
    """Guard against a loop, block or number where another is wanted: plain mistakes of a call."""
    for value, place in zip(given, resolved, strict=True):
        if isinstance(value, ir.OpView) or not isinstance(value, RandomVariable):
            continue
        if isinstance(value, LoopRV) and not isinstance(place, ForOp):
            raise ScheduleError(f"{name}: {value!r} is not a loop")
        root = isinstance(place, ir.OpView) and place.operation.name == "func.func"
        if isinstance(value, BlockRV) and not (isinstance(place, BlockOp) or root):
            raise ScheduleError(f"{name}: {value!r} is not a block")


def _path(op: ir.OpView) -> tuple[int, ...]:
    """Where an operation is in its module: its position at each level (one region, one block)."""
    steps: list[int] = []
    current: ir.OpView | None = op
    while current is not None:
        above = nest.parent(current)
        if above is None:
            break
        for r, region in enumerate(above.operation.regions):
            for b, block in enumerate(region.blocks):
                for n, child in enumerate(block.operations):
                    if child == current:
                        steps.extend((n, b, r))
        current = above
    return tuple(reversed(steps))


def _follow(module: ir.Module, path: tuple[int, ...]) -> ir.OpView:
    op: ir.OpView = module.operation.opview
    for r, b, n in zip(path[::3], path[1::3], path[2::3], strict=True):
        op = op.operation.regions[r].blocks[b].operations[n]
    return op
