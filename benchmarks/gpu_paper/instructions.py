"""The instructions of a kernel's hottest loop, by what they are: of NVIDIA's machine code where it
can be disassembled, of PTX elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Mix", "mix_of_ptx", "mix_of_sass"]

_SASS = {
    "tensor": "HMMA IMMA DMMA BMMA HGMMA",
    "arithmetic": "FFMA FADD FMUL FMNMX FSETP FSEL FSET MUFU DFMA DADD DMUL HFMA2 HADD2 HMUL2 "
    "HMNMX2 I2F F2F F2I FCHK FRND",
    "shared": "LDS STS LDSM LDGSTS ATOMS",
    "global": "LDG STG RED ATOM ATOMG LD ST",
    "exchange": "SHFL BAR DEPBAR WARPGROUP FENCE LDGDEPBAR WARPSYNC MEMBAR VOTE",
    "local": "LDL STL",
}
_PTX = {
    "tensor": "mma wmma wgmma.mma",
    "arithmetic": "fma add.f add.rn sub.f mul.f div.rn max.f min.f sqrt rcp ex2 lg2 abs.f neg.f",
    "shared": "ld.shared st.shared ldmatrix cp.async",
    "global": "ld.global st.global red atom",
    "exchange": "shfl bar membar",
    "local": "ld.local st.local",
}
OTHER = "addresses and control"


@dataclass(frozen=True)
class Mix:
    """Instructions by what they are; `is_loop` when they are those of a loop's body.

    `shared_bytes` are those of shared memory that a thread moves in them, 0 where the text does not
    say (PTX)."""

    counts: dict[str, int]
    is_loop: bool
    shared_bytes: int = 0

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.counts.items())


def mix_of_sass(text: str, kernel: str) -> Mix:
    """The mix of a kernel in the text that `nvdisasm -c` writes.

    Raises ValueError when the kernel is not in it."""
    part = re.search(
        rf"^\.text\.{re.escape(kernel)}:$(.*?)(?=^\.text\.|\Z|^\t?\.section)",
        text,
        re.DOTALL | re.MULTILINE,
    )
    if part is None:
        raise ValueError(f"no kernel {kernel} in the machine code")
    lines: list[_Line] = []
    widths: dict[int, int] = {}
    for line in part[1].splitlines():
        label = re.match(r"^(\.L_\w+):", line)
        found = re.match(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?(\w+)(.*)", line)
        if label:
            lines.append((label[1], "", ""))
        elif found and found[1] != "NOP":
            target = re.search(r"\.L_\w+", found[2])
            is_jump = found[1] == "BRA" and target is not None
            lines.append(("", found[1], target[0] if target and is_jump else ""))
            widths[len(lines) - 1] = _shared_bytes(found[1], found[2].split()[0])
    return _hottest(lines, _SASS, widths)


def mix_of_ptx(text: str, kernel: str) -> Mix:
    """The mix of a kernel in PTX.  Raises ValueError when the kernel is not in it."""
    part = re.search(
        rf"\.entry {re.escape(kernel)}\(.*?^\{{$(.*?)^\}}$", text, re.DOTALL | re.MULTILINE
    )
    if part is None:
        raise ValueError(f"no kernel {kernel} in the PTX")
    lines: list[_Line] = []
    for line in part[1].splitlines():
        label = re.match(r"^(\$\w+):", line)
        found = re.match(r"^\s+(?:@!?%\w+\s+)?([a-z][\w.]*)\s*(.*);", line)
        if label:
            lines.append((label[1], "", ""))
        elif found:
            is_jump = found[1].startswith("bra")
            lines.append(("", found[1], found[2].strip() if is_jump else ""))
    return _hottest(lines, _PTX, None)


_Line = tuple[str, str, str]
"""(label, opcode, target of a jump)"""

_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def _shared_bytes(opcode: str, suffixes: str) -> int:
    """The bytes that a thread moves: `LDS.64` 8, `LDSM.16.M88.4` 16, of four matrices."""
    if opcode not in ("LDS", "STS", "LDSM", "LDGSTS"):
        return 0
    parts = suffixes.strip(".").split(".")
    if opcode == "LDSM":
        return 4 * int(parts[-1]) if parts[-1].isdigit() and parts[-1] != "88" else 4
    return next((_WIDTHS[part] for part in parts if part in _WIDTHS), 4)


def _hottest(lines: list[_Line], kinds: dict[str, str], widths: dict[int, int] | None) -> Mix:
    """The mix of the innermost loop with the most work; of everything where there is no loop.

    `widths` are the bytes of shared memory by line; PTX, which has none, has opcodes that go on
    after the names of `kinds`."""
    exact = widths is not None
    table = [(name, kind) for kind, names in kinds.items() for name in names.split()]
    marked: list[tuple[str, int]] = []
    places: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for number, (label, opcode, target) in enumerate(lines):
        if label:
            places[label] = len(marked)
            continue
        marked.append((_kind(opcode, table, exact), (widths or {}).get(number, 0)))
        if target in places:
            loops.append((places[target], len(marked)))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    bodies = [marked[start:end] for start, end in inner if end - start > 1]
    hottest = max(bodies, key=_work, default=marked)
    counts = Counter(kind for kind, _ in hottest)
    order = [*kinds, OTHER]
    shared = sum(width for _, width in hottest)
    return Mix({kind: counts[kind] for kind in order if counts[kind]}, bool(bodies), shared)


def _work(body: list[tuple[str, int]]) -> tuple[int, int]:
    return sum(kind in ("tensor", "arithmetic") for kind, _ in body), len(body)


def _kind(opcode: str, table: list[tuple[str, str]], exact: bool) -> str:
    for name, kind in table:
        if opcode == name or (not exact and opcode.startswith(name)):
            return kind
    return OTHER
