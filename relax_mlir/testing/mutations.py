"""Programs with one operation taken out of their kernels: what a bug in a compiler would make.

broken = without_operation(program, "gpu.barrier", 1)
broken(a, b, c)   # on the emulated GPU: an EmulatorError that says what is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.mlir import arith, ir
from relax_mlir.runtime.compiled_code import CompiledCode
from relax_mlir.runtime.device_code import DeviceCode
from relax_mlir.runtime.executable import Executable

__all__ = ["kernel_operations", "without_condition", "without_operation"]


def kernel_operations(program: Executable, name: str) -> list[str]:
    """The operations of a name (such as "gpu.barrier") in the kernels of a program, as text."""
    with mlir.scope():
        return [str(op) for op in _find(_device_code(program).state.module.operation, (name,))]


def without_operation(
    program: Executable, name: str | Sequence[str], number: int = 0
) -> Executable:
    """A program like `program` whose kernels lack the number-th operation of a name (or of any of
    several names); it must have no results that are used.

    Raises Error when there are not so many, or when the program was not compiled for a GPU.
    """
    names = (name,) if isinstance(name, str) else tuple(name)
    device_code = _device_code(program)
    with mlir.scope():
        state = device_code.state.clone()
        op = _pick(state, names, number)
        if any(list(result.uses) for result in op.results):
            raise Error(f"{op.name} has a result that is used")
        op.erase()
    return _with_kernels(program, state)


def without_condition(program: Executable, number: int = 0) -> Executable:
    """A program like `program` in whose kernels the number-th condition (`scf.if`) always holds.

    Errors are those of `without_operation`.
    """
    device_code = _device_code(program)
    with mlir.scope():
        state = device_code.state.clone()
        op = _pick(state, ("scf.if",), number)
        with ir.InsertionPoint(op):
            op.operands[0] = arith.constant(ir.IntegerType.get_signless(1), 1)
    return _with_kernels(program, state)


def _pick(state: Any, names: Sequence[str], number: int) -> ir.Operation:
    found = _find(state.module.operation, names)
    if not 0 <= number < len(found):
        raise Error(f"the kernels have {len(found)} of {', '.join(names)}, not {number + 1}")
    return found[number]


def _with_kernels(program: Executable, state: Any) -> Executable:
    code, old = _code(program), _device_code(program)
    changed = replace(code, device_code=DeviceCode(state, old.names, old.target), _cache={})
    return type(program)(changed)


def _code(program: Executable) -> CompiledCode:
    code = program.mod.code
    if not isinstance(code, CompiledCode):
        raise Error("the program was loaded from a library, its kernels are not known")
    return code


def _device_code(program: Executable) -> DeviceCode:
    found = _code(program).device_code
    if found is None:
        raise Error('the program has no kernels: compile it with target="cuda"')
    return found


def _find(root: ir.Operation, names: Sequence[str]) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
