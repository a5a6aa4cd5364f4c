"""Elementary functions on GPUs: our own, as exact as they should be, and no calls of libdevice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.ir import IRModule
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.to_nvvm.ptx import emit_ptx
from relax_mlir.mlir import ir
from tests.gpu.ptxas import assemble

REFERENCES = {
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -8, 8),
    "sinh": (np.sinh, -8, 8),
    "cosh": (np.cosh, -8, 8),
    "tanh": (np.tanh, -4, 4),
    "asinh": (np.arcsinh, -8, 8),
    "acosh": (np.arccosh, 1, 50),
    "atanh": (np.arctanh, -0.99, 0.99),
    "sin": (np.sin, -20, 20),
    "cos": (np.cos, -20, 20),
    "tan": (np.tan, -1.5, 1.5),
    "exp": (np.exp, -20, 20),
    "exp2": (np.exp2, -20, 20),
    "expm1": (np.expm1, -4, 4),
    "log": (np.log, 1e-6, 50),
    "log2": (np.log2, 1e-6, 50),
    "log10": (np.log10, 1e-6, 50),
    "log1p": (np.log1p, -0.9, 9),
    "erf": (np.vectorize(math.erf), -4, 4),
    "cbrt": (np.cbrt, -9, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 9),
}
ULPS = {"f32": (2.0**-23, np.float32), "f64": (2.0**-52, np.float64)}


def expanded_on_the_cpu(kind, names):
    """A program that computes the functions as kernels do: expanded, then compiled for the CPU."""
    bodies = "\n".join(
        f"func.func @{name}(%x: {kind}) -> {kind} {{\n"
        f"%y = math.{name} %x : {kind}\nreturn %y : {kind} }}"
        for name in names
    )
    with mlir.scope():
        kernels = ModuleState(ir.Module.parse(f"gpu.module @k {{ {bodies} }}"))
        run(kernels, "gpu-device-math,math-to-polynomials")
        module = kernels.module.body.operations[0].operation
        functions = [str(op) for op in module.regions[0].blocks[0].operations]
    loops = "\n".join(
        f"""func.func @{name}_all(%a: memref<?x{kind}> {{tir.name = "a", tir.shape = ["n"]}},
            %b: memref<?x{kind}> {{tir.name = "b", tir.shape = ["n"]}})
            attributes {{tir.attrs = {{}}}} {{
          %c0 = arith.constant 0 : index
          %n = memref.dim %a, %c0 : memref<?x{kind}>
          "tir.for"(%n) ({{
          ^bb0(%i: index):
            %v = memref.load %a[%i] : memref<?x{kind}>
            %r = func.call @{name}(%v) : ({kind}) -> {kind}
            memref.store %r, %b[%i] : memref<?x{kind}>
          }}) {{kind = "serial", bounds = array<i64: 0, {-(2**63)}>}} : (index) -> ()
          return
        }}"""
        for name in names
    )
    import relax_mlir

    return relax_mlir.build(IRModule.parse("\n".join([*functions, loops])), target="llvm")


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_functions_are_exact(kind):
    step, dtype = ULPS[kind]
    skipped = {"f32": ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf", "sin", "cos",
                       "rsqrt"), "f64": ()}[kind]  # fmt: skip
    names = [name for name in REFERENCES if name not in skipped]
    program = expanded_on_the_cpu(kind, names)
    for name in names:
        reference, low, high = REFERENCES[name]
        x = np.linspace(low, high, 1001).astype(dtype)
        x = np.clip(x, low, high).astype(dtype)
        y = np.zeros_like(x)
        program[f"{name}_all"](x, y)
        wanted = reference(x.astype(np.float64))
        # Near a zero of the function, what counts is the argument's own rounding.
        error = np.abs(y - wanted) / np.maximum(np.abs(wanted), 1e-2)
        assert error.max() < 8 * step, f"{name}: {error.max() / step} at {x[error.argmax()]}"


KERNEL = """
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @f(%a: memref<32x{kind}>) kernel {{
      %i = gpu.thread_id x
      %x0 = memref.load %a[%i] : memref<32x{kind}>
      {calls}
      memref.store %x{last}, %a[%i] : memref<32x{kind}>
      gpu.return
    }}
  }}
}}
"""


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_every_function_assembles(kind):
    pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")
    names = [*REFERENCES, "sqrt", "absf", "floor", "ceil", "roundeven", "trunc"]
    calls = [f"%x{n + 1} = math.{name} %x{n} : {kind}" for n, name in enumerate(names)]
    last = len(names)
    for name in ("powf", "atan2", "copysign"):
        calls.append(f"%x{last + 1} = math.{name} %x{last}, %x0 : {kind}")
        last += 1
    with mlir.scope():
        text = KERNEL.format(kind=kind, calls="\n".join(calls), last=last)
        ptx = emit_ptx(ModuleState(ir.Module.parse(text)), "sm_80")
    assert "__nv_" not in ptx
    assert "call" not in ptx
    assemble(ptx, "sm_80")


def test_quotients_of_float16_are_no_divisions():
    """Of vectors too, which go lane by lane; those of float32 are divided."""
    body = """gpu.module @k {
      gpu.func @f(%a: !llvm.ptr, %b: !llvm.ptr) kernel {
        %x = llvm.load %a : !llvm.ptr -> vector<4xf16>
        %y = llvm.load %b : !llvm.ptr -> vector<4xf16>
        %q = arith.divf %x, %y : vector<4xf16>
        llvm.store %q, %a : vector<4xf16>, !llvm.ptr
        gpu.return
      } }"""
    with mlir.scope():
        module = ir.Module.parse(body)
        halves = emit_ptx(ModuleState(module))
        singles = emit_ptx(ModuleState(ir.Module.parse(body.replace("f16", "f32"))))
    assert halves.count("rcp.approx") == 4 and "div.rn" not in halves
    assert singles.count("div.rn") == 4
    assemble(halves, "sm_80")
