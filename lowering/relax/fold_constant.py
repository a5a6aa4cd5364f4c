"""relax-fold-constant."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant, read_constant
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, find_pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues, moves_elements
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    call_tir_operands,
    callee_of,
    prim_functions,
    relax_functions,
    walk,
)
from relax_mlir.lowering.tir_to_gpu.kernel_roots import thread_loops
from relax_mlir.mlir import func, ir

Evaluator = Callable[[ModuleState, list[np.ndarray]], list[np.ndarray]]

# Named, not imported: the compiler that runs the functions is built on top of the passes.
EVALUATOR = ("relax_mlir.transform.evaluate", "evaluate_main")
LEGALIZE = "relax-legalize-ops"
_GLUE = frozenset(("relax.tuple", "relax.tuple_get_item", "relax.bind", "relax.shape_expr"))


@register_pass("relax-fold-constant")
@dataclass(frozen=True)
class FoldConstant(Pass):
    """Compute calls whose arguments are all constants, by compiling and running them.

    Calls to TensorIR functions and operators that can be legalized are computed; those without a
    tensor argument (`zeros`, `arange`) stay as they are, as do results of unknown size.

    moves_only: compute only operators that move elements (reshape, permute_dims, ...), which needs
    no compiler.  Often, as for the weight of a last linear layer, nothing else is left to compute.
    """

    moves_only: bool = False

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            if self.moves_only:
                _fold_moves(state, function)
            else:
                _Folder(state, function).run()


def _fold_moves(state: ModuleState, function: ir.Operation) -> None:
    """Replace what operators make of constants by moving their elements."""
    values = ConstantValues(state)
    moves = [op for op in walk(function) if moves_elements(op)]
    moved = {op.results[0]: array for op in moves
             if (array := values.of(op.results[0])) is not None}  # fmt: skip
    inside = {value.owner.operation: None for value in moved}
    fed = {operand.owner.operation: None for op in inside for operand in op.operands}
    for value, array in moved.items():
        if any(use.owner.operation not in inside for use in value.uses):
            op = value.owner.operation
            with ir.InsertionPoint(op):
                constant = build_constant(
                    np.ascontiguousarray(array), state.constants, op.location, value.type
                )
            value.replace_all_uses_with(constant)
    _erase_unused([*(op for op in fed if op not in inside), *inside])


class _Folder:
    """Folds one function: everything constant is computed in one compiled function."""

    def __init__(self, state: ModuleState, function: ir.Operation) -> None:
        self.state = state
        self.function = function
        # Threads that wait for each other cannot run one after the other, as on a CPU.
        found = prim_functions(state).items()
        self.kernels = {name: op for name, op in found if not thread_loops(op)}
        self.refused: set[str] = set()

    def run(self) -> None:
        arrays, computed = self._collect()
        while computed:
            frontier = _frontier(computed)
            evaluation = self._evaluation_module(arrays, computed, frontier)
            remaining = _legalize(evaluation)
            if remaining:
                # Operators without a legalisation stay; what depends on them stays too.
                self.refused |= remaining
                arrays, computed = self._collect()
                continue
            module, name = EVALUATOR
            evaluate = cast(Evaluator, getattr(importlib.import_module(module), name))
            self._replace(frontier, evaluate(evaluation, list(arrays.values())))
            _erase_unused([*(value.owner.operation for value in arrays), *computed])
            return

    def _collect(self) -> tuple[dict[ir.Value, np.ndarray], list[ir.Operation]]:
        """The constants of the function, and the operations that can be computed from them."""
        arrays: dict[ir.Value, np.ndarray] = {}
        known: set[ir.Value] = set()
        computed: list[ir.Operation] = []
        for op in walk(self.function):
            if op.name == "relax.constant":
                array = read_constant(op, self.state.constants)
                if array is not None and op.results[0].type == _array_type(array):
                    arrays[op.results[0]] = array
                    known.add(op.results[0])
            elif self._is_foldable(op, known):
                known.add(op.results[0])
                computed.append(op)
        computed = _without_idle_glue(computed)
        used = {value for op in computed for value in op.operands}
        return {value: array for value, array in arrays.items() if value in used}, computed

    def _is_foldable(self, op: ir.Operation, known: set[ir.Value]) -> bool:
        if op.name == "relax.shape_expr":
            return not types.symbols_of(op.results[0].type)
        if len(op.results) != 1 or len(op.regions) or not len(op.operands):
            return False
        if not all(value in known for value in op.operands):
            return False
        if op.name in _GLUE:
            return True
        if op.name == "relax.call_tir":
            arguments, tir_vars = call_tir_operands(op)
            if not arguments or tir_vars is not None or callee_of(op) not in self.kernels:
                return False
        else:
            spec = spec_of(op)
            has_tensor = any(types.is_tensor(value.type) for value in op.operands)
            if spec is None or not spec.pure or not has_tensor or op.name in self.refused:
                return False
        return all(_is_static(kind) for kind in _leaves(op.results[0].type))

    def _evaluation_module(
        self,
        arrays: dict[ir.Value, np.ndarray],
        computed: list[ir.Operation],
        frontier: list[ir.Value],
    ) -> ModuleState:
        """A module whose `main` takes the arrays and returns the tensors of the frontier."""
        module = ir.Module.create()
        for name in {callee_of(op) for op in computed if op.name == "relax.call_tir"}:
            module.body.append(self.kernels[name].clone())
        kinds = [value.type for value in arrays]
        outputs = [kind for value in frontier for kind in _leaves(value.type)]
        with ir.InsertionPoint(module.body):
            made = func.FuncOp("main", (kinds, [types.tuple_type(outputs)])).operation
        made.attributes[RELAX_ATTRS] = to_attribute({})
        made.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get({"relax.name": ir.StringAttr.get(f"c{i}")}) for i in range(len(kinds))]
        )
        block = ir.Block.create_at_start(made.regions[0], kinds)
        values = dict(zip(arrays, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in computed:
                copy = op.clone()
                for i, operand in enumerate(op.operands):
                    copy.operands[i] = values[operand]
                values[op.results[0]] = copy.results[0]
            leaves = [leaf for value in frontier for leaf in _tensor_leaves(values[value])]
            result = create("relax.tuple", [types.tuple_type(outputs)], leaves).result
            func.ReturnOp([result])
        return ModuleState(module, target=self.state.target)

    def _replace(self, frontier: list[ir.Value], arrays: list[np.ndarray]) -> None:
        remaining = iter(arrays)
        for value in frontier:
            op = value.owner.operation
            with ir.InsertionPoint(op):
                constant = self._constant(value.type, remaining, op.location)
            value.replace_all_uses_with(constant)

    def _constant(
        self, kind: ir.Type, arrays: Iterable[np.ndarray], location: ir.Location
    ) -> ir.Value:
        fields = types.tuple_fields(kind)
        if fields is None:
            array = next(iter(arrays))
            return build_constant(array, self.state.constants, location, kind)
        values = [self._constant(field, arrays, location) for field in fields]
        return create("relax.tuple", [kind], values, loc=location).result


def _erase_unused(ops: list[ir.Operation]) -> None:
    """Erase what has been computed, and the constants that only fed it."""
    for op in reversed(ops):
        if not any(True for _ in op.results[0].uses):
            op.erase()


def _without_idle_glue(computed: list[ir.Operation]) -> list[ir.Operation]:
    """Leave out tuples and names that no computation among the others needs."""
    needed: set[ir.Operation] = set()
    for op in reversed(computed):
        feeds = any(use.owner.operation in needed for use in op.results[0].uses)
        if op.name not in _GLUE or feeds:
            needed.add(op)
    return [op for op in computed if op in needed]


def _frontier(computed: list[ir.Operation]) -> list[ir.Value]:
    """The results that operations outside need (glue does not count as a result)."""
    inside = set(computed)
    return [
        op.results[0]
        for op in computed
        if op.name not in _GLUE
        and any(use.owner.operation not in inside for use in op.results[0].uses)
    ]


def _legalize(state: ModuleState) -> set[str]:
    """Legalize the evaluation module; the names of operators that are still there."""
    operators = {op.name for f in relax_functions(state) for op in walk(f) if spec_of(op)}
    legalize = find_pass(LEGALIZE)
    if not operators or legalize is None:
        return operators
    legalize().run(state)
    return {op.name for f in relax_functions(state) for op in walk(f) if spec_of(op)}


def _leaves(kind: ir.Type) -> list[ir.Type]:
    """The types inside nested tuples."""
    fields = types.tuple_fields(kind)
    return [kind] if fields is None else [leaf for field in fields for leaf in _leaves(field)]


def _tensor_leaves(value: ir.Value) -> list[ir.Value]:
    fields = types.tuple_fields(value.type)
    if fields is None:
        return [value]
    leaves: list[ir.Value] = []
    for i, field in enumerate(fields):
        index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)
        item = create("relax.tuple_get_item", [field], [value], {"index": index})
        leaves.extend(_tensor_leaves(item.result))
    return leaves


def _is_static(kind: ir.Type) -> bool:
    info = types.tensor_info(kind)
    if info is None or info.dims is None or info.dtype is None:
        return False
    return all(isinstance(dim, int) for dim in info.dims)


def _array_type(array: np.ndarray) -> ir.Type:
    return types.tensor_type(array.shape, array.dtype.name)
