"""Coloured program text: on a terminal, in a notebook, plain everywhere else."""

from __future__ import annotations

import importlib
import sys
from typing import Any

STYLES = {"light": "default", "dark": "monokai", "ansi": "bw"}
"""Our names of styles; any name of a Pygments style works as well."""


def show(text: str, style: str | None = None) -> None:
    """Print program text, highlighted where that can be seen.

    `style` is "light", "dark", "ansi", a Pygments style name, or None to choose: HTML in a
    notebook, colours on a terminal, plain text when the output is a file or a pipe.  Naming a
    style asks for colours in any case; "plain" asks for none.  Raises ValueError for an unknown
    style.
    """
    if style == "plain":
        sys.stdout.write(text + "\n")
    elif _in_notebook():
        _show_html(text, style or "light")
    elif style is not None or _is_terminal():
        sys.stdout.write(highlight(text, style or "ansi"))
    else:
        sys.stdout.write(text + "\n")


def cprint(printable: Any, style: str | None = None) -> None:
    """`show` for anything with a `script` method, and for text (TVM's `cprint`)."""
    script = getattr(printable, "script", None)
    show(str(printable) if script is None else script(), style)


def highlight(text: str, style: str = "ansi", html: bool = False) -> str:
    """The text with terminal escapes, or as an HTML fragment.  Raises ValueError."""
    import pygments
    from pygments.formatters import HtmlFormatter, Terminal256Formatter, TerminalFormatter
    from pygments.lexers import PythonLexer
    from pygments.styles import get_style_by_name
    from pygments.util import ClassNotFound

    try:
        chosen = get_style_by_name(STYLES.get(style, style))
    except ClassNotFound:
        known = ", ".join(STYLES)
        raise ValueError(f"no style '{style}'; use {known} or a Pygments style") from None
    if html:
        formatter: Any = HtmlFormatter(style=chosen, noclasses=True)
    elif style == "ansi":
        formatter = TerminalFormatter()
    else:
        formatter = Terminal256Formatter(style=chosen)
    return pygments.highlight(text, PythonLexer(), formatter)


def _is_terminal() -> bool:
    return hasattr(sys.stdout, "isatty") and sys.stdout.isatty()


def _in_notebook() -> bool:
    """True inside a Jupyter kernel; IPython on a terminal is a terminal."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _show_html(text: str, style: str) -> None:
    display = importlib.import_module("IPython.display")
    display.display(display.HTML(highlight(text, style, html=True)))
