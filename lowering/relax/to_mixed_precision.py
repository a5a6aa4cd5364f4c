"""relax-to-mixed-precision."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import OpSpec, attributes_of, build, operand_groups, spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    entry_block,
    operations,
    relax_functions,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, defining
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir

WIDE = "float32"
NARROW = ("float16", "bfloat16")

ALWAYS = frozenset(
    "matmul outer nn.attention nn.attention_bias nn.conv1d nn.conv1d_transpose nn.conv2d "
    "nn.conv2d_transpose nn.conv3d nn.conv3d_transpose".split()
)
"""Operators that are computed on narrow operands."""

FOLLOW = frozenset(
    "abs acos acosh add asin asinh atan atan2 atanh broadcast_to ceil concat cos cosh divide equal "
    "erf ewise_fma exp expand_dims flatten flip floor floor_divide floor_mod greater "
    "greater_equal less less_equal log log_add_exp maximum minimum mod multiply negative "
    "nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.avg_pool1d "
    "nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.dropout nn.gelu nn.gelu_tanh nn.group_norm "
    "nn.instance_norm nn.layer_norm nn.leakyrelu nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.pad "
    "nn.pixel_shuffle nn.prelu nn.relu nn.relu6 nn.rms_norm nn.selu nn.silu not_equal "
    "permute_dims power repeat reshape round rsqrt sigmoid sign sin sinh split sqrt square squeeze "
    "stack strided_slice subtract take tan tanh tile trunc where".split()
)
"""Operators that are computed narrow when all their float operands are narrow; others are not."""


@register_pass("relax-to-mixed-precision")
@dataclass(frozen=True)
class ToMixedPrecision(Pass):
    """Compute the heavy operators of a float32 model on float16 operands.

    Matmuls, convolutions and attention take narrow operands and give `out_dtype`; elementwise,
    normalising and data-moving operators stay narrow where all their operands are; the rest, and
    what a function returns, is float32 as before.  Parameters in `fp16_input_names` become narrow
    themselves.  `dtype` may be bfloat16.
    """

    out_dtype: str = WIDE
    fp16_input_names: tuple[str, ...] = ()
    dtype: str = "float16"

    def run(self, state: ModuleState) -> None:
        if self.dtype not in NARROW or self.out_dtype not in (WIDE, self.dtype):
            raise PassError(
                f"cannot compute in {self.dtype} with results in {self.out_dtype}",
                hint="dtype is float16 or bfloat16, out_dtype is float32 or the same",
            )
        for function in relax_functions(state):
            _Narrowing(self, state, function).run()


class _Narrowing:
    """Rewrites one function; knows the narrow form of each value that has one."""

    def __init__(self, options: ToMixedPrecision, state: ModuleState, function: ir.Operation):
        self.options = options
        self.state = state
        self.function = function
        self.narrow: dict[ir.Value, ir.Value] = {}
        self.casts: dict[ir.Value, ir.Value] = {}
        self.replaced: list[ir.Operation] = []

    def run(self) -> None:
        self._narrow_parameters()
        self._visit(entry_block(self.function))
        for op in reversed(self.replaced):
            if not any(True for _ in op.results[0].uses):
                op.erase()
        set_function_type(self.function, returned_types(self.function))

    def _narrow_parameters(self) -> None:
        block = entry_block(self.function)
        first = operations(block)[0]
        for argument, entry in zip(
            block.arguments, argument_attributes(self.function), strict=True
        ):
            name = ir.StringAttr(entry["relax.name"]).value if "relax.name" in entry else ""
            if name not in self.options.fp16_input_names or not _is_wide(argument.type):
                continue
            kind = argument.type
            argument.set_type(self._narrow_type(kind))
            # A stand-in for the wide value; it goes when everything is rewritten.
            wide = OperatorWriter(first).op("astype", argument, dtype=WIDE)
            argument.replace_all_uses_except(wide, wide.owner.operation)
            self.narrow[wide] = argument
            self.replaced.append(wide.owner.operation)

    def _visit(self, block: ir.Block) -> None:
        for op in operations(block):
            if op in self.replaced:
                continue
            for region in op.regions:
                for inner in region.blocks:
                    self._visit(inner)
            spec = spec_of(op)
            if spec is not None and self._is_narrow(op, spec):
                self._rewrite(op, spec)
            elif op.name == "relax.tuple_get_item" and op.operands[0] in self.narrow:
                index = ir.IntegerAttr(op.attributes["index"]).value
                field = OperatorWriter(op).field(self.narrow[op.operands[0]], index)
                self._note(op, field)
            elif op.name == "relax.bind" and op.operands[0] in self.narrow:
                self._note(op, self.narrow[op.operands[0]])
            else:
                for i, value in enumerate(op.operands):
                    if value in self.narrow:
                        op.operands[i] = self._wide(value)

    def _is_narrow(self, op: ir.Operation, spec: OpSpec) -> bool:
        floats = [value for value in op.operands if _is_wide(value.type)]
        if not floats:
            return False
        if spec.name in ALWAYS:
            return all(_is_wide(v.type) or not types.is_tensor(v.type) for v in op.operands)
        if spec.name not in FOLLOW:
            return False
        if not any(value in self.narrow for value in floats):
            return False
        return all(value in self.narrow or _is_constant(value) for value in floats)

    def _rewrite(self, op: ir.Operation, spec: OpSpec) -> None:
        groups: list[ir.Value | list[ir.Value] | None] = [
            [self._narrowed(value, op) for value in group]
            if isinstance(group, list)
            else None
            if group is None
            else self._narrowed(group, op)
            for group in operand_groups(op)
        ]
        attributes = attributes_of(op)
        keeps = spec.name in ALWAYS and "out_dtype" in attributes
        if keeps:
            attributes["out_dtype"] = self.options.out_dtype
        with ir.InsertionPoint(op):
            new = build(spec, groups, attributes, loc=op.location)
        if new.type == op.results[0].type:
            op.results[0].replace_all_uses_with(new)
            op.erase()
        elif new.type == self._narrow_type(op.results[0].type):
            self._note(op, new)
        else:
            raise PassError(
                f"{op.name} on {self.options.dtype} gives {types.describe(new.type)}, not "
                f"{types.describe(self._narrow_type(op.results[0].type))}"
            )

    def _note(self, op: ir.Operation, narrow: ir.Value) -> None:
        self.narrow[op.results[0]] = narrow
        self.replaced.append(op)

    def _narrowed(self, value: ir.Value, before: ir.Operation) -> ir.Value:
        """The narrow form of a wide value; other values as they are."""
        if not _is_wide(value.type):
            return value
        known = self.narrow.get(value)
        if known is not None:
            return known
        cast = self.casts.get(value)
        if cast is None or cast.owner.operation.block != before.block:
            cast = OperatorWriter(before).op("astype", value, dtype=self.options.dtype)
            self.casts[value] = cast
        return cast

    def _wide(self, value: ir.Value) -> ir.Value:
        """The float32 form of a value that is computed narrow, made where the value is."""
        anchor = value.owner.operation
        if anchor.name == "relax.astype" and anchor.operands[0] == self.narrow[value]:
            return value  # a parameter's stand-in
        known = self.casts.get(value)
        if known is not None:
            return known
        made = self._widened(OperatorWriter(anchor), self.narrow[value], value.type)
        self.casts[value] = made
        return made

    def _widened(self, write: OperatorWriter, value: ir.Value, kind: ir.Type) -> ir.Value:
        fields = types.tuple_fields(kind)
        if fields is None:
            if value.type == kind:
                return value
            return write.op("astype", value, dtype=WIDE)
        items = [
            self._widened(write, write.field(value, i), field) for i, field in enumerate(fields)
        ]
        return write.raw("relax.tuple", kind, items)

    def _narrow_type(self, kind: ir.Type) -> ir.Type:
        fields = types.tuple_fields(kind)
        if fields is not None:
            return types.tuple_type([self._narrow_type(field) for field in fields])
        info = types.tensor_info(kind)
        if info is None or info.dtype != WIDE:
            return kind
        return info.with_dtype(self.options.dtype).to_type()


def _is_wide(kind: ir.Type) -> bool:
    info = types.tensor_info(kind)
    return info is not None and info.dtype == WIDE


def _is_constant(value: ir.Value) -> bool:
    return defining(value, "relax.constant") is not None
