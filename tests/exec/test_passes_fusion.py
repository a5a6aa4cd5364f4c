"""Fused programs compute what unfused ones do, and group what TVM groups."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.transform import PassPipeline


@I.ir_module
class Static:
    @R.function
    def main(
        x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 4), "float32"), b: R.Tensor((4,), "float32")
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.add(a, b)
            out = R.nn.relu(c)
            d = R.exp(out)
            e = R.sum(d, axis=1)
            g = R.nn.relu(e)
            sm = R.nn.softmax(g, axis=-1)
            sm2 = R.multiply(sm, sm)
            cc = R.concat((out, out), axis=0)
            ccr = R.nn.relu(cc)
            p = R.permute_dims(ccr)
            p2 = R.negative(p)
            p3 = R.split(p2, 2, axis=0)
            p4 = p3[0]
            p5 = R.exp(p4)
            R.output(out, sm2, p5)
        return (out, sm2, p5)


@I.ir_module
class Dynamic:
    @R.function
    def main(
        x: R.Tensor(("n", 8), "float32"),
        y: R.Tensor(("n", 8), "float32"),
        k: R.Tensor((2,), "int64"),
    ):
        n = T.int64()
        with R.dataflow():
            a = R.add(x, y)
            b = R.reshape(a, (n * 8,))
            c = R.nn.relu(b)
            q = R.full((n,), R.const(1.5, "float32"), "float32")
            r = R.exp(q)
            z = R.concat((a, x), axis=0)
            zz = R.nn.relu(z)
            k2 = R.add(k, k)
            k3 = R.multiply(k2, k)
            R.output(c, r, zz, k3)
        return (c, r, zz, k3)


@I.ir_module
class Diamond:
    @R.function
    def main(x: R.Tensor((5, 7), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.nn.relu(a)
            c = R.sin(a)
            d = R.add(b, c)
            e = R.max(d, axis=0, keepdims=True)
            f = R.subtract(d, e)
            g = R.sum(f, axis=1)
            R.output(f, g)
        return (f, g)


@I.ir_module
class Transposed:
    @R.function
    def main(
        x: R.Tensor(("n", 6), "float32"),
        w: R.Tensor((5, 6), "float32"),
        q: R.Tensor((2, 3, 4), "float32"),
        k: R.Tensor((2, 7, 4), "float32"),
    ):
        with R.dataflow():
            wt = R.permute_dims(w)
            a = R.matmul(x, wt)
            xt = R.permute_dims(x)
            b = R.matmul(xt, a)
            c = R.nn.relu(b)
            d = R.matmul(x, wt)
            kt = R.permute_dims(k, axes=[0, 2, 1])
            e = R.matmul(q, kt)
            f = R.multiply(e, R.const(0.5, "float32"))
            g = R.sum(wt, axis=0)
            R.output(a, c, d, f, g)
        return (a, c, d, f, g)


def run(mod: IRModule, pipeline: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    executable = relax.build(PassPipeline(pipeline)(mod), relax_pipeline=None)
    return [out.numpy() for out in relax.VirtualMachine(executable)["main"](*arguments)]


def random(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize(
    ("mod", "arguments"),
    [
        (Static, random((4, 8), (8, 4), (4,))),
        (Dynamic, [*random((3, 8), (3, 8)), np.array([2, 5])]),
        (Dynamic, [*random((1, 8), (1, 8)), np.array([-2, 5])]),
        (Dynamic, [*random((0, 8), (0, 8)), np.array([0, 1])]),
        (Diamond, random((5, 7))),
        (Diamond, [np.array([np.nan, np.inf, -np.inf, 0, 1, -1, 2] * 5, "float32").reshape(5, 7)]),
    ],
)
def test_fusion_changes_no_result(mod: IRModule, arguments: list[np.ndarray]):
    plain = run(mod, "relax-legalize-ops", arguments)
    fused = run(mod, "relax-zero", arguments)
    assert len(plain) == len(fused)
    for one, other in zip(plain, fused, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 4, 33])
def test_transposed_operands_are_read_in_place(n: int):
    arguments = random((n, 6), (5, 6), (2, 3, 4), (2, 7, 4))
    x, w, q, k = arguments
    fused = run(Transposed, "relax-default", arguments)
    a = x @ w.T
    expected = [a, np.maximum(x.T @ a, 0), a, (q @ k.transpose(0, 2, 1)) * 0.5, w.sum(1)]
    for one, other in zip(fused, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
    names = [v.name_hint for v in PassPipeline("relax-default")(Transposed).get_global_vars()]
    # Only the sum still needs the transposed weights.
    assert sum("transpose" in name and not name.startswith("fused") for name in names) == 1


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")):
        a = R.nn.relu(x)
        b = R.add(a, a)
        if c:
            d = R.exp(b)
            e = R.multiply(d, b)
            y = e
        else:
            f = R.negative(b)
            g = R.sin(f)
            y = g
        z = R.sum(y, axis=1)
        w = R.nn.relu(z)
        return w


@pytest.mark.parametrize("condition", [True, False])
def test_code_outside_dataflow_blocks_is_fused_too(condition: bool):
    (x,) = random((3, 4))
    module = PassPipeline("relax-default")(Branches)
    names = [var.name_hint for var in module.get_global_vars()]
    assert "fused_relu_add" in names
    executable = relax.build(Branches)
    out = relax.VirtualMachine(executable)["main"](np.array(condition), x).numpy()
    a = np.maximum(x, 0)
    y = np.exp(2 * a) * 2 * a if condition else np.sin(-2 * a)
    np.testing.assert_allclose(out, np.maximum(y.sum(1), 0), rtol=2e-5, atol=1e-5)


def test_planning_and_cleaning_change_no_result():
    (x,) = random((5, 7))
    plain = run(Diamond, "relax-legalize-ops", [x])
    cleaned = run(
        Diamond,
        "relax-eliminate-common-subexpr,relax-canonicalize-bindings,relax-normalize,relax-zero,"
        "relax-to-non-dataflow,relax-dead-code-elimination,relax-static-plan-block-memory",
        [x],
    )
    for one, other in zip(plain, cleaned, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-6, atol=1e-6)


ORACLE = """
import json, sys
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T
{program}
passes = relax.transform
mod = {name}
for p in (passes.LegalizeOps(), passes.AnnotateTIROpPattern(), passes.FuseOps(), passes.FuseTIR()):
    mod = p(mod)
names = [v.name_hint for v in mod.get_global_vars()]
print(json.dumps(sorted(names)))
"""


def source_of(name: str) -> str:
    text = Path(__file__).read_text(encoding="utf-8")
    match = re.search(rf"@I.ir_module\nclass {name}:\n(?:(?:    .*)?\n)+", text)
    assert match is not None
    return match[0]


@pytest.mark.tvm
@pytest.mark.parametrize(("name", "mod"), [("Static", Static), ("Diamond", Diamond)])
def test_groups_are_tvms(name: str, mod: IRModule, tmp_path: Path):
    program = ORACLE.format(program=source_of(name), name=name)
    file = tmp_path / "oracle.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    mine = PassPipeline(
        "relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops,relax-fuse-tir"
    )(mod)
    assert sorted(var.name_hint for var in mine.get_global_vars()) == json.loads(
        done.stdout.splitlines()[-1]
    )
