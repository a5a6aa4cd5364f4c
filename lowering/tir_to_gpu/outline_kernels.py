"""`gpu-outline-kernels`: launches become kernels of a `gpu.module` and calls of them.

The module of a function `f` is `@f_kernels`, its kernels `@f_kernel`, `@f_kernel_1`, ...  A kernel
takes what its launch uses from outside: the function's arguments first, in their order, then other
values in the order of use.  Constants are copied into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside, is_at_or_inside
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import as_index

__all__ = ["MIN_BLOCKS", "SHARED_ALIGNMENT", "OutlineKernels"]

SHARED_ALIGNMENT = 16
"""Bytes that buffers in shared memory are aligned to: the widest access of a thread."""

MIN_BLOCKS = "min_blocks"
"""Attribute of a kernel: how many blocks of it a multiprocessor should hold at least."""

_ASKED_MIN_BLOCKS = "pragma_launch_min_blocks"
_IDS = tuple((op, axis) for op in ("block_id", "thread_id") for axis in "xyz")
_SIZES = tuple((op, axis) for op in ("grid_dim", "block_dim") for axis in "xyz")


@register_pass("gpu-outline-kernels")
@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Move the bodies of gpu.launch into gpu.func kernels."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            launches = [op for op in inside(function) if op.name == "gpu.launch"]
            if launches:
                kernels = _kernel_module(state, function)
                for number, launch in enumerate(launches):
                    _Outlining(function, kernels, launch, number).run()


def _kernel_module(state: ModuleState, function: ir.Operation) -> ir.Operation:
    name = ir.StringAttr(function.attributes["sym_name"]).value
    state.module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    made = ir.Operation.create(
        "gpu.module",
        attributes={"sym_name": ir.StringAttr.get(f"{name}_kernels")},
        regions=1,
        loc=function.location,
        ip=ir.InsertionPoint(function),
    )
    if not len(made.regions[0].blocks):
        made.regions[0].blocks.append()
    return made


class _Outlining:
    """Makes one kernel."""

    def __init__(
        self, function: ir.Operation, kernels: ir.Operation, launch: ir.Operation, number: int
    ) -> None:
        self.function, self.kernels, self.launch = function, kernels, launch
        base = ir.StringAttr(function.attributes["sym_name"]).value
        self.name = f"{base}_kernel" + (f"_{number}" if number else "")
        self.body = launch.regions[0].blocks[0]

    def run(self) -> None:
        self._copy_constants()
        captured = self._captured()
        shared = [
            op.operation
            for op in self.body.operations
            if op.operation.name == "memref.alloca" and is_workgroup(op.operation.results[0].type)
        ]
        kernel = self._kernel(captured, shared)
        entry = kernel.regions[0].blocks[0]
        arguments = list(entry.arguments)
        for value, argument in zip(captured, arguments, strict=False):
            self._replace_inside(value, argument)
        for op, argument in zip(shared, arguments[len(captured) :], strict=True):
            op.results[0].replace_all_uses_with(argument)
            op.erase()
        self._move(entry)
        self._call(captured)
        self.launch.erase()

    def _copy_constants(self) -> None:
        """Every constant from outside that the kernel uses gets a copy inside."""
        copies: dict[ir.Value, ir.Value] = {}
        for op in inside(self.launch):
            for number, value in enumerate(op.operands):
                owner = value.owner
                if isinstance(owner, ir.Block) or is_at_or_inside(owner.operation, self.launch):
                    continue
                if owner.operation.name != "arith.constant":
                    continue
                if value not in copies:
                    at = ir.InsertionPoint.at_block_begin(self.body)
                    copies[value] = owner.operation.clone(ip=at).operation.results[0]
                op.operands[number] = copies[value]

    def _captured(self) -> list[ir.Value]:
        """The values from outside, the function's arguments first."""
        found: dict[ir.Value, None] = {}
        for op in inside(self.launch):
            for value in op.operands:
                owner = value.owner
                maker = owner.owner if isinstance(owner, ir.Block) else owner
                if not is_at_or_inside(maker.operation, self.launch):
                    found[value] = None
        order = list(self.function.regions[0].blocks[0].arguments)
        arguments = [v for v in order if v in found]
        return [*arguments, *(v for v in found if v not in arguments)]

    def _kernel(self, captured: Sequence[ir.Value], shared: Sequence[ir.Operation]) -> ir.Operation:
        kinds = [value.type for value in captured]
        attributes: dict[str, ir.Attribute] = {
            "sym_name": ir.StringAttr.get(self.name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(kinds, [])),
            "kernel": ir.UnitAttr.get(),
        }
        launched = [as_index(size).as_constant() for size in list(self.launch.operands)[:6]]
        for name, sizes in (("known_grid_size", launched[:3]), ("known_block_size", launched[3:])):
            if None not in sizes:
                attributes[name] = ir.DenseI32ArrayAttr.get([s for s in sizes if s is not None])
        if "annotations" in self.launch.attributes:
            asked = ir.DictAttr(self.launch.attributes["annotations"])
            if _ASKED_MIN_BLOCKS in asked:
                attributes[MIN_BLOCKS] = asked[_ASKED_MIN_BLOCKS]
        if shared:
            count = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(shared))
            attributes["workgroup_attributions"] = count
            # LLVM reads several elements at once where it finds that they follow each other.
            aligned = ir.Attribute.parse(f"{{llvm.align = {SHARED_ALIGNMENT} : i64}}")
            attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * len(shared))
        made = ir.Operation.create(
            "gpu.func",
            attributes=attributes,
            regions=1,
            loc=self.function.location,
            ip=ir.InsertionPoint(self.kernels.regions[0].blocks[0]),
        )
        arguments = [*captured, *(op.results[0] for op in shared)]
        made.regions[0].blocks.append(
            *[v.type for v in arguments], arg_locs=[v.location for v in arguments]
        )
        return made

    def _replace_inside(self, value: ir.Value, argument: ir.Value) -> None:
        for op in inside(self.launch):
            for number, operand in enumerate(op.operands):
                if operand == value:
                    op.operands[number] = argument

    def _move(self, entry: ir.Block) -> None:
        for argument, (op, axis) in zip(self.body.arguments, (*_IDS, *_SIZES), strict=True):
            if any(True for _ in argument.uses):
                made = ir.Operation.create(
                    f"gpu.{op}",
                    results=[ir.IndexType.get()],
                    attributes={"dimension": ir.Attribute.parse(f"#gpu<dim {axis}>")},
                    loc=argument.location,
                    ip=ir.InsertionPoint(entry),
                )
                argument.replace_all_uses_with(made.results[0])
        for view in list(self.body.operations):
            op = view.operation
            op.detach_from_parent()
            entry.append(op)
        end = entry.operations[len(entry.operations) - 1].operation
        ir.Operation.create("gpu.return", loc=end.location, ip=ir.InsertionPoint(end))
        end.erase()

    def _call(self, captured: Sequence[ir.Value]) -> None:
        segments = list(ir.DenseI32ArrayAttr(self.launch.attributes["operandSegmentSizes"]))
        operands = list(self.launch.operands)
        with_shared = segments[10]
        module = ir.StringAttr(self.kernels.attributes["sym_name"]).value
        ir.Operation.create(
            "gpu.launch_func",
            operands=[*operands[:6], *operands[6 : 6 + with_shared], *captured],
            attributes={
                "kernel": ir.SymbolRefAttr.get([module, self.name]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
                    [0, *[1] * 6, 0, 0, 0, with_shared, len(captured), 0]
                ),
            },
            loc=self.launch.location,
            ip=ir.InsertionPoint(self.launch),
        )
