"""Where a thread is: thread, block, lane and subgroup numbers; barriers; returning."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.kernel_writer import KernelWriter, handles
from relax_mlir.lowering.gpu_to_emulator.layout import WARP, Event, Word
from relax_mlir.mlir import arith, func, ir, llvm

__all__: list[str] = []


def _axis(op: ir.Operation) -> str:
    """x, y or z of an operation such as `gpu.thread_id x`."""
    return str(op.attributes["dimension"]).split()[-1].rstrip(">")


def _replace(writer: KernelWriter, op: ir.Operation, value: ir.Value) -> None:
    """Replace an index or integer result by an i64."""
    kind = op.results[0].type
    if isinstance(kind, ir.IndexType):
        value = writer.as_index(value)
    elif ir.IntegerType(kind).width < 64:
        value = arith.trunci(kind, value)
    op.results[0].replace_all_uses_with(value)
    op.erase()


def thread_number(writer: KernelWriter, axis: str) -> ir.Value:
    """The thread's number along an axis, from its number in the block."""
    if axis == "x":
        return arith.remui(writer.thread, writer.word(Word.dim_x))
    rows = arith.divui(writer.thread, writer.word(Word.dim_x))
    step = arith.remui if axis == "y" else arith.divui
    return step(rows, writer.word(Word.dim_y))


@handles("gpu.thread_id")
def thread_id(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, thread_number(writer, _axis(op)))


@handles("gpu.block_id")
def block_id(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, writer.word(Word[f"block_{_axis(op)}"]))


@handles("gpu.block_dim")
def block_dim(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, writer.word(Word[f"dim_{_axis(op)}"]))


@handles("gpu.grid_dim")
def grid_dim(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, writer.word(Word[f"grid_{_axis(op)}"]))


@handles("gpu.global_id")
def global_id(writer: KernelWriter, op: ir.Operation) -> None:
    axis = _axis(op)
    before = arith.muli(writer.word(Word[f"block_{axis}"]), writer.word(Word[f"dim_{axis}"]))
    _replace(writer, op, arith.addi(before, thread_number(writer, axis)))


@handles("gpu.lane_id", "nvvm.read.ptx.sreg.laneid")
def lane_id(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, writer.lane())


@handles("gpu.subgroup_id")
def subgroup_id(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, arith.divui(writer.thread, writer.constant(WARP)))


@handles("gpu.num_subgroups")
def num_subgroups(writer: KernelWriter, op: ir.Operation) -> None:
    rounded = arith.addi(writer.word(Word.threads), writer.constant(WARP - 1))
    _replace(writer, op, arith.divui(rounded, writer.constant(WARP)))


@handles("gpu.subgroup_size", "nvvm.read.ptx.sreg.warpsize")
def subgroup_size(writer: KernelWriter, op: ir.Operation) -> None:
    _replace(writer, op, writer.constant(WARP))


# PTX's own names of the same numbers.
_REGISTERS = {"tid": "thread", "ctaid": "block", "ntid": "dim", "nctaid": "grid"}


@handles(*(f"nvvm.read.ptx.sreg.{name}.{axis}" for name in _REGISTERS for axis in "xyz"))
def special_register(writer: KernelWriter, op: ir.Operation) -> None:
    name, axis = op.name.split(".")[-2:]
    what = _REGISTERS[name]
    if what == "thread":
        _replace(writer, op, thread_number(writer, axis))
    else:
        _replace(writer, op, writer.word(Word[f"{what}_{axis}"]))


@handles("gpu.barrier", "nvvm.barrier")
def barrier(writer: KernelWriter, op: ir.Operation) -> None:
    of_warp = "scope" in op.attributes and "subgroup" in str(op.attributes["scope"])
    event = Event.WARP_BARRIER if of_warp else Event.BARRIER
    writer.stop(event, writer.add_site(op))
    op.erase()


@handles("nvvm.bar.warp.sync")
def warp_barrier(writer: KernelWriter, op: ir.Operation) -> None:
    writer.stop(Event.WARP_BARRIER, writer.add_site(op))
    op.erase()


@handles("nvvm.memory.barrier", "nvvm.fence.acq_rel", "nvvm.fence.sc.cluster", "llvm.fence")
def fence(writer: KernelWriter, op: ir.Operation) -> None:
    op.erase()  # threads run one at a time: what one has stored the next one reads


@handles("gpu.return")
def leave(writer: KernelWriter, op: ir.Operation) -> None:
    func.ReturnOp([llvm.mlir_zero(writer.ptr)])
    op.erase()
