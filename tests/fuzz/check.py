"""What a random program must do, and what a broken one may."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.transform import PassContext
from tests.fuzz import (
    rules_cases,
    rules_elementwise,
    rules_layers,
    rules_nn,
    rules_shape,
    rules_structure,
    rules_values,
)
from tests.fuzz.diagnostics import Fault, check_refusal
from tests.fuzz.graphs import Function, Graph, Value, build_module, random_graph

__all__ = ["GROUP", "RULE_FILES", "check_graphs", "check_mutant", "mutant_of"]

RULE_FILES = (rules_cases, rules_elementwise, rules_layers, rules_nn, rules_shape, rules_structure,
              rules_values)  # fmt: skip
OPTIMISING = (
    "relax-decompose-ops-for-inference", "relax-eliminate-common-subexpr",
    "relax-combine-parallel-matmul", "relax-optimize-layout-transform", "relax-default",
)  # fmt: skip
ALLOCATING = (
    "relax-zero", "relax-rewrite-dataflow-reshape", "relax-to-non-dataflow",
    "relax-dead-code-elimination", "relax-call-tir-rewrite", "relax-static-plan-block-memory",
    "relax-lower-alloc-tensor", "relax-kill-after-last-use", "relax-lower-runtime-builtin",
)  # fmt: skip
IN_PLACE = (
    "relax-legalize-ops", "relax-annotate-tir-op-pattern", "relax-dataflow-use-inplace-calls",
    "relax-fuse-ops", "relax-fuse-tir",
)  # fmt: skip
PIPELINES = (
    "default",
    "zero",
    "default",
    "builtin.module(relax-legalize-ops)",
    "builtin.module(relax-convert-layout,relax-default)",
    *(f"builtin.module({','.join(passes)})" for passes in (OPTIMISING, ALLOCATING, IN_PLACE)),
)

GROUP = 10
"""Seeds in a row whose graphs are compiled by the same pipeline, into one module by the worker."""

UNDEFINED = ("tir.for", "relax.left_shift", "relax.right_shift")
"""What gives any number once it is changed: loops that leave parts of a buffer unwritten, shifts by
negative numbers."""

TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 2e-3, "float64": 1e-7}


def compiled(module: IRModule, pipeline: str, level: int = 0) -> relax.VirtualMachine:
    with PassContext(opt_level=level):
        made = relax_mlir.compile(module, "llvm", relax_pipeline=pipeline)
        return relax.VirtualMachine(made, relax_mlir.cpu())


def check_graphs(seeds: Sequence[int]) -> None:
    """The graphs of the seeds, in one module, give what numpy gives.  Raises AssertionError."""
    graphs = [random_graph(seed) for seed in seeds]
    module, functions = build_module(graphs)
    group = seeds[0] // GROUP
    machine = compiled(module, PIPELINES[group % len(PIPELINES)], 2 if group % 7 == 3 else 0)
    for index, function in enumerate(functions):
        run(machine[f"f{index}"], function)


def run(entry: Any, function: Function) -> None:
    """Call a compiled graph and compare what it returns."""
    kept = [value.array.copy() for value in function.graph.parameters]
    got = entry(*[value.array for value in function.graph.parameters])
    results = [got] if len(function.outputs) == 1 else list(got)
    assert len(results) == len(function.outputs)
    for value, actual in zip(function.outputs, results, strict=True):
        compare(value, actual.numpy())
    for value, before in zip(function.graph.parameters, kept, strict=True):
        kept_nan = value.array.dtype.kind == "f"
        same = np.array_equal(value.array, before, equal_nan=kept_nan)
        assert same, f"parameter {value.name} was changed"


def compare(value: Value, actual: np.ndarray) -> None:
    wanted = value.array
    assert actual.shape == wanted.shape, f"shape {actual.shape}, expected {wanted.shape}"
    assert actual.dtype == wanted.dtype, f"dtype {actual.dtype}, expected {wanted.dtype}"
    if value.exact or value.dtype not in TOLERANCE:
        np.testing.assert_array_equal(actual, wanted)
        return
    limit = max(TOLERANCE[value.dtype], value.tolerance)
    wide = [array.astype("float64") for array in (actual, wanted)]
    np.testing.assert_allclose(*wide, rtol=limit, atol=limit)


# -- broken programs --------------------------------------------------------------------------


def mutant_of(text: str, rng: np.random.Generator) -> str:
    """MLIR text with one thing changed: a size, a dtype, a value, an operator, an attribute."""
    kinds = (_other_size, _other_dtype, _other_value, _other_operator, _without_attribute,
             _without_line, _other_number)  # fmt: skip
    for _ in range(10):
        changed = kinds[int(rng.integers(len(kinds)))](text, rng)
        if changed != text:
            return changed
    return text


def _replaced(text: str, pattern: str, rng: np.random.Generator, new: Any) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = found[int(rng.integers(len(found)))]
    return text[: match.start()] + new(match) + text[match.end() :]


def _other_size(text: str, rng: np.random.Generator) -> str:
    sizes = [0, 1, 2, 3, 6, 9, 1 << 40]
    return _replaced(text, r"(?<=[<x])\d+(?=x)", rng, lambda m: str(sizes[rng.integers(7)]))


def _other_dtype(text: str, rng: np.random.Generator) -> str:
    kinds = ["f32", "f64", "f16", "i1", "i8", "i64", "ui8", "bf16", "!relax.object", "i7"]
    return _replaced(text, r"(?<=[<x])[fi]\d+(?=[>,])", rng, lambda m: kinds[rng.integers(10)])


def _other_value(text: str, rng: np.random.Generator) -> str:
    names = re.findall(r"%[a-z]\w*", text) or ["%x"]
    return _replaced(text, r"%[a-z]\w*", rng, lambda m: names[rng.integers(len(names))])


def _other_operator(text: str, rng: np.random.Generator) -> str:
    names = [*re.findall(r'"relax\.\w+"', text), '"relax.nn_conv2d"', '"relax.split"', '"x.y"']
    return _replaced(text, r'"relax\.\w+"', rng, lambda m: names[rng.integers(len(names))])


def _without_attribute(text: str, rng: np.random.Generator) -> str:
    return _replaced(text, r"(?<=[{ ])\w+ = [^,{}]+, ", rng, lambda m: "")


def _without_line(text: str, rng: np.random.Generator) -> str:
    return _replaced(text, r"\n +%[^\n]+", rng, lambda m: "")


def _other_number(text: str, rng: np.random.Generator) -> str:
    numbers = ["-1", "0", "1", "5", "1000000007", "-9223372036854775808"]
    return _replaced(text, r"(?<= )-?\d+(?= : i64)|(?<=i64: )-?\d+", rng,
                     lambda m: numbers[rng.integers(6)])  # fmt: skip


def check_mutant(seed: int) -> str:
    """What a broken program did: "refused" (parsing or compiling), "raised" (running) or
    "accepted".  Raises whatever is no error for the user."""
    rng = np.random.default_rng(seed)
    graph = random_graph(seed, graph_size(rng))
    module, functions = build_module([graph])
    text = mutant_of(module.mlir(), rng)
    try:
        broken = IRModule.parse(text, module.state.constants).verify()
        machine = compiled(broken, PIPELINES[seed % len(PIPELINES)])
    except Error as error:
        check_refusal(error)
        return "refused"
    if "f0" not in broken:
        return "refused"
    given = [value.array for value in functions[0].graph.parameters]
    try:
        got = machine["f0"](*given)
    except (Error, TypeError, ValueError, MemoryError, RuntimeError, IndexError) as error:
        if not str(error).strip():
            raise Fault("an error without a message") from error
        return "raised"
    if not any(name in text for name in UNDEFINED):
        check_same(got, broken, PIPELINES[(seed + 2) % len(PIPELINES)], given)
    return "accepted"


def check_same(got: Any, module: IRModule, pipeline: str, given: Sequence[np.ndarray]) -> None:
    """Raise Fault unless another pipeline gives the same of a program that numpy does not know.  It
    may refuse the program where the first one removed what is wrong with it."""
    try:
        other = compiled(module, pipeline)["f0"](*given)
    except (Error, TypeError, ValueError, IndexError, MemoryError, RuntimeError):
        return
    compare_results(got, other)


def compare_results(one: Any, other: Any) -> None:
    if not hasattr(one, "numpy"):
        pairs = zip(one, other, strict=True) if isinstance(one, Sequence) else ()
        for a, b in pairs:
            compare_results(a, b)
        return
    a, b = one.numpy(), other.numpy()
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Fault(f"{a.shape} {a.dtype} by one pipeline, {b.shape} {b.dtype} by another")
    limit = TOLERANCE.get(a.dtype.name, 0)
    with np.errstate(all="ignore"):
        if "float" in a.dtype.name:
            a, b = a.astype("float64"), b.astype("float64")
        if not np.allclose(a, b, limit, limit, equal_nan=a.dtype.kind == "f"):
            raise Fault("two pipelines give different numbers")


def graph_size(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 5))


def describe(graph: Graph) -> str:
    """The operators of a graph, for reports."""
    return " ".join(node.name for node in graph.nodes)
