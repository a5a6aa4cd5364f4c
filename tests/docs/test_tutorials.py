"""Runs the Python blocks of README.md and of every page in docs/ in order, as a reader would type
them.

A block fenced as `python` runs; output shown in a block fenced as `text` right after it must be
what the block printed.  Other fences are not run.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*) *([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[str, str, str, int]]:
    """(language, options, code, line of the code) of each fence."""
    return [
        (m.group(1), m.group(2).strip(), m.group(3), text.count("\n", 0, m.start(3)))
        for m in _FENCE.finditer(text)
    ]


WITHOUT_PYTHON = {
    "README.md", "benchmarks.md", "fuzzing.md", "gpu_performance.md", "operators.md",
    "torch_operators.md", "tvmscript_corpus.md",
}  # fmt: skip
"""Pages of docs/ that are lists and tables."""

PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.relative_to(ROOT / "docs").as_posix() not in WITHOUT_PYTHON
    ),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_page_runs(page: Path) -> None:
    text = page.read_text()
    found = blocks(text)
    assert any(language == "python" for language, *_ in found), "the page shows no program"
    for _, options, *_ in found:
        if options.startswith("needs-"):
            pytest.importorskip(options.removeprefix("needs-"))
    namespace: dict[str, object] = {"__name__": f"docs.{page.stem}"}
    printed = ""
    for language, _, code, line in found:
        if language == "python":
            printed = run(code, page, line, namespace)
        elif language == "text" and printed:
            assert code.strip() == printed.strip(), f"{page.name}: output differs from the page"


def run(code: str, page: Path, line: int, namespace: dict[str, object]) -> str:
    """Execute a block under the page's line numbers; returns what it prints."""
    padded = "\n" * line + code
    name = f"{page}:{line}"
    linecache.cache[name] = (len(padded), None, padded.splitlines(keepends=True), name)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(padded, name, "exec"), namespace)
    return output.getvalue()
