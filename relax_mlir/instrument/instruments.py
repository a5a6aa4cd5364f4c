"""Instruments that print, time and dump."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.transform.passes import PassInfo


class PassInstrument:
    """Base of instruments; override what is of interest.

    `enter_pass_ctx`/`exit_pass_ctx` frame the PassContext, `should_run` may skip a pass by
    returning False, `run_before_pass`/`run_after_pass` see the module around it.
    """

    def enter_pass_ctx(self) -> None: ...

    def exit_pass_ctx(self) -> None: ...

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None: ...

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None: ...


def pass_instrument(cls: type) -> type:
    """Class decorator: makes a class with some of the methods of PassInstrument an instrument."""
    if issubclass(cls, PassInstrument):
        return cls
    made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})
    made.__module__ = cls.__module__
    return made


class PrintBeforeAll(PassInstrument):
    """Prints the module as TVMScript before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info.name}\n{mod.script()}")  # noqa: T201


class PrintAfterAll(PassInstrument):
    """Prints the module as TVMScript after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info.name}\n{mod.script()}")  # noqa: T201


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after passes with the given names."""

    def __init__(
        self,
        print_before_pass_names: Iterable[str] = (),
        print_after_pass_names: Iterable[str] = (),
    ):
        self.before = frozenset(print_before_pass_names)
        self.after = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.before:
            print(f"Print IR before: {info.name}\n{mod.script()}")  # noqa: T201

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.after:
            print(f"Print IR after: {info.name}\n{mod.script()}")  # noqa: T201


class DumpIR(PassInstrument):
    """Writes the module after every pass into a folder: `000_LegalizeOps.py`, ..."""

    def __init__(self, dump_dir: Path | str, refresh: bool = False):
        self.dump_dir = Path(dump_dir)
        self.counter = 0
        if refresh and self.dump_dir.is_dir():
            for old in self.dump_dir.glob("[0-9][0-9][0-9]_*.py"):
                old.unlink()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.dump_dir.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in info.name)
        path = self.dump_dir / f"{self.counter:03d}_{name[:100]}.py"
        path.write_text(mod.script() + "\n", encoding="utf-8")
        self.counter += 1


@dataclass
class _Profile:
    """One run of a pass; passes it called are inside."""

    name: str
    start: float
    end: float = 0.0
    children: list[_Profile] = field(default_factory=list)

    @property
    def duration(self) -> float:
        return self.end - self.start


class PassTimingInstrument(PassInstrument):
    """Measures every pass; `render()` gives the table, inside the PassContext."""

    def __init__(self) -> None:
        self._root = _Profile("root", time.perf_counter())
        self._open: list[_Profile] = [self._root]

    def enter_pass_ctx(self) -> None:
        self._root = _Profile("root", time.perf_counter())
        self._open = [self._root]

    def exit_pass_ctx(self) -> None:
        self._open = [self._root]

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        profile = _Profile(info.name, time.perf_counter())
        self._open[-1].children.append(profile)
        self._open.append(profile)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        # A pass that raised left its frame open: close it with the one that ends now.
        while len(self._open) > 1:
            profile = self._open.pop()
            profile.end = time.perf_counter()
            if profile.name == info.name:
                break

    def render(self) -> str:
        """A line a pass: its time, without and with the passes inside, and its share."""
        total = sum(child.duration for child in self._root.children)
        lines: list[str] = []
        _render(self._root.children, 0, total, total, lines)
        lines.append(f"Total time: {total * 1e3:.3f}ms")
        return "\n".join(lines)


def _render(
    profiles: list[_Profile], depth: int, parent: float, total: float, lines: list[str]
) -> None:
    for profile in profiles:
        own = profile.duration - sum(child.duration for child in profile.children)
        shares = [100 * profile.duration / whole if whole else 0.0 for whole in (parent, total)]
        lines.append(
            f"{'    ' * depth}{profile.name}: {profile.duration * 1e6:.0f}us "
            f"[{own * 1e6:.0f}us] ({shares[1]:.2f}%; {shares[0]:.2f}%)"
        )
        _render(profile.children, depth + 1, profile.duration, total, lines)
