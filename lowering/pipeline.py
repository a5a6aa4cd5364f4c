"""Pipelines: our passes and upstream's in one line of text, run by one upstream PassManager.

`builtin.module(relax-legalize-ops,func.func(canonicalize,cse),tir-to-linalg)` is split into its
elements.  Names that `find_pass` knows become our passes, names of `pipelines.py` become their
elements, everything else is handed to upstream's parser as written.  Because all of them run in the
same PassManager, upstream's IR printing, timing and verification cover ours, by name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir import mlir
from relax_mlir.dialects.variadic_text import remove_segments
from relax_mlir.errors import Error, PassError
from relax_mlir.lowering.pass_options import parse_pass
from relax_mlir.lowering.passes import ModuleState, Pass, find_pass, pass_names
from relax_mlir.lowering.pipelines import find_pipeline, pipeline_names
from relax_mlir.mlir import ir, passmanager

Element: TypeAlias = "Pass | str"
"""A pass of ours, or the text of upstream passes (possibly nested: `func.func(cse)`)."""

_ANCHOR = "builtin.module"
_UNKNOWN = re.compile(r"'([^']*)' does not refer to a registered pass")
_ANCHORED = re.compile(r"restricted to '([\w.]+)' on a PassManager")


@dataclass(frozen=True)
class PipelineOptions:
    """How a pipeline runs: what is checked, timed and printed (to stderr) on the way.

    `print_before` and `print_after` name passes; the other printing flags are mlir-opt's
    `--mlir-print-ir-*`.
    """

    verify_each: bool = True
    timing: bool = False
    print_before: tuple[str, ...] = ()
    print_after: tuple[str, ...] = ()
    print_before_all: bool = False
    print_after_all: bool = False
    print_after_change: bool = False
    print_after_failure: bool = False
    print_module_scope: bool = False
    print_generic: bool = False
    print_debug_info: bool = False

    @property
    def prints(self) -> bool:
        return (
            self.print_before_all
            or self.print_after_all
            or self.print_after_change
            or self.print_after_failure
        )


_VERIFIES_EACH: ContextVar[bool] = ContextVar("whether each pass is verified", default=True)


@contextmanager
def verified_by_stage() -> Iterator[None]:
    """Pipelines run in this scope verify the module where `verify_stage` is called, not after each
    pass: a sixth of the time of compiling a network."""
    token = _VERIFIES_EACH.set(False)
    try:
        yield
    finally:
        _VERIFIES_EACH.reset(token)


def verify_stage(state: ModuleState) -> None:
    """Verify a module that a stage of passes made, if they were not verified one by one.

    Raises PassError for one that is not valid.
    """
    if _VERIFIES_EACH.get():
        return
    with mlir.scope():
        try:
            state.module.operation.verify()
        except ir.MLIRError as error:
            raise PassError(f"passes left a module that is not valid: {error}") from error


@dataclass(frozen=True)
class Pipeline:
    """A sequence of passes.  `str(pipeline)` parses back to an equal pipeline."""

    elements: tuple[Element, ...] = field(default=())

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """The pipeline of a text, with or without the outer `builtin.module(...)`.

        Raises PassError for text that is no pipeline, unknown options, and a pass of ours that is
        nested inside another anchor (they all run on the module).
        """
        parts = split_top_level(text)
        if len(parts) == 1:
            anchor, _, inner = _split_element(parts[0])
            if anchor == _ANCHOR and inner is not None:
                text = inner
        return cls(tuple(_elements(text)))

    @classmethod
    def of(cls, *parts: Pipeline | Element | Iterable[Pipeline | Element]) -> Pipeline:
        """A pipeline put together from passes, texts and other pipelines."""
        elements: list[Element] = []
        for part in parts:
            if isinstance(part, Pipeline):
                elements.extend(part.elements)
            elif isinstance(part, str):
                elements.extend(cls.parse(part).elements)
            elif isinstance(part, Pass):
                elements.append(part)
            else:
                elements.extend(cls.of(*part).elements)
        return cls(tuple(elements))

    def __str__(self) -> str:
        return f"{_ANCHOR}({','.join(str(element) for element in self.elements)})"

    def check(self) -> Pipeline:
        """Build the pass manager without running it: raises PassError for what upstream refuses."""
        with mlir.scope():
            manager = passmanager.PassManager(_ANCHOR)
            for element in self.elements:
                if isinstance(element, str):
                    _add_upstream(manager, element)
        return self

    def run(self, state: ModuleState, options: PipelineOptions | None = None) -> None:
        """Run every pass on the module of `state`, in place.

        An error of ours raised in a pass comes through with `pass_name` set; any other failure
        becomes a PassError that names the pass.  Both carry `reproducer`: the module just before
        the pass and the command that repeats the failure, as text that `relax-opt
        --run-reproducer` takes.
        """
        with mlir.scope():
            before = state.clone()
            try:
                _run(self.elements, state, options or _default_options())
            except Error as error:
                explained = _explain(error, before, self.elements)
                raise explained from explained.__cause__ or error.__cause__


def run(
    state: ModuleState,
    pipeline: Pipeline | Element | Iterable[Pipeline | Element],
    options: PipelineOptions | None = None,
) -> None:
    """Run a pipeline given as text, passes, or a mixture; see `Pipeline.run`."""
    Pipeline.of(pipeline).run(state, options)


# -- parsing ----------------------------------------------------------------------------------


def _elements(text: str) -> Iterator[Element]:
    for part in split_top_level(text):
        name, options, nested = _split_element(part)
        if nested is not None:
            _refuse_nested(name, nested)
            yield part
        elif find_pass(name) is not None:
            yield parse_pass(name, options)
        elif (named := find_pipeline(name)) is not None:
            yield from _elements(named)
        else:
            yield part


def split_top_level(text: str) -> list[str]:
    """Split at the commas that are outside all brackets and quotes."""
    parts: list[str] = []
    depth, start, quote = 0, 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "({":
            depth += 1
        elif char in ")}":
            depth -= 1
            if depth < 0:
                raise PassError(f"pipeline '{text}': unexpected '{char}' at column {i + 1}")
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    if depth or quote:
        raise PassError(f"pipeline '{text}': a bracket or quote is not closed")
    parts.append(text[start:].strip())
    if parts == [""]:
        return []
    if "" in parts:
        raise PassError(f"pipeline '{text}': an element is missing between commas")
    return parts


def _split_element(part: str) -> tuple[str, str, str | None]:
    """`name{options}` or `anchor(nested)` as (name, options, nested or None)."""
    at = next((i for i, char in enumerate(part) if char in "({"), len(part))
    name, rest = part[:at].strip(), part[at:]
    if not name or any(char.isspace() for char in name):
        raise PassError(f"pipeline element '{part}': expected a pass name")
    if not rest:
        return name, "", None
    if rest[0] == "(" and rest[-1] == ")":
        return name, "", rest[1:-1]
    if rest[0] == "{" and rest[-1] == "}":
        return name, rest[1:-1], None
    raise PassError(f"pipeline element '{part}': unexpected text after '{name}'")


def _refuse_nested(anchor: str, nested: str) -> None:
    for part in split_top_level(nested):
        name, _, inner = _split_element(part)
        if inner is not None:
            _refuse_nested(name, inner)
        elif find_pass(name) is not None:
            raise PassError(
                f"pass '{name}' runs on the module, it cannot be nested in '{anchor}(...)'",
                hint=f"write it beside '{anchor}(...)'",
            )


# -- running ----------------------------------------------------------------------------------


def _default_options() -> PipelineOptions:
    return PipelineOptions(verify_each=_VERIFIES_EACH.get())


def _run(elements: Sequence[Element], state: ModuleState, options: PipelineOptions) -> None:
    manager = passmanager.PassManager(_ANCHOR)
    manager.enable_verifier(options.verify_each)
    failures: list[tuple[str, Exception]] = []
    for element in _flatten(elements, options):
        if options.print_before and _name(element) in options.print_before:
            _add_printer(manager, f"Before {_name(element)}", options)
        if isinstance(element, Pass):
            _add_ours(manager, element, state, failures)
        else:
            _add_upstream(manager, element)
        if options.print_after and _name(element) in options.print_after:
            _add_printer(manager, f"After {_name(element)}", options)
    _enable_printing(manager, options)
    if options.timing:
        manager.enable_timing()
    try:
        manager.run(state.module.operation)
    except ir.MLIRError as error:
        if failures:
            failure = _as_error(*failures[0])
            raise failure from failure.__cause__
        raise PassError(str(error)) from error


def _add_ours(
    manager: passmanager.PassManager,
    element: Pass,
    state: ModuleState,
    failures: list[tuple[str, Exception]],
) -> None:
    def callback(op: ir.Operation, handle: Any) -> None:
        try:
            element.run(state)
        except Exception as error:  # carried over MLIR's frames, which know no exceptions
            failures.append((element.name, error))
            handle.signal_pass_failure()

    manager.add(
        callback,
        name=type(element).__name__,
        argument=element.name,
        description=element.summary,
    )


def _add_upstream(manager: passmanager.PassManager, text: str) -> None:
    try:
        manager.add(text)
    except ValueError as error:
        anchor = _ANCHORED.search(str(error))
        if anchor is not None and not _is_nested(text):
            # mlir-opt nests a pass given as a flag where it belongs.
            manager.add(f"{anchor[1]}({text})")
        elif (unknown := _UNKNOWN.search(str(error))) is not None:
            name = unknown[1]
            raise PassError(f"there is no pass '{name}'", hint=_similar(name)) from None
        else:
            raise PassError(f"pipeline element '{text}': {str(error).strip()}") from None


def _similar(name: str) -> str | None:
    from difflib import get_close_matches

    matches = get_close_matches(name, [*pass_names(), *pipeline_names()], n=3)
    return f"did you mean {' or '.join(matches)}?" if matches else None


def _enable_printing(manager: passmanager.PassManager, options: PipelineOptions) -> None:
    if not options.prints:
        return
    manager.enable_ir_printing(
        print_before_all=options.print_before_all,
        print_after_all=options.print_after_all,
        print_module_scope=options.print_module_scope,
        print_after_change=options.print_after_change,
        print_after_failure=options.print_after_failure,
        enable_debug_info=options.print_debug_info,
        print_generic_op_form=options.print_generic,
    )


def _add_printer(manager: passmanager.PassManager, title: str, options: PipelineOptions) -> None:
    def callback(op: ir.Operation, handle: Any) -> None:
        text = remove_segments(
            op.get_asm(
                use_name_loc_as_prefix=True,
                print_generic_op_form=options.print_generic,
                enable_debug_info=options.print_debug_info,
            )
        )
        sys.stderr.write(f"// -----// IR Dump {title} //----- //\n{text}\n\n")

    manager.add(callback, name="PrintIR", argument="print-ir")


def _flatten(elements: Sequence[Element], options: PipelineOptions) -> Iterator[Element]:
    """The elements; nested ones are taken apart when a pass inside is to be printed around."""
    wanted = {*options.print_before, *options.print_after}
    for element in elements:
        if wanted and isinstance(element, str) and _is_nested(element):
            anchor, _, nested = _split_element(element)
            for part in split_top_level(nested or ""):
                yield f"{anchor}({part})"
        else:
            yield element


def _is_nested(text: str) -> bool:
    return _split_element(text)[2] is not None


def _name(element: Element) -> str:
    if isinstance(element, Pass):
        return element.name
    name, _, nested = _split_element(element)
    return _name(nested) if nested and len(split_top_level(nested)) == 1 else name


# -- failures ---------------------------------------------------------------------------------


def _as_error(name: str, error: Exception) -> Error:
    """An error of ours that a pass raised, with its name; anything else as a PassError of it."""
    if isinstance(error, Error):
        error.pass_name = name
        return error
    detail = str(error) if isinstance(error, ir.MLIRError) else f"{type(error).__name__}: {error}"
    wrapped = PassError(f"pass '{name}' failed: {detail}")
    wrapped.__cause__ = error
    return wrapped


def _explain(error: Error, before: ModuleState, elements: Sequence[Element]) -> Error:
    """Find the failing pass by running one at a time, and attach name and reproducer."""
    failing, text, found = _bisect(before, elements)
    if failing is None:
        return error
    if found is not None and type(found) is type(error):
        found.__cause__ = found.__cause__ or error.__cause__
        error = found
    name = _name(failing)
    if isinstance(error, PassError) and f"'{name}'" not in error.message:
        cause = error.__cause__
        message = f"pass '{name}' failed: {error.message}"
        error = PassError(message, span=error.span, hint=error.hint)
        error.__cause__ = cause
    error.pass_name = name
    error.reproducer = reproducer(text, Pipeline((failing,)))
    return error


def _bisect(
    state: ModuleState, elements: Sequence[Element]
) -> tuple[Element | None, str, Error | None]:
    def ignore(_: object) -> bool:
        return True

    handler = mlir.context().attach_diagnostic_handler(ignore)
    try:
        for element in elements:
            text = _module_text(state)
            try:
                _run([element], state, PipelineOptions())
            except Error as error:
                return element, text, error
    finally:
        handler.detach()
    return None, "", None


def _module_text(state: ModuleState) -> str:
    return remove_segments(state.module.operation.get_asm(use_name_loc_as_prefix=True))


def reproducer(module_text: str, pipeline: Pipeline) -> str:
    """A file that repeats a run: `relax-opt --run-reproducer FILE`."""
    return f"// configuration: --pass-pipeline='{pipeline}'\n{module_text}"
