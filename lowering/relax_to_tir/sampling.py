"""Legalisation of multinomial_from_uniform."""

from __future__ import annotations

from relax_mlir import te
from relax_mlir.lowering.relax_to_tir.rows import legalize_loops
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder


@legalize_loops("multinomial_from_uniform")
def _multinomial(
    build: PrimFuncBuilder,
    prob: Buffer,
    uniform: Buffer,
    indices: Buffer,
    out: Buffer,
    *,
    dtype: str,
) -> None:
    """The first class whose cumulative probability exceeds the sample, else the last one."""
    rows, classes = prob.shape
    total = build.alloc_buffer("total", [1], "float32")
    chosen = build.alloc_buffer("chosen", [1], "int64")
    with build.for_("serial", 0, out.shape[0], "i", "int64") as i:
        given = indices[i, 0].astype("int64")
        row = build.let("row", O.max(O.min(given, rows - 1), O.const(0, "int64")))
        sample = build.let("sample", uniform[i, 0].astype("float32"))
        build.store(total, O.const(0.0, "float32"), [0])
        build.store(chosen, classes - 1, [0])
        with build.for_("serial", 0, classes, "j", "int64") as j:
            build.store(total, total[0] + prob[row, j].astype("float32"), [0])
            with build.if_(te.all(total[0] > sample, j < chosen[0])):
                build.store(chosen, j, [0])
        build.store(out, chosen[0], [i, 0])
