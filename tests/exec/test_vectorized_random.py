"""Random bodies of vectorised loops against the same loops run in order.

In most programs each written buffer is accessed at one place only, so that lanes are apart; in the
others anything may collide.

`python tests/exec/test_vectorized_random.py 500 1` runs 500 programs from seed 1 on.
"""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from relax_mlir.driver.build_module import build
from relax_mlir.script import from_source

BUFFERS = ("A", "B", "C", "D")
SIZE = 240


class Program:
    """The random choices of a program; `places` fixes where written buffers are accessed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.places: dict[str, str] = {}
        if self.rng.random() < 0.75:
            choices = ["i", "o * 20 + i", "o * 40 + i * 2", "70 - i", "X[i]"]
            self.places = {name: self.rng.choice(choices) for name in ("C", "D")}

    def target(self, names: list[str]) -> str:
        name = self.rng.choice(list(self.places) or BUFFERS)
        return f"{name}[{self.places.get(name) or _index(self.rng, names)}]"

    def load(self, names: list[str]) -> str:
        name = self.rng.choice(BUFFERS)
        return f"{name}[{self.places.get(name) or _index(self.rng, names)}]"


def _index(rng: random.Random, names: list[str]) -> str:
    """An index inside of the buffers, over the loop variables."""
    name = rng.choice(names)
    kind = rng.randrange(9)
    if kind < 4:
        return f"{rng.choice(['', 'o * 20 + '])}i + {rng.randrange(9)}"
    if kind == 4:
        return f"{name} * {rng.choice([2, 3])} + {rng.randrange(4)}"
    if kind == 5:
        return f"(o * 16 + i + {rng.randrange(3)}) // {rng.choice([2, 4, 5, 16])}"
    if kind == 6:
        return f"(o * 16 + i + {rng.randrange(3)}) % {rng.choice([4, 7, 16, 32])}"
    if kind == 7:
        return f"{rng.randrange(40) + 60} - i"
    return f"X[i + {rng.randrange(4)}]" if rng.random() < 0.5 else f"{name} + {rng.randrange(20)}"


def _value(program: Program, names: list[str], depth: int = 2) -> str:
    rng = program.rng
    if depth == 0 or rng.random() < 0.3:
        kind = rng.randrange(6)
        if kind == 0:
            return str(rng.randrange(-5, 6))
        if kind == 1:
            return rng.choice(names)
        return program.load(names)
    left, right = (_value(program, names, depth - 1) for _ in range(2))
    kind = rng.randrange(6)
    if kind == 0:
        return f"T.if_then_else({_condition(program, names)}, {left}, {right})"
    if kind == 1:
        return f"T.max({left}, {right})"
    return f"({left} {rng.choice(['+', '-', '*'])} {right})"


def _condition(program: Program, names: list[str]) -> str:
    rng = program.rng
    left = rng.choice(["i", "o * 16 + i", program.load(names), "o"])
    return f"{left} {rng.choice(['<', '>', '=='])} {rng.randrange(20)}"


def _statements(program: Program, names: list[str], indent: str, depth: int) -> list[str]:
    rng = program.rng
    lines: list[str] = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(8)
        if depth and kind == 0:
            lines.append(f"{indent}for k{depth} in range({rng.randrange(1, 4)}):")
            lines += _statements(program, [*names, f"k{depth}"], indent + "    ", depth - 1)
        elif depth and kind <= 2:
            lines.append(f"{indent}if {_condition(program, names)}:")
            lines += _statements(program, names, indent + "    ", depth - 1)
            if rng.random() < 0.4:
                lines.append(f"{indent}else:")
                lines += _statements(program, names, indent + "    ", depth - 1)
        else:
            lines.append(f"{indent}{program.target(names)} = {_value(program, names)}")
    return lines


def source(seed: int, kind: str) -> str:
    program = Program(seed)
    extent = program.rng.choice([1, 2, 3, 7, 8, 16, 16, 16, 20])
    parameters = ", ".join(f'{name}: T.Buffer(({SIZE},), "int32")' for name in (*BUFFERS, "X"))
    body = _statements(program, ["o", "i"], " " * 16, 2)
    return "\n".join([
        "@I.ir_module", "class Module:", "    @T.prim_func", f"    def main({parameters}):",
        '        T.func_attr({"tir.noalias": True})', "        for o in range(4):",
        f"            for i in T.{kind}({extent}):", *body,
    ]) + "\n"  # fmt: skip


def run_seed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-3, 12, SIZE).astype("int32") for _ in BUFFERS]
    places = rng.permutation(SIZE).astype("int32")
    results: list[list[np.ndarray]] = []
    for kind in ("serial", "vectorized", "unroll"):
        arrays = [a.copy() for a in inputs]
        build(from_source(source(seed, kind)), target="llvm")(*arrays, places)
        results.append(arrays)
    for other in results[1:]:
        for expected, actual in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(actual, expected, err_msg=source(seed, "vectorized"))


@pytest.mark.parametrize("seed", range(24))
def test_random_bodies(seed: int) -> None:
    run_seed(seed)


if __name__ == "__main__":
    count, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failures = 0
    for number in range(start, start + count):
        try:
            run_seed(number)
        except Exception as error:
            failures += 1
            print(f"--- {number}: {type(error).__name__}\n{error}")
    print(f"{count} programs, {failures} failures")
