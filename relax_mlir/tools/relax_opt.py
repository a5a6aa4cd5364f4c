"""`relax-opt`: mlir-opt for modules of relax_mlir.

Reads MLIR text or a TVMScript file, runs a pipeline in which our passes and upstream's mix, and
prints MLIR text or TVMScript.  Options are mlir-opt's; exit code 1 means that parsing, a pass or
`--verify-diagnostics` failed.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.text import parse_module, print_operation
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import Pipeline
from relax_mlir.mlir import ir
from relax_mlir.tools import command_line, inputs
from relax_mlir.tools.command_line import SPLIT_MARKER, Options, UsageError
from relax_mlir.tools.diagnostics import (
    Diagnostic,
    Source,
    collected,
    expectations,
    from_exception,
    verify,
)

_CONFIGURATION = re.compile(r"^// configuration: --pass-pipeline='(.*)'", re.MULTILINE)


@dataclass(frozen=True)
class Chunk:
    """A piece of the input that is a module of its own."""

    text: str
    first_line: int = 1
    module: IRModule | None = None


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    try:
        options = command_line.parse(sys.argv[1:] if arguments is None else arguments)
        return _inform(options) if _informs(options) else _transform(options)
    except UsageError as error:
        print(f"relax-opt: {error}\nrelax-opt --help lists the options", file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()
    except Error as error:
        print(f"relax-opt: error: {error}", file=sys.stderr)
    return 1


# -- information ------------------------------------------------------------------------------


def _informs(options: Options) -> bool:
    return options.help or options.version or options.list_passes or options.show_dialects


def _inform(options: Options) -> int:
    if options.help:
        print(command_line.usage())
    if options.version:
        from importlib.metadata import version

        print("relax_mlir on torch-mlir", version("torch-mlir"))
    if options.list_passes:
        _print_passes()
    if options.show_dialects:
        print("Available Dialects:", ",".join(mlir.dialect_names()))
    return 0


def _print_passes() -> None:
    from relax_mlir.lowering.passes import all_passes
    from relax_mlir.lowering.pipelines import find_pipeline, pipeline_names

    passes = all_passes()
    width = max(map(len, [*passes, *pipeline_names()])) + 2
    print("Passes (upstream's are available too):")
    for name, cls in passes.items():
        print(f"  --{name:<{width}}{cls.summary}")
    print("Pipelines:")
    for name in pipeline_names():
        print(f"  --{name:<{width}}{find_pipeline(name)}")


# -- transformation ---------------------------------------------------------------------------


def _transform(options: Options) -> int:
    text = inputs.read_text(options.input)
    source = Source("<stdin>" if options.input == "-" else options.input, text.splitlines())
    if options.run_reproducer:
        match = _CONFIGURATION.search(text)
        if match is None:
            raise UsageError("--run-reproducer: the input names no pipeline")
        options.pipeline = match[1]
    pipeline = Pipeline.parse(options.pipeline_text).check()
    if options.dump_pipeline:
        print(f"Pass Manager with pipeline:\n{pipeline}", file=sys.stderr)
    if options.allow_unregistered:
        mlir.context().allow_unregistered_dialects = True
    outputs: list[str] = []
    failed = False
    for chunk in _chunks(options, text):
        output, found = _process(chunk, pipeline, options)
        if options.verify_diagnostics:
            lines = chunk.text.splitlines()
            found = verify(found, expectations(lines, chunk.first_line))
        for diagnostic in found:
            print(diagnostic.render(source), file=sys.stderr)
        failed |= any(diagnostic.severity == "error" for diagnostic in found)
        outputs += [] if output is None else [output]
    if outputs or not failed:
        marker = SPLIT_MARKER.replace("//", "#") if options.emit == "tvmscript" else SPLIT_MARKER
        _write(options, f"{marker}\n".join(outputs))
    return int(failed)


def _chunks(options: Options, text: str) -> Iterator[Chunk]:
    if options.input.endswith(".py"):
        for module in inputs.script_modules(options.input).values():
            yield Chunk(text, 1, module)
        return
    if options.split_input is None:
        yield Chunk(text)
        return
    lines: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == options.split_input.strip():
            yield Chunk("\n".join(lines) + "\n", first)
            lines, first = [], number + 1
        else:
            lines.append(line)
    yield Chunk("\n".join(lines) + "\n", first)


def _process(
    chunk: Chunk, pipeline: Pipeline, options: Options
) -> tuple[str | None, list[Diagnostic]]:
    """Parse, transform and print one chunk: its text, or None, and what MLIR and we said."""
    with mlir.scope(), collected(chunk.first_line) as found:
        try:
            state = chunk.module.state if chunk.module else inputs.parse_mlir(chunk.text)
            if pipeline.elements:
                pipeline.run(state, options.running)
            output = _print(state, options)
            if options.verify_roundtrip:
                _verify_roundtrip(state)
        except (Error, ir.MLIRError) as error:
            _save_reproducer(error, options)
            if options.print_stacktrace:
                traceback.print_exception(error)
            return None, [*found, *from_exception(error, chunk.first_line)]
    return output, found


def _print(state: ModuleState, options: Options) -> str:
    if options.emit == "tvmscript":
        return IRModule.from_state(state).script().rstrip() + "\n"
    extra: dict[str, Any] = {}
    if options.elide_larger is not None:
        extra["large_elements_limit"] = options.elide_larger
    text = print_operation(
        state.module.operation,
        print_generic_op_form=options.print_generic,
        enable_debug_info=options.print_debug_info or options.pretty_debug_info,
        pretty_debug_info=options.pretty_debug_info,
        use_local_scope=options.local_scope,
        **extra,
    )
    return text.rstrip() + "\n"


def _verify_roundtrip(state: ModuleState) -> None:
    text = print_operation(state.module.operation)
    again = print_operation(parse_module(text).operation)
    if text != again:
        raise Error(f"the module does not round-trip; it prints as\n{text}\nand then as\n{again}")


def _save_reproducer(error: BaseException, options: Options) -> None:
    text = getattr(error, "reproducer", None)
    if options.reproducer is not None and text is not None:
        Path(options.reproducer).write_text(text, encoding="utf-8")


def _write(options: Options, text: str) -> None:
    if options.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    Path(options.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
