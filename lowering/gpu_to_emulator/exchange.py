"""Operations in which the threads of a warp read each other's registers: shuffles and votes."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.kernel_writer import KernelWriter, handles
from relax_mlir.lowering.gpu_to_emulator.layout import WARP, Word
from relax_mlir.mlir import arith, ir, llvm, scf

__all__: list[str] = []

_MODES = {"xor": "bfly", "down": "down", "up": "up", "idx": "idx"}


def _mode(op: ir.Operation, key: str) -> str:
    word = str(op.attributes[key]).split()[-1].split("<")[-1].rstrip(">")
    return _MODES.get(word, word)


def _shuffled(
    writer: KernelWriter, op: ir.Operation, value: ir.Value, b: ir.Value, c: ir.Value, mode: str
) -> tuple[ir.Value, ir.Value]:
    """PTX's `shfl.sync`: operands as i64; the value, and whether the lane it names is in range."""
    at_most, at_least = arith.CmpIPredicate.sle, arith.CmpIPredicate.sge
    five_bits = writer.constant(31)
    lane = writer.lane()
    segment = arith.andi(arith.shrui(c, writer.constant(8)), five_bits)
    inside = arith.xori(segment, five_bits)
    first = arith.andi(lane, segment)
    last = arith.ori(first, arith.andi(arith.andi(c, five_bits), inside))
    amount = arith.andi(b, five_bits)
    source = {
        "bfly": lambda: arith.xori(lane, amount),
        "down": lambda: arith.addi(lane, amount),
        "up": lambda: arith.subi(lane, amount),
        "idx": lambda: arith.ori(first, arith.andi(amount, inside)),
    }[mode]()
    in_range = arith.cmpi(at_least if mode == "up" else at_most, source, last)
    lane_read = arith.select(in_range, source, lane)
    read = writer.exchange(op, [value])
    return read(lane_read, 0, value.type), in_range


@handles("gpu.shuffle")
def shuffle(writer: KernelWriter, op: ir.Operation) -> None:
    value, offset, width = op.operands
    mode = _mode(op, "mode")
    segment = arith.subi(writer.constant(WARP), writer.as_i64(width))
    c = arith.shli(segment, writer.constant(8))
    if mode != "up":
        c = arith.ori(c, writer.constant(31))
    result, in_range = _shuffled(writer, op, value, writer.as_i64(offset), c, mode)
    op.results[0].replace_all_uses_with(result)
    op.results[1].replace_all_uses_with(in_range)
    op.erase()


@handles("nvvm.shfl.sync")
def shfl_sync(writer: KernelWriter, op: ir.Operation) -> None:
    _, value, offset, c = op.operands
    mode = _mode(op, "kind")
    result, in_range = _shuffled(writer, op, value, writer.as_i64(offset), writer.as_i64(c), mode)
    kind = op.results[0].type
    if str(kind).startswith("!llvm.struct"):
        whole = llvm.mlir_poison(kind)
        whole = llvm.insertvalue(whole, result, [0])
        result = llvm.insertvalue(whole, in_range, [1])
    op.results[0].replace_all_uses_with(result)
    op.erase()


@handles("nvvm.vote.sync")
def vote_sync(writer: KernelWriter, op: ir.Operation) -> None:
    """ballot, any, all, uni of a predicate over the warp."""
    mode = _mode(op, "kind")
    i64 = writer.i64
    read = writer.exchange(op, [arith.extui(i64, op.operands[1])])
    zero, one, lanes = (writer.constant(number) for number in (0, 1, WARP))
    loop = scf.ForOp(zero, lanes, one, [zero])
    with ir.InsertionPoint(loop.body):
        lane = loop.induction_variable
        first = arith.muli(arith.divui(writer.thread, writer.constant(WARP)), writer.constant(WARP))
        there = arith.cmpi(
            arith.CmpIPredicate.ult, arith.addi(first, lane), writer.word(Word.threads)
        )
        bit = arith.andi(read(lane, 0, i64), arith.extui(i64, there))
        scf.yield_([arith.ori(loop.inner_iter_args[0], arith.shli(bit, lane))])
    ballot = arith.trunci(ir.IntegerType.get_signless(32), loop.results[0])
    none = arith.constant(ballot.type, 0)
    mask = op.operands[0]
    equal, differs = arith.CmpIPredicate.eq, arith.CmpIPredicate.ne
    result = {
        "ballot": lambda: ballot,
        "any": lambda: arith.cmpi(differs, arith.andi(ballot, mask), none),
        "all": lambda: arith.cmpi(equal, arith.andi(ballot, mask), mask),
        "uni": lambda: arith.ori(
            arith.cmpi(equal, arith.andi(ballot, mask), none),
            arith.cmpi(equal, arith.andi(ballot, mask), mask),
        ),
    }[mode]()
    op.results[0].replace_all_uses_with(result)
    op.erase()
