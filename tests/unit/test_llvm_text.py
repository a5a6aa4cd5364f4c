"""Constants in LLVM's text: the newest spelling becomes one that all versions read."""

from __future__ import annotations

import pytest

from relax_mlir import mlir
from relax_mlir.lowering.to_nvvm.llvm_text import for_older_llvm
from relax_mlir.mlir import ir, llvm

CASES = [
    ("ret float 1.000000e-01", "ret float 0x3FB99999A0000000"),
    ("ret float f0x3DCCCCCD", "ret float 0x3FB99999A0000000"),
    ("ret float -inf", "ret float 0xFFF0000000000000"),
    ("ret float +snan(0x1)", "ret float 0x7FF0000020000000"),
    ("ret double f0x3F6208D3570AE5A6", "ret double 0x3F6208D3570AE5A6"),
    ("ret half 9.997550e-02", "ret half 0xH2E66"),
    ("ret bfloat +qnan", "ret bfloat 0xR7FC0"),
    ("%3 = fadd float %x1.5, 2.500000e-01", "%3 = fadd float %x1.5, 0x3FD0000000000000"),
    ("%4 = fpext float 5.000000e-01 to double", "%4 = fpext float 0x3FE0000000000000 to double"),
    ('@s = constant [8 x i8] c"float 1.5"', '@s = constant [8 x i8] c"float 1.5"'),
    ("!0 = !{i32 2, i32 3}", "!0 = !{i32 2, i32 3}"),
]


@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_constants(line: str, wanted: str) -> None:
    assert for_older_llvm(line) == wanted


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_llvmlite_reads_it(kind: str) -> None:
    binding = pytest.importorskip("llvmlite.binding")
    with mlir.scope():
        module = ir.Module.parse(f"""
            llvm.func @f(%x: {kind}) -> {kind} {{
              %a = llvm.mlir.constant(0.1 : {kind}) : {kind}
              %b = llvm.fadd %x, %a : {kind}
              llvm.return %b : {kind}
            }}""")
        text = llvm.translate_module_to_llvmir(module.operation)
    parsed = binding.parse_assembly(for_older_llvm(text))
    parsed.verify()
