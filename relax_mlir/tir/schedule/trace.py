"""The record of a schedule: its primitives in order, as Python, as JSON, and to be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from relax_mlir.errors import ScheduleError
from relax_mlir.ir.function import above
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.random_variable import (
    Arithmetic,
    BlockRV,
    ExprRV,
    LoopRV,
    RandomVariable,
)

if TYPE_CHECKING:
    from relax_mlir.tir.schedule.schedule import Schedule


@dataclass(eq=False)
class Instruction:
    """One primitive: the Schedule method, what it was given, and what came out.

    `decision` is what a sampling primitive chose; replaying makes the same choice.
    """

    kind: str
    positional: list[Any] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)
    outputs: list[RandomVariable] = field(default_factory=list)
    decision: Any = None

    @property
    def inputs(self) -> list[RandomVariable]:
        return list(_variables([self.positional, list(self.keywords.values())]))

    def with_keywords(self, **changed: Any) -> Instruction:
        """A copy with other arguments."""
        return replace(self, keywords={**self.keywords, **changed})


def _variables(value: Any) -> Iterator[RandomVariable]:
    if isinstance(value, Arithmetic):
        yield from _variables(value.operands)
    elif isinstance(value, RandomVariable):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _variables(item)


DecisionProvider: TypeAlias = (
    "Callable[[Instruction, list[RandomVariable], list[Any], Any], Any]"
)

_RETURNS_LIST = {"get_loops", "get_child_blocks", "get_producers", "get_consumers",
                 "get_output_blocks"}  # fmt: skip


class Trace:
    """The primitives that were applied, in order."""

    def __init__(
        self,
        insts: Sequence[Instruction] = (),
        decisions: Mapping[Instruction, Any] | None = None,
    ):
        """The instructions; with `decisions` sampling decides as they say, and afresh where they
        say nothing."""
        if decisions is None:
            self.insts = list(insts)
            return
        self.insts = [
            i if i.decision is None else replace(i, decision=decisions.get(i)) for i in insts
        ]

    @property
    def decisions(self) -> dict[int, Any]:
        """What sampling chose, by the number of the instruction."""
        return {n: i.decision for n, i in enumerate(self.insts) if i.decision is not None}

    def append(self, instruction: Instruction) -> None:
        self.insts.append(instruction)

    def pop(self) -> Instruction | None:
        return self.insts.pop() if self.insts else None

    def get_decision(self, instruction: Instruction) -> Any:
        return instruction.decision

    def _kept(self, remove_postproc: bool) -> list[Instruction]:
        """The instructions, without those from `enter_postproc` on where that is asked."""
        kinds = [i.kind for i in self.insts]
        ends = remove_postproc and "enter_postproc" in kinds
        return self.insts[: kinds.index("enter_postproc")] if ends else self.insts

    def with_decision(
        self, instruction: Instruction, decision: Any, remove_postproc: bool = False
    ) -> Trace:
        """A copy in which one sampling instruction decides otherwise."""
        kept = self._kept(remove_postproc)
        return Trace([replace(i, decision=decision) if i is instruction else i for i in kept])

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Without the queries whose results nothing uses."""
        kept: list[Instruction] = []
        used: set[RandomVariable] = set()
        for instruction in reversed(self._kept(remove_postproc)):
            pure = instruction.kind.startswith(("get_", "sample_"))
            if pure and not used.intersection(instruction.outputs):
                continue
            used.update(instruction.inputs)
            kept.append(instruction)
        return Trace(kept[::-1])

    # -- text -------------------------------------------------------------------------------

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """One line of Python an instruction, in the words of TVM's traces."""
        names: dict[RandomVariable, str] = {}
        return [_line(instruction, names) for instruction in self._kept(remove_postproc)]

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """A value of lists, strings and numbers that `apply_json_to_schedule` reads."""
        names: dict[RandomVariable, str] = {}
        rows: list[Any] = []
        for i in self._kept(remove_postproc):
            arguments = [_to_json(a, names) for a in i.positional]
            keywords = {k: _to_json(v, names) for k, v in i.keywords.items()}
            outputs = [_name(v, names) for v in i.outputs]
            rows.append([i.kind, arguments, keywords, outputs, i.decision])
        return rows

    def __str__(self) -> str:
        head = "# from relax_mlir import tir\ndef apply_trace(sch: tir.Schedule) -> None:\n"
        body = self.as_python() or ["pass"]
        return head + "\n".join("  " + line for line in body)

    __repr__ = __str__

    def show(self, style: str | None = None) -> None:
        """Print the trace, highlighted where the output allows."""
        above("script.highlight").show(str(self), style)

    # -- replay -----------------------------------------------------------------------------

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: DecisionProvider | None = None,
        values: dict[RandomVariable, RandomVariable] | None = None,
    ) -> None:
        """Run the instructions on another schedule.

        `decision_provider(instruction, inputs, attributes, decision)` decides in the place of
        sampling instructions.  `values` says what random variables from before these instructions
        stand for, and gets those of the instructions.
        """
        values = {} if values is None else values
        for i in self._kept(remove_postproc):
            arguments = [_mapped(a, values) for a in i.positional]
            keywords = {k: _mapped(v, values) for k, v in i.keywords.items()}
            decision = i.decision
            if decision_provider is not None and i.kind.startswith("sample_"):
                attributes = [a for a in keywords.values() if not isinstance(a, RandomVariable)]
                decision = decision_provider(i, i.inputs, attributes, decision)
            if decision is not None:
                keywords["decision"] = decision
            result = getattr(sch, i.kind)(*arguments, **keywords)
            _bind_outputs(i, result, values)

    @staticmethod
    def apply_json_to_schedule(json_obj: Sequence[Any], sch: Schedule) -> None:
        """Run a trace given as `as_json` wrote it."""
        Trace.from_json(json_obj).apply_to_schedule(sch)

    @staticmethod
    def from_json(json_obj: Sequence[Any]) -> Trace:
        variables: dict[str, RandomVariable] = {}
        trace = Trace()
        for kind, positional, keywords, outputs, decision in json_obj:
            arguments = [_from_json(a, variables) for a in positional]
            named = {k: _from_json(v, variables) for k, v in keywords.items()}
            made = [_PREFIXES[name[0]]() for name in outputs]
            variables.update(zip(outputs, made, strict=True))
            trace.append(Instruction(kind, arguments, named, made, decision))
        return trace


_PREFIXES: dict[str, type[RandomVariable]] = {"b": BlockRV, "l": LoopRV, "v": ExprRV}


def _name(variable: RandomVariable, names: dict[RandomVariable, str]) -> str:
    return names.setdefault(variable, f"{variable.prefix}{len(names)}")


def _spell(value: Any, names: dict[RandomVariable, str]) -> str:
    if isinstance(value, Arithmetic):
        left, right = (_spell(operand, names) for operand in value.operands)
        if value.function in ("min", "max"):
            return f"{value.function}({left}, {right})"
        return f"({left} {value.function} {right})"
    if isinstance(value, RandomVariable):
        return _name(value, names)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_spell(v, names) for v in value) + "]"
    if isinstance(value, Mapping):
        items = (f"{_spell(k, names)}: {_spell(v, names)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    return str(value)


def _line(i: Instruction, names: dict[RandomVariable, str]) -> str:
    arguments = [_spell(a, names) for a in i.positional]
    arguments += [f"{k}={_spell(v, names)}" for k, v in i.keywords.items()]
    if i.decision is not None:
        arguments.append(f"decision={_spell(i.decision, names)}")
    call = f"sch.{i.kind}({', '.join(arguments)})"
    if not i.outputs:
        return call
    outputs = ", ".join(_name(v, names) for v in i.outputs)
    # A list of one is unpacked with a comma, as TVM writes it.
    return f"{outputs}{',' if len(i.outputs) == 1 and i.kind in _RETURNS_LIST else ''} = {call}"


def _to_json(value: Any, names: dict[RandomVariable, str]) -> Any:
    if isinstance(value, Arithmetic):
        return {"arithmetic": [value.function, *(_to_json(o, names) for o in value.operands)]}
    if isinstance(value, RandomVariable):
        return {"rv": _name(value, names)}
    if isinstance(value, (list, tuple)):
        return [_to_json(v, names) for v in value]
    if isinstance(value, IndexMap):
        return {"index_map": str(value)}
    if callable(value):
        raise ScheduleError("a trace with a Python function as an argument has no JSON form")
    return value


def _from_json(value: Any, variables: Mapping[str, RandomVariable]) -> Any:
    if isinstance(value, Mapping) and set(value) == {"rv"}:
        return variables[value["rv"]]
    if isinstance(value, Mapping) and set(value) == {"arithmetic"}:
        function, *operands = value["arithmetic"]
        return Arithmetic(function, [_from_json(o, variables) for o in operands])
    if isinstance(value, Mapping) and set(value) == {"index_map"}:
        return IndexMap.parse(value["index_map"])
    if isinstance(value, list):
        return [_from_json(v, variables) for v in value]
    return value


def _mapped(value: Any, values: Mapping[RandomVariable, RandomVariable]) -> Any:
    if isinstance(value, Arithmetic):
        return Arithmetic(value.function, [_mapped(o, values) for o in value.operands])
    if isinstance(value, RandomVariable):
        return values[value]
    if isinstance(value, (list, tuple)):
        return [_mapped(v, values) for v in value]
    return value


def _bind_outputs(
    i: Instruction, result: Any, values: dict[RandomVariable, RandomVariable]
) -> None:
    results = list(_variables(result if isinstance(result, (list, tuple)) else [result]))
    if len(results) != len(i.outputs):
        raise ScheduleError(
            f"replay: {i.kind} made {len(results)} results where the trace has {len(i.outputs)}"
        )
    values.update(zip(i.outputs, results, strict=True))
