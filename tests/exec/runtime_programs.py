"""Programs in MLIR text that the runtime tests share: kernels on linalg, Relax functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.driver import compile
from relax_mlir.ir import IRModule
from relax_mlir.runtime.vm import VirtualMachine

KERNELS = """
func.func private @linear(
    %x: memref<?x?xf32> {tir.name = "x", tir.shape = ["M", "K"]},
    %w: memref<?x?xf32> {tir.name = "w", tir.shape = ["K", "N"]},
    %b: memref<?xf32> {tir.name = "b", tir.shape = ["N"]},
    %z: memref<?x?xf32> {tir.name = "z", tir.shape = ["M", "N"]}) attributes {tir.attrs = {}} {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %p : f32
  }
  linalg.matmul ins(%x, %w : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>)
  return
}
func.func private @relu(
    %x: memref<?x?xf32> {tir.name = "X", tir.shape = ["m", "n"]},
    %y: memref<?x?xf32> {tir.name = "Y", tir.shape = ["m", "n"]}) attributes {tir.attrs = {}} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.maximumf %p, %zero : f32
    linalg.yield %r : f32
  }
  return
}
"""


def tensor(*dims: int | str) -> str:
    """A float32 tensor type; strings are symbolic sizes."""
    if all(isinstance(dim, int) for dim in dims):
        return f"tensor<{''.join(f'{dim}x' for dim in dims)}f32>"
    sizes = "".join(f"{dim if isinstance(dim, int) else '?'}x" for dim in dims)
    names = ", ".join(f'"{dim}"' if isinstance(dim, str) else f"{dim} : i64" for dim in dims)
    return f"tensor<{sizes}f32, #relax.dims<[{names}]>>"


def call_tir(name: str, arguments: Mapping[str, str], result: str) -> str:
    """`relax.call_tir @name(arguments) -> result`; arguments maps values to their types."""
    return _call("call_tir", f"callee = @{name}", arguments, result)


def call_packed(name: str, arguments: Mapping[str, str], result: str, op: str = "packed") -> str:
    return _call(f"call_{op}", f'callee = "{name}"', arguments, result)


def call(name: str, arguments: Mapping[str, str], result: str) -> str:
    return _call("call", f"callee = @{name}", arguments, result)


def _call(op: str, callee: str, arguments: Mapping[str, str], result: str) -> str:
    operands, kinds = ", ".join(arguments), ", ".join(arguments.values())
    return f'"relax.{op}"({operands}) {{{callee}}} : ({kinds}) -> {result}'


def function(
    name: str, parameters: Mapping[str, str], result: str, body: str, private: bool = False
) -> str:
    """A Relax function; `parameters` maps names to types, `body` ends in a return."""
    arguments = ", ".join(
        f'%{parameter}: {kind} {{relax.name = "{parameter}"}}'
        for parameter, kind in parameters.items()
    )
    visibility = "private " if private else ""
    head = f"func.func {visibility}@{name}({arguments}) -> {result}"
    return f"{head} attributes {{relax.attrs = {{}}}} {{\n{body}\n}}\n"


def machine(text: str, constants: Mapping[str, Any] | None = None) -> VirtualMachine:
    """Compile a program as it is and make it ready to call."""
    module = IRModule.parse(text, constants)
    return VirtualMachine(compile(module, "llvm", relax_pipeline=None))


N = tensor("n", "n")
RELU_OF_X = "  %r = " + call_tir("relu", {"%x": N}, N) + f"\n  return %r : {N}"
