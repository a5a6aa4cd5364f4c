"""TVM 0.27 reads what we print in its spelling, and infers the same types."""

from __future__ import annotations

import subprocess
import sys

import pytest

from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

# Reads programs separated by a line of dashes, prints them as TVM does.
READ = """
import sys
from tvm.script import from_source, ir as I, tirx as T, relax as R
for text in sys.stdin.read().split("\\n-----\\n"):
    print(from_source(text, extra_vars={"I": I, "T": T, "R": R}).script())
    print("-----")
"""


@I.ir_module
class Mixed:
    @T.prim_func(private=True)
    def double(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("y"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4, 5), "float32")):
        R.func_attr({"num_input": 1})
        cls = Mixed
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
            lv1 = R.matmul(lv, w) + 1.0
            lv2 = R.call_dps_packed("env.f", (lv1,), out_sinfo=R.Tensor((5,), "float32"))
            t = lv1, lv2
            gv = R.concat(t, axis=0)
            R.output(gv)
        return gv


@R.function
def symbolic(x: R.Tensor(("n", 4), "float32"), y: R.Tensor("float32", ndim=2)):
    n, m = T.int64(), T.int64()
    a = R.match_cast(y, R.Tensor((m, 4), "float32"))
    b = R.concat((x, a), axis=0)
    c = R.sum(R.nn.softmax(b, axis=-1), axis=1, keepdims=True)
    d = R.reshape(x, (n * 4,))
    return (c, d)


@R.function(pure=False)
def branches(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"), o: R.Object):
    if c:
        z = R.exp(x)
    else:
        y = R.sin(x)
        z = R.add(y, y)
    _ = R.call_packed("print", z, R.prim_value(3), R.str("a"), sinfo_args=R.Object)
    return z


@pytest.mark.tvm
@pytest.mark.slow
def test_tvm_reads_our_text() -> None:
    programs = [Mixed, symbolic.with_attr("global_symbol", "symbolic"), branches]
    texts = [p.script(syntax="tirx") for p in programs]
    run = subprocess.run(
        [sys.executable, "-c", READ],
        input="\n-----\n".join(texts),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    printed = run.stdout.split("-----\n")
    for program, text in zip(programs[:2], printed, strict=False):
        assert from_source(text) == program, text
    # TVM gives the value of a branch a second name, and prints a scalar argument as a number.
    again = from_source(printed[2])
    assert again.struct_info == branches.struct_info and not again.is_pure
    assert 'R.call_packed("print", z, R.prim_value(3), R.str("a"))' in again.script()
