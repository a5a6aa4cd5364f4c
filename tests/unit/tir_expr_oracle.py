"""Evaluates expression programs and prints what they become: run once with TVM, once with ours.

python tir_expr_oracle.py tvm|relax_mlir    reads a JSON list of programs, writes one of results
"""

import json
import re
import sys

DECLARATION = re.compile(r"\w+ = T\.\w+\(\)$")


def evaluate(program: str, names: dict) -> str:
    try:
        result = eval(program, dict(names))
    except Exception:
        return "error"
    lines = [line for line in str(result).splitlines() if line.strip()]
    text = [line for line in lines if not line.startswith("#") and not DECLARATION.match(line)]
    return f"{' '.join(text)} : {getattr(result, 'ty', None)}"


def variables(te, tir) -> dict:
    kinds = {"x": "int32", "z": "int32", "l": "int64", "u": "uint8", "i8": "int8", "b": "bool"}
    kinds |= {"y": "float32", "h": "float16", "d": "float64"}
    return {"tir": tir, **{name: te.var(name, dtype) for name, dtype in kinds.items()}}


if __name__ == "__main__":
    if sys.argv[1] == "tvm":
        from tvm import te
        from tvm import tirx as tir
    else:
        from relax_mlir import te, tir
    programs = json.load(sys.stdin)
    names = variables(te, tir)
    json.dump([evaluate(program, names) for program in programs], sys.stdout)
