"""relax-convert-layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import entry_block, operations, relax_functions
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, erase_dead
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir

Order = tuple[int, ...]
"""How the axes of a value are permuted: axis i of the new one is axis order[i] of the old."""

ELEMENTWISE = frozenset(
    "abs add astype ceil clip divide erf exp floor log maximum minimum multiply negative nn.gelu "
    "nn.gelu_tanh nn.leakyrelu nn.relu nn.relu6 nn.selu nn.silu nn.softplus power round rsqrt "
    "sigmoid sqrt square subtract tanh".split()
)
AXIS = frozenset("concat nn.softmax nn.log_softmax flip".split())
REDUCTIONS = frozenset("max mean min sum variance".split())
POOLS = ("nn.max_pool", "nn.avg_pool", "nn.adaptive_avg_pool", "image.resize")


@register_pass("relax-convert-layout")
@dataclass(frozen=True)
class ConvertLayout(Pass):
    """Compute convolutions in another layout, and what follows them too as far as it goes.

    An entry of `desired_layouts` is `nn.conv2d=NHWC:OHWI`: the layouts of the data (and result) and
    of the weight.  Elementwise operators, pooling, concatenation and normalisation take over the
    layout of their operands; others, and what a function returns, see the layout they had.
    """

    desired_layouts: tuple[str, ...] = ("nn.conv2d=NHWC:OHWI",)

    def run(self, state: ModuleState) -> None:
        desired = dict(map(_entry, self.desired_layouts))
        for function in relax_functions(state):
            converter = _Converter(desired)
            converter.visit(entry_block(function))
            erase_dead(converter.replaced)
            set_function_type(function, returned_types(function))


def _entry(text: str) -> tuple[str, list[str]]:
    name, equals, layouts = text.partition("=")
    given = layouts.split(":")
    if not equals or not 1 <= len(given) <= 3:
        raise PassError(f"'{text}' is no layout", hint="write nn.conv2d=NHWC:OHWI")
    return name.removeprefix("relax."), given


def order_of(old: str, new: str) -> Order:
    """The permutation from one layout to the other.  Raises PassError for other axes."""
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        raise PassError(f"the layout {new} is no permutation of {old}")
    return tuple(old.index(axis) for axis in new)


class _Converter:
    def __init__(self, desired: Mapping[str, Sequence[str]]):
        self.desired = desired
        self.moved: dict[ir.Value, tuple[ir.Value, Order]] = {}
        self.replaced: list[ir.Operation] = []
        self._restored: dict[ir.Value, ir.Value] = {}

    def visit(self, block: ir.Block) -> None:
        for op in operations(block):
            for region in op.regions:
                for inner in region.blocks:
                    self.visit(inner)
            if op in self.replaced:
                continue
            if not self._convert(op):
                for i, value in enumerate(op.operands):
                    if value in self.moved:
                        op.operands[i] = self._restore(value)

    def _convert(self, op: ir.Operation) -> bool:
        """Write an operation in another layout; False when it has to stay as it is."""
        spec = spec_of(op)
        if op.name == "relax.bind" and op.operands[0] in self.moved:
            self._note(op, *self.moved[op.operands[0]])
            return True
        if spec is None:
            return False
        if spec.name in self.desired:
            return self._convolution(op, spec.name)
        order = next((self.moved[v][1] for v in op.operands if v in self.moved), None)
        if order is None:
            return False
        for names, rule in _RULES:
            if names(spec.name):
                return rule(self, op, spec.name, order)
        return False

    # -- rules --------------------------------------------------------------------------------

    def _convolution(self, op: ir.Operation, name: str) -> bool:
        attributes = attributes_of(op)
        if "data_layout" not in attributes or "kernel_layout" not in attributes:
            raise PassError(f"{op.name} has no layouts to convert")
        data, *rest = self.desired[name]
        old = attributes["data_layout"]
        kernel = rest[0] if rest else attributes["kernel_layout"]
        out = rest[1] if len(rest) > 1 else data
        old_out = attributes["out_layout"] or old
        orders = (
            order_of(old, data),
            order_of(attributes["kernel_layout"], kernel),
            order_of(old_out, out),
        )
        write = OperatorWriter(op)
        operands = [self._in(write, v, o) for v, o in zip(op.operands, orders, strict=False)]
        attributes |= {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
        self._note(op, write.op(name, *operands, **attributes), orders[2])
        return True

    def elementwise(self, op: ir.Operation, name: str, order: Order) -> bool:
        rank = len(order)
        ranks = [dims_of(value) for value in op.operands]
        if any(dims is None or len(dims) > rank for dims in ranks):
            return False
        write = OperatorWriter(op)
        operands: list[ir.Value] = []
        for value, dims in zip(op.operands, ranks, strict=True):
            missing = rank - len(dims or ())
            if 0 < missing < rank:
                value = write.op("expand_dims", value, axis=list(range(missing)))
            operands.append(value if missing == rank else self._in(write, value, order))
        self._note(op, write.op(name, *operands, **attributes_of(op)), order)
        return True

    def pool(self, op: ir.Operation, name: str, order: Order) -> bool:
        attributes = attributes_of(op)
        layout = attributes["layout"]
        if len(layout) != len(order) or attributes.get("out_layout") not in (None, layout):
            return False
        attributes["layout"] = "".join(layout[i] for i in order)
        if attributes.get("out_layout"):
            attributes["out_layout"] = attributes["layout"]
        write = OperatorWriter(op)
        data, *others = op.operands
        made = write.op(name, self._in(write, data, order), *others, **attributes)
        self._note(op, made, order)
        return True

    def axis(self, op: ir.Operation, name: str, order: Order) -> bool:
        attributes = attributes_of(op)
        axis = attributes["axis"]
        if not isinstance(axis, int) or any(
            len(dims_of(v) or ()) != len(order) for v in op.operands
        ):
            return False
        attributes["axis"] = order.index(axis % len(order))
        write = OperatorWriter(op)
        operands = [self._in(write, value, order) for value in op.operands]
        made = write.op(name, operands if name == "concat" else operands[0], **attributes)
        self._note(op, made, order)
        return True

    def reduction(self, op: ir.Operation, name: str, order: Order) -> bool:
        attributes = attributes_of(op)
        if not attributes["keepdims"] or attributes["axis"] is None:
            return False
        axis = attributes["axis"]
        axes = [axis] if isinstance(axis, int) else list(axis)
        attributes["axis"] = sorted(order.index(a % len(order)) for a in axes)
        write = OperatorWriter(op)
        made = write.op(name, self._in(write, op.operands[0], order), **attributes)
        self._note(op, made, order)
        return True

    def batch_norm(self, op: ir.Operation, name: str, order: Order) -> bool:
        data, *others = op.operands
        users = [use.owner.operation for use in op.results[0].uses]
        fields = all(user.name == "relax.tuple_get_item" for user in users)
        if data not in self.moved or not fields:
            return False
        attributes = attributes_of(op)
        attributes["axis"] = order.index(attributes["axis"] % len(order))
        write = OperatorWriter(op)
        made = write.op(name, self._in(write, data, order), *others, **attributes)
        self.replaced.append(op)
        for user in users:
            index = ir.IntegerAttr(user.attributes["index"]).value
            field = OperatorWriter(user).field(made, index)
            if index == 0:
                self._note(user, field, order)
            else:
                user.results[0].replace_all_uses_with(field)
                self.replaced.append(user)
        return True

    # -- values -------------------------------------------------------------------------------

    def _note(self, op: ir.Operation, new: ir.Value, order: Order) -> None:
        if op.name != "relax.bind":
            new.owner.operation.location = op.location
        self.moved[op.results[0]] = (new, order)
        self.replaced.append(op)

    def _in(self, write: OperatorWriter, value: ir.Value, order: Order) -> ir.Value:
        """A value in a layout."""
        if value in self.moved:
            new, known = self.moved[value]
            if known == order:
                return new
            value = self._restore(value)
        if order == tuple(range(len(order))):
            return value
        return write.op("permute_dims", value, axes=list(order))

    def _restore(self, value: ir.Value) -> ir.Value:
        """A value in the layout it had, made where it was."""
        if value not in self._restored:
            new, order = self.moved[value]
            back = [order.index(i) for i in range(len(order))]
            anchor = value.owner.operation
            made = new if back == sorted(back) else None
            if made is None:
                made = OperatorWriter(anchor).op("permute_dims", new, axes=back)
            self._restored[value] = made
        return self._restored[value]


Rule = Callable[[_Converter, ir.Operation, str, Order], bool]

_RULES: tuple[tuple[Callable[[str], bool], Rule], ...] = (
    (ELEMENTWISE.__contains__, _Converter.elementwise),
    (AXIS.__contains__, _Converter.axis),
    (REDUCTIONS.__contains__, _Converter.reduction),
    (lambda name: name.startswith(POOLS), _Converter.pool),
    (lambda name: name == "nn.batch_norm", _Converter.batch_norm),
)
"""Which operators take over a layout, and how."""
