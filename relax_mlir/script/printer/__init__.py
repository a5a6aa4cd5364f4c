"""Modules and functions to TVMScript.  `core` has what the dialects' printers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.script.printer.core import Printer, PrinterOptions

if TYPE_CHECKING:
    from relax_mlir.ir.function import BaseFunc
    from relax_mlir.ir.module import IRModule

__all__ = ["print_function", "print_module"]


def print_module(module: IRModule, **options: Any) -> str:
    """The module as TVMScript text; `relax_mlir.script.from_source` reads it back.

    TensorIR functions come first, then Relax functions, each sorted by name.  The options are
    those of `PrinterOptions`; an unknown one raises TypeError.
    """
    chosen = PrinterOptions.of(options)
    printer = Printer(chosen, in_module=True)
    step = " " * chosen.indent_spaces
    prefix = printer.I
    body: list[str] = []
    if module.attrs:
        body.append(f"{prefix}.module_attrs({printer.attributes(module.attrs)})")
    if module.global_infos:
        infos = ", ".join(f'"{k}": {_infos(v)}' for k, v in module.global_infos.items())
        body.append(f"{prefix}.module_global_infos({{{infos}}})")
    faces = [module[var] for var in module.get_global_vars()]
    for i, face in enumerate(sorted(faces, key=lambda f: (f.attrs_key != "tir.attrs", f.name))):
        if i:
            body.append("")
        body.extend(printer.function(face))
    lines = [f"@{prefix}.ir_module", f"class {chosen.name}:"]
    lines += [step + line if line else "" for line in body or ["pass"]]
    return _text(printer, lines)


def print_function(face: BaseFunc, **options: Any) -> str:
    """One function as TVMScript text."""
    printer = Printer(PrinterOptions.of(options), in_module=False)
    return _text(printer, printer.function(face))


def _infos(values: Any) -> str:
    items = values if isinstance(values, (list, tuple)) else [values]
    return f"[{', '.join(map(repr, items))}]"


def _text(printer: Printer, lines: list[str]) -> str:
    """The whole text; printed constants come before the program, which refers to them."""
    header, body = [*printer.header(), ""], lines
    if printer.options.show_meta and (printer.constants or printer.objects):
        from relax_mlir.script.printer.relax import print_metadata

        body = [*print_metadata(printer), "", *lines]
    elif printer.constants or printer.objects:
        note = "# Metadata omitted. Use show_meta=True in script() method to show it."
        body = [*lines, "", note]
    return "\n".join([*header, *body])
