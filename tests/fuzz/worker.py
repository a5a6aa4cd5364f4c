"""`python -m tests.fuzz.worker KIND FIRST END`: seeds in this process; faults as lines of JSON."""

from __future__ import annotations

import json
import resource
import sys
import traceback
from importlib import import_module
from typing import Any

LIMIT = 16 << 30

CHANGED = {
    "mutant": ("tests.fuzz.check", "check_mutant"),
    "script": ("tests.fuzz.texts", "check_script"),
    "mlir": ("tests.fuzz.texts", "check_mlir"),
    "onnx": ("tests.fuzz.models", "check_model"),
    "torch": ("tests.fuzz.torch_programs", "check_program"),
}
"""The kinds of changed programs: the module and the function that check the program of a seed."""


def say(**report: Any) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def fault_of(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error).strip().replace("\n", " | ")[:400]
    return f"{type(error).__name__} at {last.filename.rsplit('/', 1)[-1]}:{last.lineno}: {text}"


def valid(first: int, end: int) -> None:
    """Groups of graphs; those of a group with a fault one by one."""
    from tests.fuzz.check import GROUP, check_graphs

    for start in range(first, end, GROUP):
        seeds = list(range(start, min(end, start + GROUP)))
        say(next=start)
        try:
            check_graphs(seeds)
        except BaseException as error:
            found = False
            for seed in seeds:
                say(next=seed)
                try:
                    check_graphs([seed])
                except BaseException as single:
                    found = True
                    names = " ".join(node.name for node in _graph(seed).nodes)
                    say(kind="valid", seed=seed, fault=fault_of(single), operators=names)
            if not found:
                say(kind="valid", seed=start, fault=f"together: {fault_of(error)}")


def _graph(seed: int) -> Any:
    from tests.fuzz.graphs import random_graph

    try:
        return random_graph(seed)
    except BaseException:
        return type("Nothing", (), {"nodes": []})


def changed(kind: str, first: int, end: int) -> None:
    """Changed programs one by one, and how many of them had which outcome."""
    check = getattr(import_module(CHANGED[kind][0]), CHANGED[kind][1])
    totals: dict[str, int] = {}
    for seed in range(first, end):
        say(next=seed)
        try:
            outcome = check(seed)
            totals[outcome] = totals.get(outcome, 0) + 1
        except BaseException as error:
            say(kind=kind, seed=seed, fault=fault_of(error))
    say(totals=totals)


def main(kind: str, first: int, end: int) -> None:
    if kind == "valid":
        valid(first, end)
    else:
        changed(kind, first, end)


if __name__ == "__main__":
    # A program that asks for more memory than this gets a MemoryError, not the machine's.
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
