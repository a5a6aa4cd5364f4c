"""What the parser does with forms of lowered programs: storage, addresses, attributes, calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.ir.function import GlobalVar
from relax_mlir.script.forms.statements import AttrForm, ThreadForm
from relax_mlir.script.forms.types import BufferForm, HandleType
from relax_mlir.script.forms.views import (
    AllocateForm,
    BufferView,
    ConstantForm,
    PreflattenedForm,
    RealizeForm,
)
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.expr import (
    Broadcast,
    BufferRef,
    Call,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    StringImm,
    Var,
    as_expr,
    lanes_of,
    post_order,
    structural_key,
)

if TYPE_CHECKING:
    from relax_mlir.script.parser.core import DialectParser
    from relax_mlir.script.parser.prim_func import TirParser
    from relax_mlir.script.parser.prim_func_signature import SignatureParser


# -- storage --------------------------------------------------------------------------------------


def allocate(parser: TirParser, name: str, form: AllocateForm, node: ast.AST) -> Any:
    """Storage that one buffer names is that buffer; other storage is a buffer by itself."""
    form.name = name
    if _is_named_once(parser, name):
        return form
    return _storage(parser, form)


def _storage(parser: TirParser, form: AllocateForm) -> Buffer:
    buffer = Buffer(form.name, form.extents, form.dtype, form.scope)
    parser.builder.allocate(buffer, here=not known_outside(parser, buffer))
    form.buffers.append(buffer)
    parser.storage.add(buffer)
    return buffer


def known_outside(parser: TirParser, buffer: Buffer) -> bool:
    """Whether a buffer's sizes are known at the start of the function."""
    variables = [n for s in buffer.shape for n in post_order(s) if isinstance(n, Var)]
    return all(v in parser.parameters or v in parser.symbols.values() for v in variables)


def _is_named_once(parser: TirParser, name: str) -> bool:
    """Whether all that a program says of storage is which buffer lies in it."""
    uses = [
        n
        for n in ast.walk(parser.context.node)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    naming = [
        k
        for n in ast.walk(parser.context.node)
        if isinstance(n, ast.Call)
        for k in n.keywords
        if k.arg == "data" and isinstance(k.value, ast.Name) and k.value.id == name
    ]
    return len(uses) == len(naming) == 1


def on_storage(parser: TirParser, name: str, form: BufferForm, shape: list[Any]) -> Buffer:
    """The buffer on storage that exists: of one shape and dtype it is one buffer."""
    properties = parser.properties(form)
    storage = form.data
    if isinstance(storage, AllocateForm):
        if not storage.buffers and _fills(storage, shape, form.dtype):
            merged: dict[str, Any] = {**properties, "scope": storage.scope}
            buffer = Buffer(name, shape, form.dtype, **merged)
            parser.builder.allocate(buffer, here=not known_outside(parser, buffer))
            storage.buffers.append(buffer)
            return buffer
        storage = storage.buffers[0] if storage.buffers else _storage(parser, storage)
    if isinstance(storage, BufferView):
        storage = storage.whole
    if isinstance(storage, BufferRef):
        storage = storage.buffer
    if isinstance(storage, Buffer):
        same = [structural_key(a) for a in storage.shape] == [structural_key(a) for a in shape]
        plain = not (properties.keys() - {"scope"})
        if same and storage.dtype == form.dtype and plain:
            return storage
        properties.setdefault("scope", storage.storage_scope)
    buffer = Buffer(name, shape, form.dtype, **properties)
    address = as_expr(storage)
    if isinstance(address, Var) and parser.is_unbound(address):
        parser.waiting.setdefault(address, []).append(buffer)
        return buffer
    return parser.builder.decl_buffer(buffer, address)


def _fills(storage: AllocateForm, shape: list[Any], dtype: str) -> bool:
    """Whether a buffer takes up all of its storage."""
    if dtype != storage.dtype:
        return False
    texts = [[str(as_expr(s)) for s in sizes] for sizes in (storage.extents, shape)]
    if texts[0] == texts[1]:
        return True
    held, filled = _element_count(storage.extents), _element_count(shape)
    return held is not None and held == filled


def _element_count(shape: Iterable[Any]) -> int | None:
    """The number of elements of a shape; None when a size is not constant."""
    count = 1
    for size in map(as_expr, shape):
        if not isinstance(size, IntImm):
            return None
        count *= size.value
    return count


def allocate_const(parser: TirParser, name: str, form: ConstantForm, node: ast.AST) -> Buffer:
    """Constants become a buffer that holds them."""
    buffer = Buffer(name, form.extents, form.dtype)
    values = np.asarray(form.values)
    if _element_count(buffer.shape) != values.size:
        raise TypeError(f"{values.size} constants do not fill a buffer of shape {buffer.shape}")
    return parser.builder.alloc_const(buffer, values)


def preflattened(parser: TirParser, form: PreflattenedForm, node: ast.AST) -> None:
    """The shape before flattening is an attribute of the function."""
    known = parser.attributes.setdefault("tir.preflattened", {})
    buffer = form.buffer.buffer if isinstance(form.buffer, BufferRef) else form.buffer
    known[buffer.name] = [form.dtype, *(str(as_expr(s)) for s in form.shape)]


@contextmanager
def realize(parser: TirParser, form: RealizeForm, node: ast.AST) -> Iterator[None]:
    yield


def handle_variable(parser: TirParser, name: str, form: HandleType, node: ast.AST) -> Var:
    """`p = T.handle("float32")`: an address that a later statement binds."""
    return Var(name, "handle")


def match_view(parser: TirParser, view: BufferView, form: BufferForm) -> BufferView:
    """Give a view a buffer of its own if the program asks for its address or layout."""
    with parser.own_symbols():
        properties = parser.properties(form)
    if _asks_for_layout(parser, view.name):
        # The layout is asked of the view itself: it gets symbols.
        properties.setdefault("strides", [Var(f"{view.name}_s{i}") for i in range(view.ndim)])
        properties.setdefault("elem_offset", Var(f"{view.name}_offset"))
    entries = [properties.get("elem_offset"), *properties.get("strides", [])]
    symbols = {s.name for s in entries if isinstance(s, Var)}
    uses_layout = _asks_for_layout(parser, view.name) or (
        bool(symbols) and _uses_outside_declarations(parser, symbols)
    )
    if uses_layout or _asks_for(parser, view.name):
        whole = Buffer(view.name, list(view.shape), view.dtype, view.region.buffer.storage_scope)
        if uses_layout:
            whole.strides = tuple(as_expr(s) for s in properties.get("strides", ()))
            whole.elem_offset = properties.get("elem_offset")
        view.whole = parser.builder.view(whole, view.region)
    return view


def _asks_for_layout(parser: TirParser, name: str) -> bool:
    """Whether the program reads `name.strides` or `name.elem_offset`."""
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in ("strides", "elem_offset")
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        for n in ast.walk(parser.context.node)
    )


def attribute(value: Any, name: str) -> Any:
    """An attribute; the layout of a buffer that does not name it is the compact one, and its
    type (TVM 0.27's `A.ty.shape`) says what the buffer itself does."""
    if isinstance(value, (Buffer, BufferView)) and name == "ty":
        return value
    if isinstance(value, Buffer) and name == "elem_offset" and value.elem_offset is None:
        return IntImm("int32", 0)
    if isinstance(value, Buffer) and name == "strides" and not value.strides:
        strides = [as_expr(1)]
        for size in reversed(value.shape[1:]):
            strides.insert(0, strides[0] * size)
        return tuple(strides) if value.shape else ()
    if isinstance(value, BufferView) and value.whole is not None and name in _LAYOUT:
        return attribute(value.whole, name)
    return getattr(value, name)


def is_users(function: Any) -> bool:
    """True for a Python function of the user's."""
    if not isinstance(function, FunctionType):
        return False
    return (function.__module__ or "").partition(".")[0] != "relax_mlir"


def asks_for_offset(parser: SignatureParser, name: str) -> bool:
    """Whether the program reads `name.elem_offset`, or gives the buffer to a Python function."""
    for node in ast.walk(parser.context.node):
        if isinstance(node, ast.Attribute) and node.attr == "elem_offset":
            owner = node.value
            if isinstance(owner, ast.Attribute) and owner.attr == "ty":
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id == name:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = [*node.args, *(k.value for k in node.keywords)]
            named = any(isinstance(a, ast.Name) and a.id == name for a in given)
            if named and is_users(known(parser, node.func.id)):
                return True
    return False


def known(parser: DialectParser, name: str) -> Any:
    """What a name stands for, or None."""
    try:
        return parser.names.lookup(name)
    except NameError:
        return None


@contextmanager
def shown_layout(values: Iterable[Any]) -> Iterator[None]:
    """While it lasts, the user's Python function that gets buffers can read their layouts, where
    the program leaves them out too."""
    wholes = [v.whole if isinstance(v, BufferView) else v for v in values]
    buffers = [b for b in wholes if isinstance(b, Buffer)]
    before = [(b.strides, b.elem_offset) for b in buffers]
    for buffer in buffers:
        buffer.strides = attribute(buffer, "strides")
        buffer.elem_offset = attribute(buffer, "elem_offset")
    try:
        yield
    finally:
        for buffer, (strides, offset) in zip(buffers, before, strict=True):
            buffer.strides, buffer.elem_offset = strides, offset


_LAYOUT = ("elem_offset", "strides")
_DECLARATIONS = ("match_buffer", "alloc_buffer", "decl_buffer", "Buffer", "buffer_decl")


def _uses_outside_declarations(parser: TirParser, names: set[str]) -> bool:
    """Whether any of the names stands anywhere but in the declaration of a buffer."""
    declared: set[int] = set()
    for node in ast.walk(parser.context.node):
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func).rpartition(".")[2] in _DECLARATIONS:
            declared |= {id(n) for n in ast.walk(node)}
    return any(
        isinstance(n, ast.Name)
        and n.id in names
        and isinstance(n.ctx, ast.Load)
        and id(n) not in declared
        for n in ast.walk(parser.context.node)
    )


_ACCESSES = ("access_ptr", "vload", "vstore")


def _asks_for(parser: TirParser, name: str) -> bool:
    """Whether a name stands anywhere else than in front of an index, or of a method that is an
    access."""
    indexed = {
        id(n.value)
        for n in ast.walk(parser.context.node)
        if isinstance(n, ast.Subscript) or (isinstance(n, ast.Attribute) and n.attr in _ACCESSES)
    }
    return any(
        isinstance(n, ast.Name)
        and n.id == name
        and isinstance(n.ctx, ast.Load)
        and id(n) not in indexed
        for n in ast.walk(parser.context.node)
    )


def indexable(parser: TirParser, value: Any) -> Any:
    """What can be indexed: storage and addresses are buffers of one dimension to a program."""
    if isinstance(value, BufferRef):
        buffer = value.buffer
        return buffer if len(buffer.shape) == 1 else _flat(parser, value, buffer.dtype)
    if isinstance(value, AllocateForm):
        return value.buffers[0] if value.buffers else _storage(parser, value)
    return value


# -- loads and stores by address ------------------------------------------------------------------


class FlatAccess:
    """`T.load(dtype, address, index)` and `T.store(address, index, value)` of the first TVMScript:
    they see storage as one dimension."""

    def __init__(self, name: str):
        self.__name__ = name


load = FlatAccess("load")
store = FlatAccess("store")


def is_flat(parser: TirParser, memory: Any, indices: Any) -> bool:
    """Whether `memory[indices] = value` is a `T.store`: memory is an address, or storage of several
    dimensions with one index."""
    if isinstance(memory, Buffer):
        one = not isinstance(indices, (tuple, list, slice))
        return one and len(memory.shape) > 1 and memory in parser.storage
    return isinstance(memory, Var) and memory.dtype == "handle"


def flat_access(parser: TirParser, access: FlatAccess, args: list[Any]) -> Any:
    """Carry out an access; a load gives its value."""
    if access is load:
        dtype, address, index, *_ = args
        from relax_mlir.tir.expr import scalar_dtype

        name = getattr(dtype, "dtype", dtype)
        buffer = _flat(parser, address, scalar_dtype(name))
        if lanes_of(name) > 1 and lanes_of(as_expr(index).dtype) == 1:
            return buffer.vload([index], name)
        return buffer[index]
    address, index, value, *_ = args
    element = as_expr(value)
    from relax_mlir.tir.expr import scalar_dtype

    buffer = _flat(parser, address, scalar_dtype(element.dtype))
    parser.builder.store(buffer, element, [as_expr(index)])
    return None


def _flat(parser: TirParser, address: Any, dtype: str) -> Buffer:
    known = address.buffer if isinstance(address, BufferRef) else address
    if isinstance(known, AllocateForm):
        known = known.buffers[0] if known.buffers else _storage(parser, known)
    if isinstance(known, Buffer):
        if len(known.shape) == 1 and known.dtype == dtype:
            return known
        count = _element_count(known.shape)
        sizes = [1 if count is None else count]
        flat = Buffer(f"{known.name}_flat", sizes, dtype, known.storage_scope)
        return parser.builder.decl_buffer(flat, BufferRef(known))
    pointer = as_expr(address)
    name = pointer.name if isinstance(pointer, Var) else "flat"
    return parser.builder.decl_buffer(Buffer(f"{name}_flat", [1], dtype), pointer)


# -- attributes -----------------------------------------------------------------------------------

_THREADS = ("thread_extent", "virtual_thread")


@contextmanager
def attr_scope(parser: TirParser, form: AttrForm, node: ast.AST) -> Iterator[None]:
    """Statements for which attributes hold."""
    from contextlib import ExitStack

    with ExitStack() as scopes:
        for key, value in form.attributes.items():
            scopes.enter_context(_one_attribute(parser, form.node, str(key), value))
        yield


@contextmanager
def _one_attribute(parser: TirParser, node: Any, key: str, value: Any) -> Iterator[None]:
    from relax_mlir.script.parser.tir_forms import loop, python_value

    if key.startswith("pragma_") and not _is_expression(value):
        # TVM makes annotations of a loop of these.
        annotations = {key: python_value(value)}
        with parser.builder.for_("serial", 0, 1, "attr", annotations=annotations):
            yield
        return
    if key in _THREADS and isinstance(node, (IterVar, ThreadForm)):
        with _thread_attribute(parser, node, value, loop):
            yield
        return
    with parser.builder.attr(_node(parser, node), key, _attribute_value(parser, value)):
        yield


@contextmanager
def _thread_attribute(parser: TirParser, node: Any, extent: Any, loop: Any) -> Iterator[None]:
    from relax_mlir.script.forms.loops import LoopForm

    tag = node.thread_tag if isinstance(node, IterVar) else node.tag
    name = node.var.name or tag.replace(".", "_")
    with loop(parser, LoopForm("thread_binding", [(0, extent)], thread=tag), 0, name) as made:
        parser.builder.alias(node.var, made)
        yield


def _node(parser: TirParser, node: Any) -> Any:
    if node is None:
        return 0
    return _attribute_value(parser, node)


def _attribute_value(parser: TirParser, value: Any) -> Any:
    from relax_mlir.script.parser.tir_forms import python_value

    if isinstance(value, CommReducer):
        return parser.builder.comm_reducer(value)
    if isinstance(value, BufferView):
        value = value.whole
    if isinstance(value, Buffer):
        return BufferRef(value)
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, ThreadForm):
        return value.var
    if isinstance(value, AllocateForm):
        return BufferRef(value.buffers[0] if value.buffers else _storage(parser, value))
    if isinstance(value, BufferRegion):
        return BufferRef(value.buffer)
    if hasattr(value, "asobject"):
        return as_expr(value)
    return value if isinstance(value, PrimExpr) else python_value(value)


def _is_expression(value: Any) -> bool:
    return isinstance(value, PrimExpr) and not isinstance(value, (IntImm, FloatImm, StringImm))


def comm_reducer(function: Any, identities: Any) -> CommReducer:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`."""
    values = [as_expr(i) for i in identities]
    left = [Var(f"x{i}", v.dtype) for i, v in enumerate(values)]
    right = [Var(f"y{i}", v.dtype) for i, v in enumerate(values)]
    result = function(*left, *right)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    return CommReducer(left, right, [as_expr(r) for r in results], values)


# -- calls ----------------------------------------------------------------------------------------


def call_function(
    parser: TirParser, function: GlobalVar, args: list[Any], keywords: Mapping[str, Any]
) -> Call:
    """A call of another function of the module; its signature says what it returns."""
    name = function.name_hint
    if keywords:
        raise TypeError(f"a call of '{name}' takes no keywords")
    module = parser.context.module
    declared = None if module is None else module.signature(name)
    dtype = declared if isinstance(declared, str) else "void"
    return Call(dtype, "call_function", [StringImm(name), *args])


def indexed(buffer: Any, index: Any) -> Any:
    """`buffer[index]`; an index that is the same in all lanes is that of one element."""
    entries = list(index) if isinstance(index, (tuple, list)) else [index]
    if not any(isinstance(e, Broadcast) for e in entries):
        return buffer[index]
    lanes = next(e.lanes for e in entries if isinstance(e, Broadcast))
    plain = [e.value if isinstance(e, Broadcast) else e for e in entries]
    loaded = buffer[tuple(plain)]
    return loaded if lanes_of(loaded.dtype) > 1 else Broadcast(loaded, lanes)


def returned(value: Any) -> Call:
    """What `return value` does."""
    result = as_expr(value)
    if isinstance(result, Call) and result.op == "ret":
        return result
    return Call(result.dtype, "ret", [result])


def as_vector(value: Any) -> Any:
    """`A[i, 0:4]` where a value is asked for: a vector; other values stay."""
    if not isinstance(value, BufferRegion):
        return value
    try:
        return value.asobject()
    except Error:
        return value
