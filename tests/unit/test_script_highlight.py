"""Coloured output: where, how, and how not."""

from __future__ import annotations

import re

import pytest

from relax_mlir.script import from_source
from relax_mlir.script.highlight import cprint, highlight, show

TEXT = "@T.prim_func\ndef f(): return 1"
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def test_plain_where_the_output_is_no_terminal(capsys):
    show(TEXT)
    assert capsys.readouterr().out == TEXT + "\n"


def test_colours_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("relax_mlir.script.highlight._is_terminal", lambda: True)
    show(TEXT)
    out = capsys.readouterr().out
    assert ESCAPE.search(out)
    assert ESCAPE.sub("", out).strip() == TEXT
    show(TEXT, "plain")
    assert capsys.readouterr().out == TEXT + "\n"


@pytest.mark.parametrize("style", ["light", "dark", "ansi", "monokai"])
def test_a_named_style_asks_for_colours(capsys, style: str):
    show(TEXT, style)
    out = capsys.readouterr().out
    assert ESCAPE.search(out)
    assert ESCAPE.sub("", out).strip() == TEXT


def test_html():
    html = highlight("x = 1", "light", html=True)
    assert html.startswith('<div class="highlight"')
    assert "<style" not in html


def test_html_in_a_notebook(monkeypatch):
    shown = []
    monkeypatch.setattr("relax_mlir.script.highlight._in_notebook", lambda: True)
    monkeypatch.setattr(
        "relax_mlir.script.highlight._show_html", lambda text, style: shown.append((text, style))
    )
    show(TEXT)
    assert shown == [(TEXT, "light")]


def test_unknown_styles_are_refused():
    with pytest.raises(ValueError, match="no style 'purple-haze'; use light, dark, ansi"):
        show(TEXT, "purple-haze")


def test_cprint_and_show_of_programs(capsys):
    function = from_source('@T.prim_func\ndef f(A: T.Buffer((1,), "float32")):\n    A[0] = 1.0')
    cprint(function)
    printed = capsys.readouterr().out
    function.show()
    assert capsys.readouterr().out == printed == function.script() + "\n"
    cprint("x = 1", "plain")
    assert capsys.readouterr().out == "x = 1\n"
