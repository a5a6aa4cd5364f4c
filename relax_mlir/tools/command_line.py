"""mlir-opt's command line: options in a table, every other flag is a pass, in order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.lowering.pipeline import PipelineOptions


class UsageError(Error):
    """A command line that makes no sense."""


@dataclass
class Options:
    """What a command line of relax-opt says."""

    input: str = "-"
    output: str = "-"
    pipeline: str | None = None
    passes: list[str] = field(default_factory=list)
    split_input: str | None = None
    verify_diagnostics: bool = False
    verify_roundtrip: bool = False
    run_reproducer: bool = False
    reproducer: str | None = None
    emit: str = "mlir"
    list_passes: bool = False
    show_dialects: bool = False
    dump_pipeline: bool = False
    help: bool = False
    version: bool = False
    allow_unregistered: bool = False
    print_generic: bool = False
    print_debug_info: bool = False
    pretty_debug_info: bool = False
    local_scope: bool = False
    elide_larger: int | None = None
    print_stacktrace: bool = False
    running: PipelineOptions = field(default_factory=PipelineOptions)

    @property
    def pipeline_text(self) -> str:
        return self.pipeline if self.pipeline is not None else ",".join(self.passes)


SPLIT_MARKER = "// -----"

# Flag: (field, kind, help).  Fields of `PipelineOptions` are written `running.<field>`.
_TABLE: dict[str, tuple[str, str, str]] = {
    "o": ("output", "text", "write to this file instead of standard output"),
    "pass-pipeline": ("pipeline", "text", "the pipeline, 'builtin.module(relax-fuse-ops,cse)'"),
    "emit": ("emit", "text", "mlir (default) or tvmscript"),
    "split-input-file": ("split_input", "split", "treat parts between '// -----' as files"),
    "verify-diagnostics": ("verify_diagnostics", "flag", "check 'expected-error {{...}}' comments"),
    "verify-roundtrip": ("verify_roundtrip", "flag", "check that the output parses to itself"),
    "verify-each": ("running.verify_each", "flag", "verify after each pass (default true)"),
    "run-reproducer": ("run_reproducer", "flag", "run the pipeline the input's first line names"),
    "mlir-pass-pipeline-crash-reproducer": ("reproducer", "text", "file for a reproducer"),
    "mlir-print-ir-before-all": ("running.print_before_all", "flag", "print before every pass"),
    "mlir-print-ir-after-all": ("running.print_after_all", "flag", "print after every pass"),
    "mlir-print-ir-after-change": ("running.print_after_change", "flag", "print what changed"),
    "mlir-print-ir-after-failure": ("running.print_after_failure", "flag", "print what failed"),
    "mlir-print-ir-module-scope": ("running.print_module_scope", "flag", "print whole modules"),
    "mlir-print-ir-before": ("running.print_before", "list", "print before these passes"),
    "mlir-print-ir-after": ("running.print_after", "list", "print after these passes"),
    "mlir-timing": ("running.timing", "flag", "print how long each pass took"),
    "mlir-print-debuginfo": ("print_debug_info", "flag", "print locations"),
    "mlir-pretty-debuginfo": ("pretty_debug_info", "flag", "print locations inline"),
    "mlir-print-op-generic": ("print_generic", "flag", "print the generic form"),
    "mlir-print-local-scope": ("local_scope", "flag", "print without aliases"),
    "mlir-elide-elementsattrs-if-larger": ("elide_larger", "number", "shorten large constants"),
    "mlir-print-stacktrace-on-diagnostic": ("print_stacktrace", "flag", "show where it arose"),
    "allow-unregistered-dialect": ("allow_unregistered", "flag", "accept unknown operations"),
    "list-passes": ("list_passes", "flag", "list our passes and pipelines"),
    "show-dialects": ("show_dialects", "flag", "list the dialects"),
    "dump-pass-pipeline": ("dump_pipeline", "flag", "print the pipeline to standard error"),
    "help": ("help", "flag", "print this"),
    "version": ("version", "flag", "print the versions"),
}
_ALIASES = {"h": "help", "passes": "list-passes"}
_TAKES_NEXT = {"text", "number", "list"}
_BOOLEANS = {"": True, "true": True, "1": True, "false": False, "0": False}


def parse(arguments: list[str]) -> Options:
    """Options of a command line; raises UsageError."""
    options = Options()
    positional: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "-" or not argument.startswith("-"):
            positional.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        name = _ALIASES.get(name, name)
        if name not in _TABLE:
            options.passes.append(f"{name}{{{value}}}" if equals else name)
            continue
        target, kind, _ = _TABLE[name]
        if kind in _TAKES_NEXT and not equals:
            if not rest:
                raise UsageError(f"--{name} needs a value")
            value = rest.pop(0)
        _set(options, target, _read(name, kind, value))
    if len(positional) > 1:
        raise UsageError(f"more than one input file: {', '.join(positional)}")
    options.input = positional[0] if positional else "-"
    _check(options)
    return options


def _check(options: Options) -> None:
    if options.pipeline is not None and options.passes:
        raise UsageError("--pass-pipeline cannot be combined with passes given as flags")
    if options.emit not in ("mlir", "tvmscript"):
        raise UsageError(f"--emit is mlir or tvmscript, not '{options.emit}'")


def _read(name: str, kind: str, value: str) -> Any:
    if kind == "flag":
        if value not in _BOOLEANS:
            raise UsageError(f"--{name} is true or false, not '{value}'")
        return _BOOLEANS[value]
    if kind == "number":
        if not value.isdigit():
            raise UsageError(f"--{name} needs a number, not '{value}'")
        return int(value)
    if kind == "list":
        return tuple(part for part in value.split(",") if part)
    return (value or SPLIT_MARKER) if kind == "split" else value


def _set(options: Options, target: str, value: Any) -> None:
    scope, _, name = target.rpartition(".")
    if not scope:
        setattr(options, name, value)
        return
    options.running = replace(options.running, **{name: value})


def usage() -> str:
    """The text of `--help`."""
    width = max(len(name) for name in _TABLE) + 2
    rows = [f"  --{name:<{width}}{text}" for name, (_, _, text) in sorted(_TABLE.items())]
    head = (
        "usage: relax-opt [options] [--<pass>[='option=value ...'] ...] [file.mlir | file.py | -]\n"
        "Reads MLIR text or a TVMScript file, runs passes of ours and of MLIR, prints the module.\n"
    )
    return "\n".join([head, "options:", *rows])
