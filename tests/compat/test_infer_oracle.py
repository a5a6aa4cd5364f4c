"""The table of inferred types against TVM's own inference.

TVM runs in a process of its own; dimensions are compared by their values for two choices of the
symbols, since the two spell expressions differently.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.unit.infer_cases import CASES, parse

ORACLE = r"""
import json, sys
import tvm
from tvm import relax, tirx

DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i32": "int32",
          "i64": "int64", "u8": "uint8", "b": "bool"}
symbols = {name: tirx.Var(name, "int64") for name in "nm"}

def dim(v):
    return eval(v, {}, symbols) if isinstance(v, str) else v

def operand(entry):
    if entry and isinstance(entry[0], list):
        return [operand(e) for e in entry]
    name, content = entry
    if name == "shape":
        return [dim(v) for v in content]
    if name == "prim":
        value = content if isinstance(content, float) else dim(content[0])
        return value if not isinstance(value, (int, float)) else relax.prim_value(value)
    dtype = DTYPES[name]
    if content is None:
        return relax.Var("x", relax.TensorType(dtype=dtype))
    if isinstance(content, int):
        return relax.Var("x", relax.TensorType(ndim=content, dtype=dtype))
    return relax.Var("x", relax.TensorType([dim(v) for v in content], dtype))

def run(name, operands, attributes):
    function = relax.op
    for part in name.split("."):
        function = getattr(function, part)
    if name == "einsum":
        call = function(operand(operands[0]), **attributes)
    elif name == "shape_to_tensor":
        call = function(relax.ShapeExpr(operand(operands[0])))
    elif name == "clip":
        bounds = [relax.prim_value(attributes[k]) for k in ("min", "max")]
        call = function(operand(operands[0]), *bounds)
    else:
        call = function(*[operand(o) for o in operands], **attributes)
    return str(relax.BlockBuilder().normalize(call).ty)

for row in json.load(sys.stdin):
    try:
        print(json.dumps(run(*row)))
    except Exception as error:
        print(json.dumps("error: " + str(error).strip().splitlines()[-1]))
"""


def _closing(text: str, start: int) -> int:
    """The position of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0:
            return i
    raise ValueError(text)


def _fields(text: str) -> list[dict[str, Any]]:
    """Every tensor or shape in a type's text: dims (as expressions), dtype, rank."""
    text = re.sub(r"T\.int64\((-?\d+)\)", r"\1", text)
    found = []
    for match in re.finditer(r"R\.(Tensor|Shape)\(", text):
        start = match.end()
        inner = text[start : _closing(text, start - 1)]
        dims = inner[1 : _closing(inner, 0)].strip().rstrip(",") if inner[:1] in "([" else None
        dtype = re.search(r'"(\w+)"', inner)
        ndim = re.search(r"ndim=(\d+)", inner)
        found.append(
            {
                "kind": match.group(1),
                "dtype": dtype and dtype.group(1),
                "ndim": ndim and int(ndim.group(1)),
                "dims": dims,
            }
        )
    return found


def _value(dims: str | None, n: int, m: int) -> Any:
    if dims is None:
        return None
    scope = {"n": n, "m": m, "min": min, "max": max, "floordiv": lambda a, b: a // b}
    scope["floormod"] = lambda a, b: a % b
    return eval(f"({dims},)" if dims else "()", scope)


@pytest.mark.tvm
def test_types_are_tvms() -> None:
    rows = []
    for name, operands, attributes, _ in CASES:
        parsed = [[parse(t) for t in o] if isinstance(o, tuple) else parse(o) for o in operands]
        rows.append([name, parsed, attributes])
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    theirs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]
    assert len(theirs) == len(CASES)
    wrong = []
    for (name, operands, attributes, expected), text in zip(CASES, theirs, strict=True):
        ours, tvm = _fields(expected), _fields(text.replace("T.max", "max").replace("T.min", "min"))
        same = len(ours) == len(tvm) and all(
            (a["kind"], a["dtype"], a["ndim"]) == (b["kind"], b["dtype"], b["ndim"])
            and all(_value(a["dims"], *s) == _value(b["dims"], *s) for s in ((7, 11), (12, 5)))
            for a, b in zip(ours, tvm, strict=True)
        )
        if not same:
            wrong.append(f"{name}{operands} {attributes}: {expected}, TVM {text}")
    assert not wrong, "\n".join(wrong)
