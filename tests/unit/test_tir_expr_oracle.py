"""Promotion, folding and printing of expressions: the same text and dtype as TVM 0.27.

Left out: a comparison of comparisons, which TVM prints without the parentheses it needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = """
x + 1; 1 + x; x * 2 + 0; x * 1; x * 0; 0 + x; 1 * x; x - 0; x - x; x // 2; x % 2; x // 1; x % 1
0 // x; 0 % x; y / 2; y + 1; y * 1.0; y * 0.0; y + 0.0; y - 0.0; 0 - y; y / 1.0; -x; -y; -(-x)
~(x > 1); ~x; x > 1; x >= z; x <= z; x < 2; (x + 1) < 2; x.equal(1)
tir.Select(x > 1, x, x + 1); tir.Select(b, 1.0, 0.0); tir.Select(b, x, y)
tir.exp(y); tir.max(x, 1); tir.min(y, 0); tir.max(x, x); tir.max(y, x); tir.max(x + 1, z) * 2
tir.Cast("float32", x); y.astype("int64"); b.astype("int32"); x.astype("int32")
tir.const(1, "int64") + x; tir.const(1, "float16") + x; x + l; x + y; u + x; h + y; h + x; u + 1
h * 2.5; x * 1.5; d + y; d + 1; u + i8; i8 + u; i8 + x; l + u; b + x; x + 1.0; 1.0 - y; 2 * x
tir.truncdiv(x, 3); tir.truncmod(x, 3); tir.floormod(x, 3); tir.floordiv(x, 3); tir.ceildiv(x, 4)
tir.indexdiv(x, 2); tir.indexmod(x, 2); tir.div(x, 2); 2 // x; 5 % x; 1 / y; x / y; y // 2; y % 2
tir.any(x > 1, x < 0); tir.all(x > 1, x < 0); tir.all(b, True); tir.any(b, tir.const(False))
tir.all(b, b); tir.Not(b); tir.Not(x > 1); tir.And(x > 1, z > 1)
tir.Or(x > 1, tir.And(z > 1, z < 2)); tir.all(tir.any(x > 1, x < 0), b); tir.Not(tir.And(b, b))
x << 1; x >> 1; x & 1; x | 3; x ^ 5; tir.shift_left(x, 1); tir.bitwise_and(x, 3); b & b; b | b
(x & 1) + 2; (x + 1) & 3; x << (z + 1); (x | 1) ^ (z & 3)
tir.if_then_else(x > 1, y, 0.0); tir.if_then_else(True, x, z); tir.if_then_else(x > 1, x, z)
tir.Let(x, 1, x + 1); tir.Ramp(x, 1, 4); tir.Broadcast(y, 4)
tir.infinity("float32"); tir.max_value("int8"); tir.min_value("float32"); tir.max_value("float16")
tir.max_value("float64"); tir.max_value("int64"); tir.min_value("int64"); tir.max_value("uint8")
tir.const(1.5, "float32"); tir.const(True); tir.const(3); tir.const(2**40); tir.const(1e-5)
tir.const(1e10, "float32"); tir.const(0.1, "float32"); tir.const(float("nan"), "float32")
tir.const(-1); tir.const(-1, "int64"); tir.const(-1.5, "float32"); tir.const(200, "int8")
tir.const(255, "uint8"); tir.const(1, "bool"); tir.const(1, "float64"); tir.const(0.1, "float64")
x + (-1); x - (-1); x * (-1); (x + 1) + 2; (x + 1) - (z + 1); x + z + 1; x - (z - 1); x + (z + 1)
x * (z + 1); (x * 2) * 3; x * (z * 3); (x // 2) % 3; x // (z * 2); x % (z + 1); x // 2 * 2
(x + 1) * 2 - 3; x - (x - 1); -(x + 1); (x + 1) // (z + 2) % 4; x // (z // 2)
tir.const(3) + 4; tir.const(7) // tir.const(2); tir.const(-7) // tir.const(2)
tir.const(-7) % tir.const(2); tir.truncdiv(tir.const(-7), tir.const(2)); tir.abs(tir.const(-3))
tir.truncmod(tir.const(-7), tir.const(2)); tir.div(tir.const(6), tir.const(4))
tir.const(1.0, "float32") * tir.const(3.0, "float32"); tir.min(tir.const(1), tir.const(2))
tir.const(1) < tir.const(2); tir.const(5, "int32") + tir.const(7, "int64"); x // 0; x % 0
tir.const(3, "uint8") - tir.const(4, "uint8"); tir.const(100, "int8") + tir.const(100, "int8")
tir.const(2147483647) + 1; tir.const(1) << tir.const(3); tir.const(0.1) + tir.const(0.2)
tir.sigmoid(y); tir.pow(y, 2); tir.pow(2.0, y); tir.abs(y); tir.abs(x); tir.isnan(y); tir.isnan(x)
tir.isinf(y); tir.isfinite(y); tir.sqrt(y); tir.rsqrt(y); tir.log1p(y); tir.log2(y); tir.exp10(y)
tir.erf(y); tir.tanh(h); tir.popcount(x); tir.fmod(y, y); tir.copysign(y, y); tir.hypot(y, y)
tir.atan2(y, y); tir.nextafter(y, y); tir.ldexp(y, x); tir.power(x, 2); tir.clz(x)
tir.floor(y); tir.floor(x); tir.ceil(tir.const(1.5)); tir.round(y); tir.nearbyint(y); tir.trunc(y)
tir.exp(tir.const(1.0, "float32")); tir.sqrt(tir.const(4.0, "float32")); tir.likely(x > 1)
tir.q_multiply_shift(x, x, 31, 0); tir.reinterpret("int32", y); tir.call_extern("int32", "foo", x)
tir.call_pure_extern("float32", "f", y); tir.call_packed("f", x); tir.convert(3); tir.convert(1.5)
tir.convert(True); tir.Broadcast(1, 4) + tir.Ramp(x, 1, 4); tir.IntImm("int8", 3)
tir.FloatImm("float16", 1)
"""


def cases() -> list[str]:
    parts = [p.strip() for line in PROGRAMS.splitlines() for p in line.split(";")]
    return [p for p in parts if p]


def results(side: str) -> list[str]:
    script = Path(__file__).with_name("tir_expr_oracle.py")
    found = subprocess.run(
        [sys.executable, str(script), side],
        input=json.dumps(cases()), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(found.stdout)


@pytest.mark.tvm
def test_expressions_are_tvms() -> None:
    pairs = zip(cases(), results("tvm"), results("relax_mlir"), strict=True)
    different = {program: (tvm, ours) for program, tvm, ours in pairs if tvm != ours}
    assert not different
