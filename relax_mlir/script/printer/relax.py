"""Relax functions to TVMScript."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import (
    Binding,
    BindingBlock,
    DataflowBlock,
    LocalFunction,
    SeqExpr,
    VarBinding,
)
from relax_mlir.relax.function import Function
from relax_mlir.relax.lowering import children
from relax_mlir.relax.reader import AbsentConstant
from relax_mlir.relax.type_text import TypeStyle
from relax_mlir.script.printer.core import OBJECTS_KEY, Printer, PrinterOptions, literal
from relax_mlir.script.printer.relax_expr import METADATA_KEY, ExprPrinter

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule


def print_relax_function(face: BaseFunc, printer: Printer) -> list[str]:
    """The lines of a Relax function, decorator included."""
    assert isinstance(face, Function)
    with mlir.scope():
        return _FunctionPrinter(face, printer).lines()


_USES_T = re.compile(r"(?<!\w)T\.\w")


class _FunctionPrinter:
    """Prints one function."""

    def __init__(self, function: Function, printer: Printer):
        self.function = function
        self.printer = printer
        options = printer.options
        modern = options.syntax == "tirx"
        renamed = self._name_symbols()
        self.style = TypeStyle(
            relax=printer.R,
            any_object="Any" if modern else "Object",
            renamed=renamed,
        )
        self.expressions = ExprPrinter(
            self.style,
            no_dtype="None" if modern else '"void"',
            out_keyword="out_ty" if modern else "out_sinfo",
            args_keyword="ty_args" if modern else "sinfo_args",
            name=self._name,
            global_name=self._global_name,
            constants=printer.constants,
        )

    def _name_symbols(self) -> dict[str, str]:
        """Give the symbols their names first: they stand in types, as text."""
        names, options = self.printer.names, self.printer.options
        called = dict.fromkeys(_functions_of(self.function.body))
        if self.printer.in_module:
            names.reserve(*((options.name, options.module_alias) if called else ()))
        else:  # functions go by their bare names, which no value may take
            for function in called:
                names.define(("function", function), function)
        found = {s: names.define(("symbol", s), s) for s in _symbols(self.function)}
        return {symbol: name for symbol, name in found.items() if symbol != name}

    def _name(self, var: nodes.Var) -> str:
        names = self.printer.names
        return names[var] if var in names else names.define(var, var.name_hint)

    def _global_name(self, name: str) -> str:
        if not self.printer.in_module:
            return self.printer.names["function", name]
        return f"{self.printer.options.module_alias}.{name}"

    def lines(self) -> list[str]:
        printer, function = self.printer, self.function
        printer.line(self._decorator())
        with self._quoted():
            params = ", ".join(
                f"{self._name(p)}: {self.style.text(p.mlir_type)}" for p in function.params
            )
            result = self.style.text(function.ret_struct_info.mlir_type)
        printer.line(f"def {function.name}({params}) -> {result}:")
        with printer.indent():
            self._preamble()
            self._blocks(function.body.blocks)
            printer.line(f"return {self.expressions.value(function.body.body)}")
        lines = printer.take()
        if any(_USES_T.search(line) for line in lines):
            printer.used.add("T")
        return lines

    def _decorator(self) -> str:
        options = []
        if self.function.is_private:
            options.append("private=True")
        if not self.function.is_pure:
            options.append("pure=False")
        return f"@{self.printer.R}.function" + (f"({', '.join(options)})" if options else "")

    def _quoted(self) -> _Quoted:
        return _Quoted(self)

    def _preamble(self) -> None:
        """Attributes, the symbols the body uses, and the module's name."""
        printer, attrs = self.printer, self.function.attrs
        attrs.pop("global_symbol", None)
        if attrs:
            printer.line(f"{printer.R}.func_attr({literal(attrs)})")
        for symbol in _body_symbols(self.function):
            name = printer.names["symbol", symbol]
            printer.line(f"{name} = {printer.T}.int64()")
        if printer.in_module and any(True for _ in _functions_of(self.function.body)):
            printer.line(f"{printer.options.module_alias} = {printer.options.name}")

    # -- blocks -------------------------------------------------------------------------------

    def _blocks(self, blocks: list[BindingBlock]) -> None:
        for block in blocks:
            if isinstance(block, DataflowBlock):
                self._dataflow(block)
            else:
                for binding in block.bindings:
                    self._binding(binding)

    def _dataflow(self, block: DataflowBlock) -> None:
        printer = self.printer
        printer.line(f"with {printer.R}.dataflow():")
        with printer.indent():
            for binding in block.bindings:
                self._binding(binding)
            outputs = ", ".join(map(self._name, block.outputs))
            printer.line(f"{printer.R}.output({outputs})")

    def _binding(self, binding: Binding) -> None:
        if isinstance(binding.value, nodes.If):
            self._if(binding.var, binding.value)
            return
        if isinstance(binding.value, LocalFunction):
            self._local_function(binding.var, binding.value)
            return
        show = self.printer.options.show_all_struct_info
        self.printer.line(self.expressions.binding(binding, show_type=show))

    def _local_function(self, var: nodes.Var, value: LocalFunction) -> None:
        printer, name = self.printer, self._name(var)
        if value.own is not None:
            printer.names.alias(value.own, name)
        printer.line(f"@{printer.R}.function" + ("" if value.is_pure else "(pure=False)"))
        params = ", ".join(f"{self._name(p)}: {self.style.text(p.mlir_type)}" for p in value.params)
        result = self.style.text(ir.FunctionType(value.mlir_type).results[0])
        printer.line(f"def {name}({params}) -> {result}:")
        with printer.indent():
            if value.attrs:
                printer.line(f"{printer.R}.func_attr({literal(value.attrs)})")
            self._blocks(value.body.blocks)
            printer.line(f"return {self.expressions.value(value.body.body)}")

    def _if(self, var: nodes.Var, value: nodes.If) -> None:
        name = self._name(var)
        self.printer.line(f"if {self.expressions.text(value.cond)}:")
        self._branch(value.true_branch, var, name)
        self.printer.line("else:")
        self._branch(value.false_branch, var, name)

    def _branch(self, branch: nodes.Expr, var: nodes.Var, name: str) -> None:
        """A branch; its last binding is to the variable of the if."""
        assert isinstance(branch, SeqExpr)
        last = branch.bindings[-1].var if branch.bindings else None
        with self.printer.indent():
            if last is not None and branch.body is last:
                self.printer.names.alias(last, name)
                self._blocks(branch.blocks)
                return
            self._blocks(branch.blocks)
            final = VarBinding(nodes.Var(name, branch.mlir_type), branch.body)
            self.printer.names.alias(final.var, name)
            self._binding(final)


class _Quoted:
    """While it is entered, symbols are printed as strings."""

    def __init__(self, owner: _FunctionPrinter):
        self.owner = owner
        self.plain = owner.style

    def __enter__(self) -> None:
        self.owner.style = replace(self.plain, quoted=True)

    def __exit__(self, *_: object) -> None:
        self.owner.style = self.plain


# -- what a function mentions --------------------------------------------------------------------


def _values(block: ir.Block) -> Iterator[ir.Value]:
    for view in block.operations:
        yield from view.operation.results
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from inner.arguments
                yield from _values(inner)


def _symbols(function: Function) -> list[str]:
    """All symbols of a function, those of its parameters first."""
    block = function.operation.regions[0].blocks[0]
    found: dict[str, None] = {}
    for value in (*block.arguments, *_values(block)):
        found.update(dict.fromkeys(_mentioned(value.type)))
    return list(found)


def _mentioned(kind: ir.Type) -> list[str]:
    """The symbols in the text of a type, those in the types of functions too."""
    if isinstance(kind, ir.FunctionType):
        return [s for part in (*kind.inputs, *kind.results) for s in _mentioned(part)]
    fields = types.tuple_fields(kind)
    if fields is not None:
        return [s for field in fields for s in _mentioned(field)]
    return types.symbols_of(kind)


def _body_symbols(function: Function) -> list[str]:
    """The symbols that the text of the body mentions."""
    block = function.operation.regions[0].blocks[0]
    mentioned = {s for value in _values(block) for s in _mentioned(value.type)}
    return [symbol for symbol in _symbols(function) if symbol in mentioned]


def _functions_of(expr: Any) -> Iterator[str]:
    """The names of the functions of the module that an expression mentions."""
    if isinstance(expr, (GlobalVar, nodes.FunctionRef)):
        yield expr.name_hint if isinstance(expr, GlobalVar) else expr.var.name_hint
    elif isinstance(expr, LocalFunction):
        yield from _functions_of(expr.body)
    elif isinstance(expr, SeqExpr):
        for binding in expr.bindings:
            yield from _functions_of(binding.value)
        yield from _functions_of(expr.body)
    else:
        for child in children(expr):
            yield from _functions_of(child)


# -- large constants -----------------------------------------------------------------------------


def print_metadata(printer: Printer) -> list[str]:
    """The constants the text refers to, as a statement that comes before the program.

    Raises Error where it refers to external modules too, which are no text.
    """
    if printer.objects:
        kinds = ", ".join(type(value).__name__ for value in printer.objects)
        raise Error(
            f"external modules have no text: {kinds}",
            hint="print without show_meta, and read the text back with "
            'from_source(text, {"metadata": metadata_of(module)})',
        )
    entries = [f"        {_array_text(printer.R, array)}," for array in printer.constants]
    return ["metadata = {", f'    "{METADATA_KEY}": [', *entries, "    ],", "}"]


def _array_text(prefix: str, array: Any) -> str:
    if isinstance(array, AbsentConstant):
        raise Error(f"the constant '{array.key}' is not in the module's table")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f'{prefix}.array("{array.dtype.name}", {list(array.shape)}, "{data}")'


def metadata_of(module: IRModule | BaseFunc) -> dict[str, list[Any]]:
    """The `metadata` that the text of a module or function refers to.

    `from_source(module.script(), {"metadata": metadata_of(module)})` reads the text back.
    """
    from relax_mlir.ir.module import IRModule

    printer = Printer(PrinterOptions(), in_module=isinstance(module, IRModule))
    faces = [module]
    if isinstance(module, IRModule):
        faces = [module[var] for var in module.get_global_vars()]
        printer.attributes(module.attrs or {})
    for face in faces:
        if isinstance(face, Function):
            printer.function(face)
    objects = {OBJECTS_KEY: list(printer.objects)} if printer.objects else {}
    return {METADATA_KEY: list(printer.constants), **objects}
