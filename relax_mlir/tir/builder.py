"""PrimFuncBuilder: TensorIR functions written statement by statement, straight into MLIR.

build = PrimFuncBuilder("add_one")
A, B = build.buffer_param("A", [8]), build.buffer_param("B", [8])
with build.for_("serial", 0, 8, "i") as i, build.block("B") as block:
    vi = block.iter_var("S", (0, 8), i, "vi")
    build.store(B, A[vi] + 1.0, [vi])
function = build.finish()
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import KINDS, ForOp
from relax_mlir.errors import Error, Span, VerificationError
from relax_mlir.ir.state import ModuleState
from relax_mlir.mlir import arith, cf, func, ir, memref, scf, vector
from relax_mlir.tir import expr as E
from relax_mlir.tir import operators as O
from relax_mlir.tir.block_frame import BlockFrame, plain
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.emit import ExprEmitter, bind_name, type_of
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.memory import MemoryStatements
from relax_mlir.tir.signature import Signature, memref_type

_KIND_ALIASES = {"unroll": "unrolled", "vectorize": "vectorized", "parallelize": "parallel"}


def loop_dtype(low: E.PrimExpr, extent: E.PrimExpr) -> str:
    """The dtype of a loop's variable that its bounds say."""
    if "int64" in (low.dtype, extent.dtype):
        return "int64"
    return extent.dtype if extent.dtype.startswith("uint") else "int32"


class PrimFuncBuilder(MemoryStatements):
    """Builds one function; see the module's example.

    Statements go where the innermost open `with` is.  `location` is the user's source place for
    what follows: a Span, an MLIR location, or None.
    """

    def __init__(self, name: str, private: bool = False, attrs: Mapping[str, Any] | None = None):
        self.name = name
        self.location: Span | ir.Location | None = None
        self.emitter = ExprEmitter(self._symbol_value)
        self._attrs = plain(attrs or {})
        self._finished = False
        with mlir.scope():
            self._module = ir.Module.create()
            empty = ir.FunctionType.get([], [])
            ip = ir.InsertionPoint(self._module.body)
            self._function = func.FuncOp(name, empty, ip=ip)
            if private:
                self._function.attributes["sym_visibility"] = ir.StringAttr.get("private")
            entry = self._function.body.blocks.append()
        self.free_variables: Container[E.Var] = ()
        """The variables that may be used without a value."""
        self._signature = Signature(name)
        self._blocks: list[ir.Block] = [entry]
        self._frames: list[BlockFrame] = []
        self._views: list[ir.Operation] = []
        self._last_prologue: ir.Operation | None = None
        self._last_if: scf.IfOp | None = None

    # -- parameters -------------------------------------------------------------------------

    def buffer_param(
        self, name: str, shape: Sequence[Any], dtype: object = "float32", **props: Any
    ) -> Buffer:
        """Add a buffer parameter.  Variables in `shape` are symbolic sizes.

        props: strides, elem_offset, scope, data_alignment, offset_factor, as of `Buffer`.
        """
        return self.bind_buffer(Buffer(name, shape, dtype, **props))

    def bind_buffer(self, buffer: Buffer) -> Buffer:
        """Add a parameter for a buffer that exists already."""
        with self.scope():
            kind = memref_type(buffer)
            location = name_location(buffer.name, ir.Location.current)
            argument = self._blocks[0].add_argument(kind, location)
        self._signature.add_buffer(buffer)
        self.emitter.buffers[buffer] = argument
        return buffer

    def scalar_param(self, name: str | E.Var, dtype: object = "int32") -> E.Var:
        """Add a scalar parameter (a Var that exists already may be given)."""
        var = name if isinstance(name, E.Var) else E.Var(name, dtype)
        with self.scope():
            location = name_location(var.name, ir.Location.current)
            argument = self._blocks[0].add_argument(type_of(var.dtype), location)
        self._signature.add_scalar(var)
        self.emitter.values[var] = argument
        return var

    def set_attrs(self, attrs: Mapping[str, Any]) -> None:
        """Add function attributes; `global_symbol` renames the function."""
        self._attrs.update(plain(attrs))

    # -- buffers and values -----------------------------------------------------------------

    def alloc_buffer(
        self,
        name: str,
        shape: Sequence[Any],
        dtype: object = "float32",
        scope: str = "global",
        **props: Any,
    ) -> Buffer:
        """Allocate a buffer that lives for the innermost block, or for the function."""
        return self.allocate(Buffer(name, shape, dtype, scope, **props))

    def allocate(self, buffer: Buffer, here: bool = False) -> Buffer:
        """Allocate a buffer that is declared already; `here` leaves it where it stands, as sizes
        that are computed in the program need."""
        frame = self._open_frame()
        with self._statement() if here else self._prologue(frame):
            kind = memref_type(buffer)
            sizes = [self.emitter.mixed(s) for s in buffer.shape]
            dynamic = [s for s in sizes if not isinstance(s, int)]
            op = AllocBufferOp(ir.StringAttr.get(buffer.storage_scope), dynamic, kind)
            op.operation.location = name_location(buffer.name, ir.Location.current)
            for key, value in self._signature.allocation_attributes(buffer).items():
                op.operation.attributes[key] = to_attribute(value)
            if not here:
                self._set_last_prologue(frame, op.operation)
        self.emitter.buffers[buffer] = op.operation.results[0]
        if frame is not None:
            frame.local_buffers.append(buffer)
        return buffer

    def alias(self, var: E.Var, known: E.Var) -> None:
        """Let a variable stand for the value of another, from here on."""
        self.emitter.values[var] = self.emitter.values[known]
        if known in self.emitter.non_negative:
            self.emitter.non_negative.add(var)

    def let(self, var: E.Var | str, value: Any) -> E.Var:
        """`var = value`, computed here and visible from here on."""
        value = E.as_expr(value)
        var = E.Var(var, value.dtype) if isinstance(var, str) else var
        with self._statement():
            converted = O.cast(var.dtype, value)
            pointer = var.dtype == "handle"
            result = self.emitter.pointer(converted) if pointer else self.emitter.value(converted)
            bind_name(result, var.name)
        self.emitter.values[var] = result
        self._note(value)
        for frame in self._frames:
            frame.accesses.let(var, value)
        return var

    # -- statements -------------------------------------------------------------------------

    def store(
        self, buffer: Buffer, value: Any, indices: Sequence[Any], predicate: Any = None
    ) -> None:
        """`buffer[indices] = value`; the value is converted to the buffer's dtype.  Of a vector
        only the lanes in which `predicate` holds are stored."""
        target = E.BufferLoad(buffer, indices)
        value = O.cast(target.dtype, value)
        if self._frames:
            accesses = self._frames[-1].accesses
            accesses.read(value)
            accesses.write(buffer, target.indices)
        with self._statement():
            memory = self.emitter.buffer(buffer)
            is_vector = indices and isinstance(target.indices[-1], E.Ramp)
            if is_vector or predicate is not None:
                self._vector_store(target, value, memory, predicate)
                return
            stored = self.emitter.value(value)
            memref.store(stored, memory, self.emitter.indices(target))

    def _vector_store(
        self, target: E.BufferLoad, value: E.PrimExpr, memory: ir.Value, predicate: Any
    ) -> None:
        stored = self.emitter.value(value)
        place, steps = self.emitter.vector_place(target), self.emitter.lane_steps(target)
        if predicate is None and steps is None:
            vector.store(stored, memory, place)
            return
        lanes = E.lanes_of(target.dtype)
        everywhere = E.Broadcast(E.IntImm("bool", 1), lanes)
        mask = self.emitter.value(everywhere if predicate is None else E.as_expr(predicate))
        if steps is None:
            vector.maskedstore(memory, place, mask, stored)
        else:
            vector.scatter(None, memory, place, steps, mask, stored)

    def evaluate(self, expr: Any) -> None:
        """Evaluate a call for its effect; other expressions have none and are dropped."""
        expr = E.as_expr(expr)
        self._note(expr)
        if isinstance(expr, (E.BufferRef, E.StringImm)):
            expr = E.Call("void", "evaluate", [expr])  # kept: it says that the buffer exists
        if isinstance(expr, E.Call):
            with self._statement():
                self.emitter.call(expr)

    def inline(self, function: PrimFunc, buffers: Sequence[Buffer]) -> None:
        """The statements of another function here, on buffers in place of its parameters."""
        with self._statement():
            copy = function.operation.clone(ip=ir.InsertionPoint(self._module.body))
            body = copy.regions[0].blocks[0]
            for argument, buffer in zip(body.arguments, buffers, strict=True):
                argument.replace_all_uses_with(self.emitter.buffer(buffer))
            for op in list(body.operations):
                if op.operation.name != "func.return":
                    self._blocks[-1].append(op.operation)
            copy.erase()

    def assert_(self, condition: Any, message: str) -> None:
        """Fail with `message` unless the condition holds."""
        condition = E.as_expr(condition)
        self._note(condition)
        with self._statement():
            cf.assert_(self.emitter.value(condition), message)

    @contextmanager
    def for_(
        self,
        kind: str,
        min: Any,
        extent: Any,
        name: str,
        dtype: object | None = None,
        thread: str | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> Iterator[E.Var]:
        """A loop of kind serial, parallel, vectorized, unrolled or thread_binding."""
        kind = _KIND_ALIASES.get(kind, kind)
        if kind not in KINDS:
            raise Error(f"loop {name}: kind {kind!r} is none of {', '.join(KINDS)}")
        low, size = E.as_expr(min), E.as_expr(extent)
        var = E.Var(name, dtype or loop_dtype(low, size))
        self._note(low)
        self._note(size)
        with self._statement():
            bounds, dynamic = mixed.split([self.emitter.mixed(low), self.emitter.mixed(size)])
            op = ForOp(ir.StringAttr.get(kind), bounds, dynamic)
            attributes = op.operation.attributes
            if thread is not None:
                attributes["thread"] = ir.StringAttr.get(thread)
            if annotations:
                attributes["annotations"] = to_attribute(plain(annotations))
            if var.dtype != "int32":
                attributes["dtype"] = ir.StringAttr.get(var.dtype)
            location = name_location(name, ir.Location.current)
            body = op.body.blocks.append(ir.IndexType.get(), arg_locs=[location])
        self.emitter.values[var] = body.arguments[0]
        if not isinstance(low, E.IntImm) or low.value >= 0:
            self.emitter.non_negative.add(var)
        if self._frames:
            self._frames[-1].accesses.loop(var, low, size)
        with self.inside(body):
            yield var

    @contextmanager
    def block(self, name: str) -> Iterator[BlockFrame]:
        """A block; the frame takes its axes, predicate, regions and annotations."""
        self.begin_statement()
        frame = BlockFrame(self, name)
        self._frames.append(frame)
        yield frame
        self.begin_statement()
        reads, writes, bindings = frame.close()
        self._frames.pop()
        self._blocks.pop()
        if self._frames:
            self._frames[-1].accesses.nested(reads, writes, bindings)

    @contextmanager
    def if_(self, condition: Any) -> Iterator[None]:
        """`if condition:`; `else_` may follow."""
        condition = E.as_expr(condition)
        self._note(condition)
        with self._statement():
            op = scf.IfOp(self.emitter.value(condition))
        with self.inside(op.then_block, scf.yield_):
            yield
        self._last_if = op

    @contextmanager
    def else_(self) -> Iterator[None]:
        """`else:` of the `if_` just closed."""
        op, self._last_if = self._last_if, None
        if op is None:
            raise Error("else_ without an if_ before it")
        with self.scope():
            body = op.regions[1].blocks.append()
        with self.inside(body, scf.yield_):
            yield

    @contextmanager
    def while_(self, condition: Any) -> Iterator[None]:
        """`while condition:`; the condition is evaluated before every round."""
        condition = E.as_expr(condition)
        self._note(condition)
        with self._statement():
            op = scf.WhileOp([], [])
            before, after = (region.blocks.append() for region in op.regions)
            with ir.InsertionPoint(before):
                scf.condition(self.emitter.value(condition), [])
        with self.inside(after, scf.yield_):
            yield

    # -- the end ----------------------------------------------------------------------------

    def finish(self) -> PrimFunc:
        """Close the function and verify it.  Raises VerificationError."""
        if self._finished or len(self._blocks) != 1:
            raise Error("finish must be called once, outside all blocks and loops")
        self._finished = True
        symbol = self._attrs.pop("global_symbol", None)
        self._erase_unused_views()
        with self.at_end():
            func.return_([])
            op = self._function
            inputs = [argument.type for argument in self._blocks[0].arguments]
            op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
            described = self._signature.argument_attributes()
            op.attributes["arg_attrs"] = ir.ArrayAttr.get([to_attribute(d) for d in described])
            op.attributes[PrimFunc.attrs_key] = to_attribute(self._attrs)
            if symbol is not None:
                op.attributes["sym_name"] = ir.StringAttr.get(symbol)
            try:
                self._module.operation.verify()
            except ir.MLIRError as error:
                raise VerificationError(str(error)) from None
        return PrimFunc(ModuleState(self._module))

    # -- places -----------------------------------------------------------------------------

    def source_location(self) -> ir.Location:
        """The current source place as an MLIR location."""
        with mlir.scope():
            if self.location is None:
                return ir.Location.unknown()
            if isinstance(self.location, Span):
                span = self.location
                return ir.Location.file(span.file, span.line, span.column)
            return self.location

    def scope(self) -> Any:
        """The MLIR context with the current source location."""
        return mlir.scope(self.source_location())

    @contextmanager
    def at(self, ip: ir.InsertionPoint, location: ir.Location | None = None) -> Iterator[None]:
        """Build at an insertion point."""
        with mlir.scope(location or self.source_location()), ip:
            yield

    @contextmanager
    def at_end(self, location: ir.Location | None = None) -> Iterator[None]:
        """Build at the end of the innermost open block."""
        with mlir.scope(location or self.source_location()), ir.InsertionPoint(self._blocks[-1]):
            yield

    def begin_statement(self) -> None:
        """Fix the header of the innermost block, if it is still open."""
        self._open_frame()
        self._last_if = None

    def push_block(self, body: ir.Block) -> None:
        """Make `body` the innermost place for statements."""
        self._blocks.append(body)

    @contextmanager
    def inside(self, body: ir.Block, terminator: Any = None) -> Iterator[None]:
        """Put statements into `body` meanwhile; `terminator` closes it."""
        self.push_block(body)
        yield
        self.begin_statement()
        if terminator is not None:
            with self.at_end():
                terminator([])
        self._blocks.pop()

    @contextmanager
    def _statement(self) -> Iterator[None]:
        self.begin_statement()
        with self.at_end():
            yield

    def _open_frame(self) -> BlockFrame | None:
        """The innermost block, with its operation made."""
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.op is None:
            frame.materialize()
        return frame

    def _note(self, expr: E.PrimExpr) -> None:
        """Count what an expression outside a store reads."""
        self._open_frame()
        if self._frames:
            self._frames[-1].accesses.read(expr)

    def _prologue(self, frame: BlockFrame | None) -> Any:
        """Where allocations and symbolic sizes go: at the top of the block or the function."""
        last = self._last_prologue if frame is None else frame.last_allocation
        if last is not None:
            return self.at(ir.InsertionPoint.after(last))
        block = self._blocks[0]
        if frame is not None:
            assert frame.op is not None
            block = frame.op.block
        return self.at(ir.InsertionPoint.at_block_begin(block))

    def _set_last_prologue(self, frame: BlockFrame | None, op: ir.Operation) -> None:
        if frame is None:
            self._last_prologue = op
        else:
            frame.last_allocation = op

    def _symbol_value(self, var: E.Var) -> ir.Value:
        """The value of a symbolic size: a dimension of the first parameter that has it."""
        found = self._signature.binding_of(var)
        if found is None:
            layout = self._layout_value(var)
            if layout is not None:
                return layout
            if var in self.free_variables:
                return self._free_variable(var)
            raise Error(
                f"variable {var.name} is not defined in function {self.name}",
                hint="a symbolic size is defined by a buffer parameter that has it as a dimension",
                span=var.span,
            )
        buffer, axis = found
        with self._prologue(None):
            position = arith.constant(ir.IndexType.get(), axis)
            size = memref.dim(self.emitter.buffers[buffer], position)
            bind_name(size, var.name)
            self._set_last_prologue(None, size.owner)
        self.emitter.values[var] = size
        self.emitter.non_negative.add(var)
        return size
