"""Runs Relax operators on the CPU: many in one compiled module, each compared with a reference.

A case has numpy arrays (tensors), tuples of ints (shapes) and Python numbers (scalars) as operands.
`dims` names symbolic dimensions of a tensor operand by position: `dims={0: ("n", 4)}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

import relax_mlir
from relax_mlir import mlir, relax
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.mlir import func, ir

LEGALIZE = "builtin.module(relax-legalize-ops)"

TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-12,
}


@dataclass(eq=False)
class Case:
    """One operator on given operands; `reference` computes what it should give."""

    name: str
    operands: Sequence[Any]
    reference: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    dims: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    calls: Sequence[Sequence[Any]] = ()
    """Further operands to call the same compiled function with."""
    tolerance: float | None = None
    constants: Sequence[int] = ()
    """Operands that are constants of the program, not parameters."""

    def __repr__(self) -> str:
        shapes = [getattr(o, "shape", o) for o in _flat(self.operands)]
        return f"{self.name}-{shapes}-{self.attributes}".replace(" ", "")


class Program:
    """The module of a list of cases, compiled when first needed."""

    def __init__(self, cases: Sequence[Case], pipeline: str = LEGALIZE):
        self.cases = list(cases)
        self.pipeline = pipeline

    @cached_property
    def machine(self) -> Any:
        """All functions in one module; None when some case does not compile."""
        try:
            return self._compile(self.cases)
        except Error:
            return None

    def _compile(self, cases: Sequence[Case]) -> Any:
        module = build_module(cases)
        compiled = relax_mlir.compile(module, "llvm", relax_pipeline=self.pipeline)
        return relax.VirtualMachine(compiled, relax_mlir.cpu())

    def check(self, case: Case) -> None:
        """Run the case's function on all its operands and compare."""
        if self.machine is None:  # so that the other cases show what they do
            function = self._compile([case])["f0"]
        else:
            function = self.machine[f"f{self.cases.index(case)}"]
        for operands in [case.operands, *case.calls]:
            given = [o for i, o in enumerate(operands) if i not in case.constants]
            tensors = [o for o in _flat(given) if isinstance(o, np.ndarray)]
            got = function(*tensors)
            expected = case.reference(*operands)
            several = isinstance(expected, (tuple, list))
            pairs = zip(got, expected, strict=True) if several else [(got, expected)]
            for actual, wanted in pairs:
                compare(actual, np.asarray(wanted), case)


def compare(actual: Any, wanted: np.ndarray, case: Case) -> None:
    """Shapes and dtypes are equal, values within the dtype's tolerance, NaN where NaN is due."""
    array = actual.numpy()
    assert array.shape == wanted.shape, f"{case}: shape {array.shape}, expected {wanted.shape}"
    assert array.dtype == wanted.dtype, f"{case}: dtype {array.dtype}, expected {wanted.dtype}"
    name = wanted.dtype.name
    if name not in TOLERANCE:
        np.testing.assert_array_equal(array, wanted, err_msg=repr(case))
        return
    limit = TOLERANCE[name] if case.tolerance is None else case.tolerance
    np.testing.assert_allclose(
        array.astype("float64"),
        wanted.astype("float64"),
        rtol=limit,
        atol=limit,
        err_msg=repr(case),
    )


def _flat(operands: Sequence[Any]) -> list[Any]:
    """Operands with lists (variadic ones) opened."""
    flat: list[Any] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, list) else [operand])
    return flat


def build_module(cases: Sequence[Case]) -> IRModule:
    """A module with one function a case, `f0`, `f1` ..."""
    with mlir.scope():
        state = ModuleState(ir.Module.create())
        for number, case in enumerate(cases):
            with ir.InsertionPoint(state.module.body):
                _build_function(f"f{number}", case, state)
        return IRModule.from_state(state).verify()


def _build_function(name: str, case: Case, state: ModuleState) -> None:
    tensors = [
        (position, operand)
        for position, operand in enumerate(_flat(case.operands))
        if isinstance(operand, np.ndarray) and position not in case.constants
    ]
    kinds = [
        types.tensor_type(case.dims.get(position, array.shape), array.dtype.name)
        for position, array in tensors
    ]
    function = func.FuncOp(name, ir.FunctionType.get(kinds, []))
    names = [{"relax.name": ir.StringAttr.get(f"x{i}")} for i in range(len(kinds))]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(n) for n in names])
    function.attributes["relax.attrs"] = to_attribute({})
    entry = function.add_entry_block()
    parameters = dict(zip([p for p, _ in tensors], entry.arguments, strict=True))
    with ir.InsertionPoint(entry):
        result = build(SPECS[case.name], _values(case, parameters, state), case.attributes)
        func.ReturnOp([result])
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(kinds, [result.type])
    )


def _values(case: Case, parameters: dict[int, ir.Value], state: ModuleState) -> list[Any]:
    """The operands as values, one entry an operand of the row."""
    position = 0
    values: list[Any] = []

    def value(operand: Any) -> Any:
        nonlocal position
        position += 1
        if operand is None:
            return None
        if isinstance(operand, np.ndarray):
            if position - 1 in parameters:
                return parameters[position - 1]
            return build_constant(operand, state.constants)
        if isinstance(operand, tuple):
            return create("relax.shape_expr", [types.shape_type(operand)]).result
        return _scalar(operand)

    for operand in case.operands:
        entries = operand if isinstance(operand, list) else None
        values.append([value(o) for o in entries] if entries is not None else value(operand))
    missing = len(SPECS[case.name].operands) - len(values)
    return [*values, *[None] * missing]


def _scalar(operand: Any) -> ir.Value:
    if isinstance(operand, float):
        kind = types.prim_type("float32")
        value: dict[str, ir.Attribute] = {"value": to_attribute(operand)}
        return create("relax.prim_value", [kind], attributes=value).result
    return create("relax.prim_value", [types.prim_type("int64", operand)]).result


_GENERATOR = np.random.default_rng(20240607)


def random(shape: Any, dtype: str = "float32", low: float = -2, high: float = 2) -> np.ndarray:
    """Fresh values; the generator is seeded and the cases are made in order, so tests repeat."""
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype == "bool":
        return np.asarray(_GENERATOR.random(size) < 0.5)
    if dtype.startswith(("int", "uint")):
        return np.asarray(_GENERATOR.integers(int(low), int(high) + 1, size)).astype(dtype)
    kind = getattr(ml_dtypes, dtype, dtype)
    return np.asarray(_GENERATOR.random(size) * (high - low) + low).astype(kind)
