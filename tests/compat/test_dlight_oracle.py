"""dlight's rules against TVM's: which rule takes a function, and over how many thread blocks and
threads it spreads each loop nest.

TVM runs in a process of its own, on the text of the functions that our legalisation makes.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from relax_mlir import dlight, relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc

RULES = ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Transpose", "Fallback")

# Name -> (parameters, expression, the rule).
CASES: dict[str, tuple[str, str, str]] = {
    "matmul": ("x: R.Tensor((128, 64), D), y: R.Tensor((64, 256), D)", "R.matmul(x, y)", "Matmul"),
    "matmul_odd": ("x: R.Tensor((70, 33), D), y: R.Tensor((33, 130), D)", "R.matmul(x, y)",
                   "Matmul"),
    "matmul_batched": ("x: R.Tensor((4, 32, 48), D), y: R.Tensor((4, 48, 64), D)",
                       "R.matmul(x, y)", "Matmul"),
    "dense": ("x: R.Tensor((2, 16, 48), D), y: R.Tensor((48, 64), D)", "R.matmul(x, y)", "Matmul"),
    "conv2d": ("x: R.Tensor((1, 8, 10, 10), D), y: R.Tensor((16, 8, 3, 3), D)",
               "R.nn.conv2d(x, y)", "Matmul"),
    "gemv": ("x: R.Tensor((256, 512), D), y: R.Tensor((512,), D)", "R.matmul(x, y)", "GEMV"),
    "gemv_odd": ("x: R.Tensor((100, 96), D), y: R.Tensor((96,), D)", "R.matmul(x, y)", "GEMV"),
    "sum_inner": ("x: R.Tensor((32, 256), D)", "R.sum(x, axis=-1)", "Reduction"),
    "sum_inner_odd": ("x: R.Tensor((30, 100), D)", "R.sum(x, axis=-1)", "Reduction"),
    "sum_two_axes": ("x: R.Tensor((6, 8, 16), D)", "R.sum(x, axis=[1, 2])", "Reduction"),
    "sum_outer": ("x: R.Tensor((256, 64), D)", "R.sum(x, axis=0)", "Reduction"),
    "sum_outer_odd": ("x: R.Tensor((40, 30), D)", "R.sum(x, axis=0)", "Reduction"),
    "mean_inner": ("x: R.Tensor((32, 256), D)", "R.mean(x, axis=-1)", "Reduction"),
    "softmax": ("x: R.Tensor((8, 300), D)", "R.nn.softmax(x)", "GeneralReduction"),
    "log_softmax": ("x: R.Tensor((8, 64), D)", "R.nn.log_softmax(x)", "GeneralReduction"),
    "layer_norm": ("x: R.Tensor((4, 6, 64), D), g: R.Tensor((64,), D), b: R.Tensor((64,), D)",
                   "R.nn.layer_norm(x, g, b, axes=[-1])", "GeneralReduction"),
    "rms_norm": ("x: R.Tensor((4, 64), D), g: R.Tensor((64,), D)",
                 "R.nn.rms_norm(x, g, axes=[-1])", "Reduction"),
    "transpose": ("x: R.Tensor((64, 96), D)", "R.permute_dims(x)", "Transpose"),
    "transpose_odd": ("x: R.Tensor((50, 33), D)", "R.permute_dims(x)", "Transpose"),
    "add": ("x: R.Tensor((64, 96), D), y: R.Tensor((96,), D)", "R.add(x, y)", "Fallback"),
    "relu_small": ("x: R.Tensor((3, 5), D)", "R.nn.relu(x)", "Fallback"),
    "take": ("x: R.Tensor((50, 33), D), i: R.Tensor((7,), \"int32\")", "R.take(x, i, axis=0)",
             "Fallback"),
    "concat": ("x: R.Tensor((5, 33), D), y: R.Tensor((6, 33), D)", "R.concat((x, y))", "Fallback"),
    "strided_slice": ("x: R.Tensor((50, 40), D)",
                      "R.strided_slice(x, [0, 1], [1, 2], [40, 30])", "Fallback"),
}  # fmt: skip

ORACLE = """
import json, re, sys
from tvm import s_tir
from tvm.s_tir import dlight
from tvm.script import from_source, ir as I, tirx as T
from tvm.target import Target
sources, rules = json.load(sys.stdin)
spellings = {"T.block": "T.sblock", "T.alloc_buffer": "T.sblock_alloc_buffer",
             "@T.prim_func(private=True)": "@T.prim_func(s_tir=True)"}
out = {}
for name, source in sources.items():
    for ours, theirs in spellings.items():
        source = source.replace(ours, theirs)
    try:
        function = from_source(source, {"T": T})
        function = function.with_attr("global_symbol", "main")
        target = Target("cuda")
        with target:
            for rule in rules:
                sch = getattr(dlight.gpu, rule)().apply(function, target, False)
                if sch is not None:
                    out[name] = [rule, sch.mod["main"].script()]
                    break
    except Exception as error:
        out[name] = ["error", repr(error)]
json.dump(out, sys.stdout)
"""


def functions() -> dict[str, PrimFunc]:
    """The function that each case is legalised to."""
    lines = ["@I.ir_module", "class Module:"]
    for name, (parameters, expression, _) in CASES.items():
        kinds = parameters.replace("D)", '"float32")')
        lines += ["    @R.function", f"    def {name}({kinds}):", f"        lv = {expression}",
                  "        return lv"]  # fmt: skip
    module = from_source("\n".join(lines) + "\n")
    assert isinstance(module, IRModule)
    legal = relax.transform.LegalizeOps()(module)
    text = legal.script()
    callee = {
        name: re.search(rf"def {name}\(.*?call_tir\(cls\.(\w+)", text, re.DOTALL) for name in CASES
    }
    found: dict[str, PrimFunc] = {}
    for name, match in callee.items():
        assert match is not None, name
        function = legal[match[1]]
        assert isinstance(function, PrimFunc)
        found[name] = function
    return found


@cache
def ours() -> dict[str, list[str]]:
    target, found = Target("cuda"), {}
    for name, function in functions().items():
        for rule in RULES:
            sch: Any = getattr(dlight.gpu, rule)().apply(function, target, False)
            if sch is not None:
                found[name] = [rule, sch.mod["main"].script()]
                break
    return found


@cache
def theirs() -> dict[str, list[str]]:
    if importlib.util.find_spec("tvm") is None:
        pytest.skip("apache-tvm is not installed")
    sources = {name: function.script() for name, function in functions().items()}
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input=json.dumps([sources, RULES]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout[done.stdout.index("{") :])


def shape(text: str) -> list[dict[str, list[str]]]:
    """For each outermost nest the extents of each axis, in order of appearance."""
    nests: list[dict[str, list[str]]] = []
    for line in text.splitlines():
        # A nest of the function's body is indented once, or twice below the root block.
        for extent, axis in re.findall(r'T\.thread_binding\((.*?), thread="(\S+?)"', line):
            if not nests or (axis == "blockIdx.x" and "blockIdx.x" in nests[-1]):
                nests.append({})
            plain = re.sub(r"T\.int64\((\d+)\)", r"\1", extent)
            extents = nests[-1].setdefault(axis, [])
            if plain not in extents:
                extents.append(plain)
    return nests


def axes(text: str) -> list[dict[str, list[str]]]:
    """`shape` without virtual threads and axes of extent one, which launch nothing."""
    return [
        {axis: extents for axis, extents in nest.items()
         if extents != ["1"] and not axis.startswith("vthread")}
        for nest in shape(text)
    ]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    assert ours()[name][0] == CASES[name][2]


@pytest.mark.tvm
@pytest.mark.parametrize("name", CASES)
def test_same_rule_and_threads_as_tvm(name: str) -> None:
    rule, text = theirs()[name]
    assert ours()[name][0] == rule, text
    assert axes(ours()[name][1]) == axes(text), text
