"""IRModule: functions by name, backed by one MLIR module and a side table of constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error, VerificationError
from relax_mlir.ir.function import BaseFunc, GlobalVar, above, face_of, rename, structure_of
from relax_mlir.ir.state import ModuleState
from relax_mlir.ir.text import parse_module, print_operation
from relax_mlir.mlir import ir


class IRModule:
    """A program: TensorIR and Relax functions by global name.

    Transforms return a new module and leave their input alone; only the methods whose names say so
    (`update_func`, `update`, `__setitem__`, `remove`) change a module in place, as in TVM.
    """

    def __init__(
        self,
        functions: Mapping[GlobalVar | str, BaseFunc] | None = None,
        attrs: Mapping[str, Any] | None = None,
        global_infos: Mapping[str, Any] | None = None,
    ):
        with mlir.scope():
            self.state = ModuleState(ir.Module.create(), attributes=dict(attrs or {}))
        self.global_infos = dict(global_infos or {})
        for var, function in (functions or {}).items():
            self.update_func(var, function)

    @classmethod
    def from_state(cls, state: ModuleState) -> IRModule:
        """Wrap a state, which the module then owns."""
        module = cls.__new__(cls)
        module.state = state
        module.global_infos = {}
        return module

    @classmethod
    def parse(cls, text: str, constants: Mapping[str, Any] | None = None) -> IRModule:
        """A module from MLIR text; `constants` are the arrays its `key`s refer to.

        Raises VerificationError with MLIR's located message.
        """
        with mlir.scope():
            try:
                parsed = parse_module(text)
            except ir.MLIRError as error:
                raise VerificationError(str(error)) from None
            return cls.from_state(ModuleState(parsed, dict(constants or {})))

    @classmethod
    def from_expr(cls, function: BaseFunc) -> IRModule:
        """A module with one function, under its `global_symbol` or "main"."""
        return cls({function.get_attr("global_symbol") or "main": function})

    # -- functions --------------------------------------------------------------------------

    def _operations(self) -> dict[str, ir.Operation]:
        with mlir.scope():
            return {
                ir.StringAttr(op.attributes["sym_name"]).value: op for op in self.state.functions()
            }

    @property
    def functions(self) -> dict[GlobalVar, BaseFunc]:
        return {GlobalVar(name): self[name] for name in self._operations()}

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """The functions with their names, in order."""
        return list(self.functions.items())

    def get_global_vars(self) -> list[GlobalVar]:
        """All global names, sorted as TVM sorts them."""
        return [GlobalVar(name) for name in sorted(self._operations())]

    def get_global_var(self, name: str) -> GlobalVar:
        if name not in self._operations():
            raise Error(f"the module has no function '{name}'; it has {self._names()}")
        return GlobalVar(name)

    def __contains__(self, var: GlobalVar | str) -> bool:
        return _name(var) in self._operations()

    def __getitem__(self, var: GlobalVar | str) -> BaseFunc:
        """The function of that name, as a value: changing the module later does not change it."""
        name = _name(var)
        operation = self._operations().get(name)
        if operation is None:
            raise KeyError(f"the module has no function '{name}'; it has {self._names()}")
        with mlir.scope():
            copy = ir.Module.create()
            copy.body.append(operation.clone())
            return face_of(ModuleState(copy, self.state.constants))

    def __setitem__(self, var: GlobalVar | str, function: BaseFunc) -> None:
        self.update_func(var, function)

    def update_func(self, var: GlobalVar | str, function: BaseFunc) -> None:
        """Add or replace a function in place."""
        name = _name(var)
        old = self._operations().get(name)
        with mlir.scope():
            op = function.operation.clone()
            op.attributes["sym_name"] = ir.StringAttr.get(name)
            body = self.state.module.body
            if old is None:
                body.append(op)
            else:
                # A detached operation cannot be moved, only inserted.
                ir.InsertionPoint(old).insert(op)
                old.erase()
            self.state.constants.update(function.state.constants)

    def update(self, other: IRModule | Mapping[GlobalVar | str, BaseFunc]) -> None:
        """Add or replace functions from another module, in place."""
        items = other.functions if isinstance(other, IRModule) else other
        for var, function in items.items():
            self.update_func(var, function)

    def remove(self, var: GlobalVar | str) -> None:
        """Remove a function in place."""
        name = _name(var)
        if name not in self._operations():
            raise KeyError(f"the module has no function '{name}'")
        self._operations()[name].erase()

    __delitem__ = remove

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.get_global_vars())

    def __len__(self) -> int:
        return len(self._operations())

    def _names(self) -> str:
        return ", ".join(sorted(self._operations())) or "none"

    def __call__(self, device: Any = None, target: Any = None) -> Any:
        """The module compiled, with the Python functions that its class has (`I.pyfunc`): a
        `relax.BasePyModule`."""
        functions = self.__dict__.get("pyfuncs", {})
        return above("relax.base_py_module").BasePyModule(self, device, target, functions)

    # -- attributes -------------------------------------------------------------------------

    @property
    def attrs(self) -> dict[str, Any] | None:
        return dict(self.state.attributes) or None

    def get_attr(self, key: str) -> Any:
        return self.state.attributes.get(key)

    def with_attr(self, key: str, value: Any) -> IRModule:
        return self.with_attrs({key: value})

    def with_attrs(self, attributes: Mapping[str, Any]) -> IRModule:
        copy = self.clone()
        copy.state.attributes.update(attributes)
        return copy

    def without_attr(self, key: str) -> IRModule:
        copy = self.clone()
        copy.state.attributes.pop(key, None)
        return copy

    # -- values and text --------------------------------------------------------------------

    def clone(self) -> IRModule:
        with mlir.scope():
            copy = IRModule.from_state(self.state.clone())
        copy.global_infos = dict(self.global_infos)
        return copy

    def verify(self) -> IRModule:
        """Check every invariant; returns the module.  Raises VerificationError."""
        with mlir.scope():
            try:
                self.state.module.operation.verify()
            except ir.MLIRError as error:
                raise VerificationError(str(error)) from None
            for function in self.state.functions():
                _check_parameters(function)
        return self

    def mlir(self) -> str:
        """The module as MLIR text; `IRModule.parse` reads it back."""
        with mlir.scope():
            return print_operation(self.state.module.operation)

    def script(self, **options: Any) -> str:
        """The module as TVMScript."""
        return above("script.printer").print_module(self, **options)

    def show(self, style: str | None = None, **options: Any) -> None:
        """Print the TVMScript, highlighted on a terminal or in a notebook."""
        above("script.highlight").show(self.script(**options), style)

    def __str__(self) -> str:
        """TVMScript, as TVM prints a module; MLIR text of what was lowered below it."""
        try:
            return self.script()
        except Error:
            return self.mlir()

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        """Structural equality of all functions; the order of functions does not count, nor do
        names of variables and parameters."""
        if not isinstance(other, IRModule):
            return NotImplemented
        mine, theirs = self._operations(), other._operations()
        with mlir.scope():
            return set(mine) == set(theirs) and all(
                structure_of(mine[name]) == structure_of(theirs[name]) for name in mine
            )

    def __tvm_ffi_object__(self) -> Any:
        """What `tvm_ffi.structural_equal` and `structural_hash` compare: each function as text."""
        with mlir.scope():
            texts = {name: structure_of(op) for name, op in self._operations().items()}
        return above("runtime.ffi").tvm_ffi.convert(texts)


def _check_parameters(function: ir.Operation) -> None:
    """Raise VerificationError for a parameter whose elements no dtype has: MLIR asks nobody about
    the types of a function."""
    kinds = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    for number, kind in enumerate(kinds):
        holds = isinstance(kind, (ir.RankedTensorType, ir.UnrankedTensorType, ir.MemRefType))
        if holds and not dtypes.is_element(kind.element_type):
            raise VerificationError(
                f"function {function.attributes['sym_name']}: parameter {number} is {kind}, "
                f"{kind.element_type} is no dtype ({function.location})"
            )


def _name(var: GlobalVar | str) -> str:
    return var if isinstance(var, str) else var.name_hint


__all__ = ["IRModule", "rename"]
