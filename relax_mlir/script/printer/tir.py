"""TensorIR functions to TVMScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.dialects import dims, dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.tir import mixed
from relax_mlir.errors import Error
from relax_mlir.ir.text import name_of
from relax_mlir.mlir import ir
from relax_mlir.script.printer import tir_loops, tir_memory
from relax_mlir.script.printer.core import Printer, literal
from relax_mlir.script.printer.tir_expr import (
    READERS,
    ExprReader,
    natural_dtype,
    raw,
    read_call,
    region_end,
)
from relax_mlir.script.printer.tir_lets import needs_name
from relax_mlir.tir import expr as E
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr_text import expr_text
from relax_mlir.tir.lanes import lanes_of_type

if TYPE_CHECKING:
    from relax_mlir.tir.function import PrimFunc

# The spelling of each syntax: TVM up to 0.23, and 0.27.
_WORDS = {
    "tir": {"block": "block", "attr": "block_attr", "alloc": "alloc_buffer"},
    "tirx": {"block": "sblock", "attr": "sblock_attr", "alloc": "sblock_alloc_buffer"},
}


def _returned_dtype(function: ir.Operation) -> str | None:
    """The dtype of what a function returns, None for nothing."""
    for region in function.regions:
        for block in region.blocks:
            for view in block.operations:
                op = view.operation
                is_return = op.name == "tir.call" and _string(op.attributes, "callee") == "ret"
                if is_return and len(op.results):
                    return _string(op.attributes, "dtype") or natural_dtype(op.results[0].type)
                found = _returned_dtype(op)
                if found is not None:
                    return found
    return None


def print_prim_func(face: PrimFunc, printer: Printer) -> list[str]:
    """The lines of a function; see `printer.core`."""
    with mlir.scope():
        PrimFuncPrinter(face, printer).run()
    return printer.take()


class PrimFuncPrinter:
    """Prints one function."""

    def __init__(self, face: PrimFunc, printer: Printer):
        self.face = face
        self.printer = printer
        self.names = printer.names
        self.T = printer.T
        self.words = _WORDS[printer.options.syntax]
        self.reader = ExprReader()
        # Loop variables in scope with their domain, for T.axis.remap.
        self.loops: dict[ir.Value, tuple[Any, Any, str]] = {}

    # -- the function -----------------------------------------------------------------------------

    def run(self) -> None:
        options = ["private=True"] if self.face.is_private else []
        if any(v.operation.name == "tir.free_variable" for v in self.face.body.operations):
            options.append("check_well_formed=False")
        if self.printer.options.syntax == "tirx":
            options.append("s_tir=True")
        arguments = f"({', '.join(options)})" if options else ""
        self.printer.line(f"@{self.T}.prim_func{arguments}")
        self._header()
        with self.printer.indent():
            self._attributes()
            for line in self._matches:
                self.printer.line(line)
            self._root()

    def _root(self) -> None:
        """The function's body is the root block; only annotations make it worth a statement."""
        attributes = self.face.operation.attributes
        header = f'with {self.T}.{self.words["block"]}("root"):'
        with ExitStack() as scopes:
            if "annotations" in attributes:
                self.printer.line(header)
                scopes.enter_context(self.printer.indent())
                self.printer.line(f"{self.T}.reads()")
                self.printer.line(f"{self.T}.writes()")
                annotations = self.annotations(from_attribute(attributes["annotations"]))
                self.printer.line(f"{self.T}.{self.words['attr']}({annotations})")
            elif _has_blocks(self.face.body):
                self.printer.line(f"# {header}")
            if not self.body(self.face.body):
                self.printer.line(f"{self.T}.evaluate(0)")

    def _header(self) -> None:
        """`def name(...)`; buffers with symbolic sizes are matched in the body."""
        parameters: list[str] = []
        self._matches: list[str] = []
        buffers = self.face.buffer_map
        scalars = [var for var in self.face.params if var not in buffers]
        for var, value in zip(self.face.params, self.face.body.arguments, strict=True):
            name = self.names.define(value, var.name)
            if var not in buffers:
                var.name = name
                self.reader.variables[value] = var
                parameters.append(f"{name}: {self.T}.{var.dtype}")
                continue
            buffer = buffers[var]
            buffer.name = name
            self.reader.buffers[value] = buffer
            symbols = _symbols(buffer)
            if not symbols:
                shape = self.shape(buffer.shape)
                options = self.buffer_options(buffer)
                text = ", ".join([shape, f'"{buffer.dtype}"', *options])
                parameters.append(f"{name}: {self.T}.Buffer({text})")
                continue
            handle = self.names.define(("handle", var), f"var_{name}")
            parameters.append(f"{handle}: {self.T}.handle")
            unknown = [s for s in symbols if not any(s is scalar for scalar in scalars)]
            self._match(buffer, handle, unknown)
        returned = _returned_dtype(self.face.operation)
        result = "" if returned is None else f" -> {self.T}.{returned}"
        self.printer.line(f"def {self.face.name}({', '.join(parameters)}){result}:")

    def _match(self, buffer: Buffer, handle: str, symbols: Iterable[E.Var]) -> None:
        new = [s for s in symbols if s not in self.names]
        for symbol in new:
            symbol.name = self.names.define(symbol, symbol.name)
        if new:
            names = ", ".join(s.name for s in new)
            values = ", ".join(f"{self.T}.{s.dtype}()" for s in new)
            self._matches.append(f"{names} = {values}")
        dtype = [] if buffer.dtype == "float32" else [f'"{buffer.dtype}"']
        text = ", ".join([handle, self.shape(buffer.shape), *dtype, *self.buffer_options(buffer)])
        self._matches.append(f"{buffer.name} = {self.T}.match_buffer({text})")

    def buffer_options(self, buffer: Buffer) -> list[str]:
        options: list[str] = []
        if buffer.strides:
            options.append(f"strides={self.shape(buffer.strides)}")
        if buffer.elem_offset is not None:
            options.append(f"elem_offset={expr_text(buffer.elem_offset)}")
        if buffer.storage_scope != "global":
            options.append(f'scope="{buffer.storage_scope}"')
        if buffer.data_alignment:
            options.append(f"align={buffer.data_alignment}")
        if buffer.axis_separators:
            options.append(f"axis_separators={list(buffer.axis_separators)}")
        return options

    def shape(self, sizes: Sequence[E.PrimExpr]) -> str:
        inner = ", ".join(expr_text(size) for size in sizes)
        return f"({inner},)" if len(sizes) == 1 else f"({inner})"

    def _attributes(self) -> None:
        stored = from_attribute(self.face.operation.attributes[self.face.attrs_key])
        if not stored:
            return
        modern = self.printer.options.syntax == "tirx"
        items = []
        for key in sorted(stored):
            value = stored[key]
            spelled = f"tirx.{key[4:]}" if modern and key.startswith("tir.") else key
            items.append(f'"{spelled}": {self._attribute(value)}')
        self.printer.line(f"{self.T}.func_attr({{{', '.join(items)}}})")

    def _attribute(self, value: Any) -> str:
        if isinstance(value, bool) and self.printer.options.syntax == "tir":
            return f"{self.T}.bool({value})"
        if isinstance(value, float):
            shown = repr(value) if math.isfinite(value) else f'"{value}"'
            return f"{self.T}.float64({shown})"
        return literal(value)

    # -- statements -------------------------------------------------------------------------------

    def body(self, block: ir.Block) -> bool:
        """Print the statements of a block; False when there are none."""
        printed = False
        for view in block.operations:
            op = view.operation
            write = _STATEMENTS.get(op.name)
            if op.name == "scf.if" and len(op.results):
                write = None
            if op.name == "tir.call":
                write = PrimFuncPrinter.call
            if write is not None:
                printed = write(self, op) is not False or printed
            elif self._is_let(op):
                self.let(op)
                printed = True
            elif op.name not in READERS and op.name not in _SILENT:
                raise Error(f"operation '{op.name}' has no TVMScript spelling: {op}")
        return printed

    def _is_let(self, op: ir.Operation) -> bool:
        if len(op.results) != 1 or op.name in _BUFFERS:
            return False
        value = op.results[0]
        if value in self.reader.variables:
            return False
        return name_of(value) is not None or needs_name(op, _STATEMENTS)

    def let(self, op: ir.Operation) -> None:
        value = op.results[0]
        expr = self.reader.read(value)
        name = self.names.define(value, name_of(value) or "v")
        kind = f"{self.T}.{expr.dtype}"
        if self.printer.options.syntax == "tirx":
            kind = f"{self.T}.let[{kind}]"
        self.printer.line(f"{name}: {kind} = {expr_text(expr)}")
        self.reader.variables[value] = E.Var(name, expr.dtype)

    def free_variable(self, op: ir.Operation) -> None:
        value = op.results[0]
        dtype = _string(op.attributes, "dtype") or natural_dtype(value.type)
        name = self.names.define(value, name_of(value) or "v")
        self.printer.line(f"{name} = {self.T}.{dtype}()")
        self.reader.variables[value] = E.Var(name, dtype)

    def alloc(self, op: ir.Operation) -> None:
        buffer = self.declare(op, list(op.operands))
        dtype = [] if buffer.dtype == "float32" else [f'"{buffer.dtype}"']
        options = self.buffer_options(buffer)
        if "annotations" in op.attributes:
            notes = from_attribute(op.attributes["annotations"])
            options.append(f"annotations={self.annotations(notes)}")
        arguments = ", ".join([self.shape(buffer.shape), *dtype, *options])
        word = self.words["alloc"] if _in_prologue(op) else "decl_buffer"
        self.printer.line(f"{buffer.name} = {self.T}.{word}({arguments})")

    def declare(self, op: ir.Operation, sizes: list[ir.Value]) -> Buffer:
        """The buffer that an operation makes, under a new name."""
        value = op.results[0]
        attributes = op.attributes
        kind = value.type
        text = _string(attributes, "dtype") or dtypes.from_mlir(kind.element_type)
        size_dtype = _string(attributes, "shape_dtype") or "int32"
        dynamic = iter(sizes)
        shape = [
            self.reader.index(next(dynamic) if size == mlir.dynamic() else size, size_dtype)
            for size in kind.shape
        ]
        align = from_attribute(attributes["align"]) if "align" in attributes else 0
        strides = self._dims(attributes, "strides", size_dtype)
        name = self.names.define(value, name_of(value) or "buffer")
        scope = _string(attributes, "scope") or "global"
        key = "axis_separators"
        separators = from_attribute(attributes[key]) if key in attributes else None
        buffer = Buffer(
            name, shape, text, scope, strides or None, None, align, axis_separators=separators
        )
        if "offset" in attributes:
            buffer.elem_offset = self._dims(attributes, "offset", size_dtype)[0]
        self.reader.buffers[value] = buffer
        return buffer

    def _dims(self, attributes: Any, key: str, dtype: str) -> list[E.PrimExpr]:
        """Dimensions kept as text in an attribute, as expressions over the symbols."""
        if key not in attributes:
            return []
        from relax_mlir.tir.shapes import expr_of

        stored = from_attribute(attributes[key])
        entries = stored if isinstance(stored, list) else [stored]
        scalars = {v.name: v for v in self.face.params if v not in self.face.buffer_map}
        symbols = {s.name: s for b in self.reader.buffers.values() for s in _symbols(b)}
        symbols = {**scalars, **symbols}
        for symbol in dict.fromkeys(s for entry in entries for s in dims.symbols(entry)):
            if symbol not in symbols:  # nothing but layouts mentions it
                var = E.Var(self.names.define(("symbol", symbol), symbol), dtype)
                self.printer.line(f"{var.name} = {self.T}.{dtype}()")
                symbols[symbol] = var
        return [expr_of(entry, symbols, dtype) for entry in entries]

    def store(self, op: ir.Operation) -> None:
        value, memory, *indices = list(op.operands)
        buffer = self.reader.buffer(memory)
        target = [self.reader.read(i, buffer.index_dtype) for i in indices]
        hint = buffer.dtype
        if op.name == "vector.store":
            lanes = lanes_of_type(value.type)
            hint = f"{hint}x{lanes}"
            target[-1] = E.Ramp(target[-1], E.IntImm(target[-1].dtype, 1), lanes)
        stored = self.reader.read(value, hint)
        load = raw(E.BufferLoad, buffer.dtype, buffer=buffer, indices=tuple(target))
        self.printer.line(f"{expr_text(load)} = {expr_text(stored)}")

    def call(self, op: ir.Operation) -> bool:
        """A call whose value is not used, or that must happen before other statements."""
        used = [result for result in op.results if list(result.uses)]
        if used and not (name_of(used[0]) or needs_name(op, _STATEMENTS)):
            return False
        if used:
            self.let(op)
            return True
        call: E.PrimExpr = read_call(self.reader, op)
        if _string(op.attributes, "callee") == "evaluate":
            (call,) = E.children(call)
        self.printer.line(f"{self.T}.evaluate({expr_text(call)})")
        return True

    def assertion(self, op: ir.Operation) -> None:
        message = literal(ir.StringAttr(op.attributes["msg"]).value)
        self.printer.line(f"assert {expr_text(self.reader.read(op.operands[0]))}, {message}")

    def branch(self, op: ir.Operation) -> None:
        self.printer.line(f"if {expr_text(self.reader.read(op.operands[0]))}:")
        self.region(op.regions[0])
        if len(op.regions[1].blocks):
            self.printer.line("else:")
            self.region(op.regions[1])

    def while_loop(self, op: ir.Operation) -> None:
        before, after = op.regions[0].blocks[0], op.regions[1]
        condition = list(before.operations)[-1].operation.operands[0]
        self.printer.line(f"while {expr_text(self.reader.read(condition))}:")
        self.region(after)

    def region(self, region: ir.Region) -> None:
        """The statements of a region, indented."""
        with self.printer.indent(), self.names.scope():
            if not len(region.blocks) or not self.body(region.blocks[0]):
                self.printer.line(f"{self.T}.evaluate(0)")

    # -- loops ------------------------------------------------------------------------------------

    def annotations(self, stored: dict[str, Any]) -> str:
        items = (f"{literal(key)}: {self._attribute(stored[key])}" for key in sorted(stored))
        return "{" + ", ".join(items) + "}"

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, op: ir.Operation) -> None:
        self.printer.line(
            f"with {self.T}.{self.words['block']}({literal(_string(op.attributes, 'sym_name'))}):"
        )
        count = len(op.regions[0].blocks[0].arguments)
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        operands = list(op.operands)
        bindings = operands[: segments[0]]
        dynamic = operands[segments[0] : segments[0] + segments[1]]
        predicate = operands[segments[0] + segments[1] :]
        domains = mixed.join(op.attributes["domains"], dynamic)
        with self.printer.indent(), self.names.scope():
            # Before the names of the iteration variables exist.
            where = [expr_text(self.reader.read(p)) for p in predicate]
            if count:
                self._axes(op, bindings, domains)
            for text in where:
                self.printer.line(f"{self.T}.where({text})")
            self._block_body(op)

    def _axes(
        self, op: ir.Operation, bindings: list[ir.Value], domains: list[int | ir.Value]
    ) -> None:
        kinds = [ir.StringAttr(kind).value for kind in ir.ArrayAttr(op.attributes["iter_kinds"])]
        dtype = _string(op.attributes, "iter_dtype") or "int32"
        arguments = list(op.regions[0].blocks[0].arguments)
        pairs = list(zip(domains[::2], domains[1::2], strict=True))
        texts = [expr_text(self.reader.index(b, dtype)) for b in bindings]
        ranges = [self._domain(low, extent, dtype) for low, extent in pairs]
        sugar = self.printer.options.syntax_sugar
        plain = [
            sugar and kind in "SR" and self.loops.get(binding) == (*pair, dtype)
            for kind, binding, pair in zip(kinds, bindings, pairs, strict=True)
        ]
        names = [self.names.define(a, name_of(a) or "v") for a in arguments]
        for argument, name in zip(arguments, names, strict=True):
            self.reader.variables[argument] = E.Var(name, dtype)
        i = 0
        while i < len(kinds):
            end = i
            while end < len(kinds) and plain[end]:
                end += 1
            if end - i > 1:
                left, loops = ", ".join(names[i:end]), ", ".join(texts[i:end])
                kind = "".join(kinds[i:end])
                self.printer.line(f'{left} = {self.T}.axis.remap("{kind}", [{loops}])')
                i = end
                continue
            how = {"S": "spatial", "R": "reduce", "O": "opaque", "D": "scan"}[kinds[i]]
            self.printer.line(f"{names[i]} = {self.T}.axis.{how}({ranges[i]}, {texts[i]})")
            i += 1

    def _domain(self, low: int | ir.Value, extent: int | ir.Value, dtype: str) -> str:
        size = self.reader.index(extent, dtype)
        if low == 0:
            return expr_text(size)
        begin = self.reader.index(low, dtype)
        return f"({expr_text(begin)}, {expr_text(region_end(begin, size, dtype))})"

    def _block_body(self, op: ir.Operation) -> None:
        body = op.regions[0].blocks[0]
        accesses = {"tir.read": "reads", "tir.write": "writes"}
        regions: dict[str, list[str]] = {name: [] for name in accesses}
        for view in body.operations:
            if view.operation.name in accesses:
                regions[view.operation.name].append(self._region_text(view.operation))
        for name, word in accesses.items():
            self.printer.line(f"{self.T}.{word}({', '.join(regions[name])})")
        if "annotations" in op.attributes:
            annotations = self.annotations(from_attribute(op.attributes["annotations"]))
            self.printer.line(f"{self.T}.{self.words['attr']}({annotations})")
        if not self.body(body):
            self.printer.line(f"{self.T}.evaluate(0)")

    def _region_text(self, op: ir.Operation) -> str:
        memory, *dynamic = list(op.operands)
        buffer = self.reader.buffer(memory)
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        offsets = mixed.join(op.attributes["offsets"], dynamic[: segments[1]])
        sizes = mixed.join(op.attributes["sizes"], dynamic[segments[1] :])
        parts: list[str] = []
        for offset, size in zip(offsets, sizes, strict=True):
            begin = self.reader.index(offset, buffer.index_dtype)
            if size == 1:
                parts.append(expr_text(begin))
                continue
            extent = self.reader.index(size, begin.dtype)
            parts.append(f"{expr_text(begin)}:{expr_text(region_end(begin, extent, begin.dtype))}")
        return f"{buffer.name}[{', '.join(parts) or '()'}]"

    def init(self, op: ir.Operation) -> None:
        self.printer.line(f"with {self.T}.init():")
        self.region(op.regions[0])


def _symbols(buffer: Buffer) -> list[E.Var]:
    """The variables in a buffer's shape, strides and offset, in order."""
    offset = [] if buffer.elem_offset is None else [buffer.elem_offset]
    found: list[E.Var] = []
    for size in (*buffer.shape, *buffer.strides, *offset):
        for node in E.post_order(size):
            if isinstance(node, E.Var) and node not in found:
                found.append(node)
    return found


def _string(attributes: Any, key: str) -> str:
    return ir.StringAttr(attributes[key]).value if key in attributes else ""


def _has_blocks(block: ir.Block) -> bool:
    """Whether there is anything that makes the function's body a root block to TVM."""
    for view in block.operations:
        if view.operation.name in ("tir.block", "tir.alloc_buffer"):
            return True
        if any(_has_blocks(inner) for region in view.operation.regions for inner in region.blocks):
            return True
    return False


def _in_prologue(op: ir.Operation) -> bool:
    """Whether an allocation stands where `T.alloc_buffer` puts it: before all statements."""
    if op.parent.name not in ("func.func", "tir.block"):
        return False
    for view in op.block.operations:
        if view.operation == op:
            return True
        if view.operation.name in _STATEMENTS and view.operation.name != op.name:
            return False
    return True


_STATEMENTS: dict[str, Callable[[PrimFuncPrinter, ir.Operation], Any]] = {
    "tir.for": tir_loops.loop,
    "tir.block": PrimFuncPrinter.block,
    "tir.init": PrimFuncPrinter.init,
    "tir.alloc_buffer": PrimFuncPrinter.alloc,
    "tir.free_variable": PrimFuncPrinter.free_variable,
    "memref.store": PrimFuncPrinter.store,
    "vector.store": PrimFuncPrinter.store,
    "vector.maskedstore": tir_memory.masked_store,
    "vector.scatter": tir_memory.masked_store,
    "scf.if": PrimFuncPrinter.branch,
    "scf.while": PrimFuncPrinter.while_loop,
    "cf.assert": PrimFuncPrinter.assertion,
    "tir.decl_buffer": tir_memory.decl_buffer,
    "tir.alloc_const": tir_memory.alloc_const,
    "memref.subview": tir_memory.view,
    "tir.attr": tir_memory.attr,
}
"""Operations that are statements; others are expressions, printed where they are used."""

_BUFFERS = (
    "memref.dim", "memref.subview", "tir.alloc_buffer", "tir.decl_buffer", "tir.alloc_const",
    "tir.comm_reducer",
)  # fmt: skip
"""Operations with a result that is no value to be named."""

_SILENT = (
    "tir.read", "tir.write", "func.return", "scf.yield", "scf.condition", "tir.yield",
    "memref.extract_strided_metadata",
)  # fmt: skip
"""Operations that their block or function speaks for."""

__all__ = ["PrimFuncPrinter", "print_prim_func"]
