"""Prints the PrimFuncs of tensor programs, with TVM or with ours, for comparison.

    python te_oracle.py tvm|relax_mlir    reads a JSON list of expressions, writes one of texts

Spellings that differ between TVM's versions are made one.
"""

import json
import re
import sys


def inputs_of(tensors) -> list:
    found: list = []

    def visit(tensor) -> None:
        for source in tensor.op.input_tensors:
            visit(source)
        if "Placeholder" in type(tensor.op).__name__ and tensor not in found:
            found.append(tensor)

    for tensor in tensors:
        visit(tensor)
    return found


def text_of(program: str, names: dict) -> list[str]:
    result = eval(program, dict(names))
    several = isinstance(result, (list, tuple)) or "Array" in type(result).__name__
    outputs = list(result) if several else [result]
    function = names["te"].create_prim_func([*inputs_of(outputs), *outputs])
    lines = []
    for line in function.script().splitlines():
        if not line or line.lstrip().startswith(("#", "@", "T.func_attr", "def ")):
            continue
        line = line.replace("T.sblock_alloc_buffer", "T.alloc_buffer").replace(
            "T.sblock", "T.block"
        )
        lines.append(re.sub(r"T\.let\[(T\.\w+)\]", r"\1", line))
    return lines


def names_of(te, topi, tir) -> dict:
    shapes = {
        "F": ((8, 16), "float32"), "G": ((8, 16), "float32"), "FT": ((16, 8), "float32"),
        "V": ((16,), "float32"), "W": ((16,), "float32"), "V8": ((8,), "float32"),
        "S": ((), "float32"), "N": ((8, 16), "int32"), "M": ((8, 16), "int32"),
        "B": ((8, 16), "bool"), "C": ((8, 16), "bool"), "H": ((8, 16), "float16"),
        "T3": ((4, 5, 6), "float32"), "U3": ((4, 6, 3), "float32"), "P3": ((5, 6), "float32"),
        "Q3": ((5, 6), "float32"), "U": ((1, 5, 1, 3), "float32"), "X": ((3,), "int32"),
        "X2": ((2, 3), "int32"), "XG": ((8, 4), "int32"), "D": ((1, 4, 6, 6), "float32"),
        "K": ((8, 4, 3, 3), "float32"), "KG": ((8, 2, 3, 3), "float32"),
        "L": (tuple(tir.const(s, "int64") for s in (4, 5)), "float32"),
    }  # fmt: skip
    tensors = {name: te.placeholder(s, d, name) for name, (s, d) in shapes.items()}
    return {**tensors, "te": te, "topi": topi, "tir": tir}


if __name__ == "__main__":
    if sys.argv[1] == "tvm":
        from tvm import te, topi
        from tvm import tirx as tir
    else:
        from relax_mlir import te, tir, topi
    programs = json.load(sys.stdin)
    names = names_of(te, topi, tir)
    json.dump([text_of(program, names) for program in programs], sys.stdout)
