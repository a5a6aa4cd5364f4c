"""Random numbers that are functions of a key and a position: the same key gives the same numbers,
in whatever order and on however many threads they are made.

The generators are those of Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.topi.common import as_int
from relax_mlir.topi.imperative import every, flattened

__all__ = [
    "normal",
    "philox4x32",
    "randint",
    "random_bits",
    "random_words",
    "rng_bit_generator",
    "threefry2x32",
    "uniform",
]

Words = tuple[PrimExpr, ...]
Name = Callable[[PrimExpr], PrimExpr]
"""Gives a value a name in the program, so that it is computed once where it is read often."""

_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = 0x1BD11BDA
_PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)
_PHILOX_STEPS = (0x9E3779B9, 0xBB67AE85)


def _word(value: int) -> PrimExpr:
    return O.const(value, "uint32")


def _low(value: PrimExpr) -> PrimExpr:
    """The low word of 64 bits."""
    return O.cast("uint32", O.bitwise_and(value, O.const(0xFFFFFFFF, value.dtype)))


def _high(value: PrimExpr) -> PrimExpr:
    return _low(O.shift_right(value, O.const(32, value.dtype)))


def _joined(low: PrimExpr, high: PrimExpr) -> PrimExpr:
    """64 bits of two words."""
    shifted = O.shift_left(O.cast("uint64", high), O.const(32, "uint64"))
    return O.bitwise_or(O.cast("uint64", low), shifted)


def threefry2x32(key: Words, counter: Words, name: Name) -> Words:
    """Threefry-2x32 with 20 rounds: two words of a key of two and a counter of two."""
    parity = O.bitwise_xor(O.bitwise_xor(key[0], key[1]), _word(_THREEFRY_PARITY))
    schedule = (key[0], key[1], name(parity))
    a, b = (name(O.add(c, k)) for c, k in zip(counter, key, strict=True))
    for group in range(5):
        for distance in _THREEFRY_ROTATIONS[group % 2]:
            a = name(O.add(a, b))
            left = O.shift_left(b, _word(distance))
            turned = O.bitwise_or(left, O.shift_right(b, _word(32 - distance)))
            b = name(O.bitwise_xor(turned, a))
        a = name(O.add(a, schedule[(group + 1) % 3]))
        b = name(O.add(O.add(b, schedule[(group + 2) % 3]), _word(group + 1)))
    return a, b


def philox4x32(key: Words, counter: Words, name: Name) -> Words:
    """Philox-4x32 with 10 rounds: four words of a key of two and a counter of four."""
    words, (left, right) = counter, key
    for round_ in range(10):
        if round_:
            left, right = (
                name(O.add(k, _word(step)))
                for k, step in zip((left, right), _PHILOX_STEPS, strict=True)
            )
        first, second = (
            name(O.multiply(O.cast("uint64", words[2 * i]), O.const(factor, "uint64")))
            for i, factor in enumerate(_PHILOX_FACTORS)
        )
        words = (
            name(O.bitwise_xor(O.bitwise_xor(_high(second), words[1]), left)),
            name(_low(second)),
            name(O.bitwise_xor(O.bitwise_xor(_high(first), words[3]), right)),
            name(_low(first)),
        )
    return words


def _namer(build: PrimFuncBuilder) -> Name:
    return lambda value: build.let("word", value)


def random_words(key: Tensor, shape: Sequence[Any]) -> list[Tensor]:
    """Two tensors of random words, uint32, for each position of a shape.

    key: two words, uint32.
    """
    if key.dtype != "uint32" or key.ndim != 1:
        raise Error(f"random_words: a key is two uint32, not {key}")
    sizes = [as_expr(size) for size in shape]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        name = _namer(build)
        with ExitStack() as nest:
            place = every(build, outs[0].shape, nest, "i")
            position: PrimExpr = O.const(0, "int64")
            for index, size in zip(place, outs[0].shape, strict=True):
                position = O.add(O.multiply(position, O.cast("int64", size)), index)
            at = name(O.cast("uint64", position))
            words = threefry2x32((ins[0][0], ins[0][1]), (_low(at), _high(at)), name)
            for out, word in zip(outs, words, strict=True):
                build.store(out, word, place)

    return imperative([(sizes, "uint32"), (sizes, "uint32")], [key], emit, "random_words")


def random_bits(key: Tensor, shape: Sequence[Any]) -> Tensor:
    """Random int64 that are not negative, for each position of a shape."""
    low, high = random_words(key, shape)

    def element(*i: Any) -> PrimExpr:
        return O.cast("int64", O.shift_right(_joined(low(*i), high(*i)), O.const(1, "uint64")))

    return compute(low.shape, element, "random_bits")


def _fraction(low: PrimExpr, high: PrimExpr, dtype: str) -> PrimExpr:
    """Equally spaced numbers in [0, 1), of as many bits as the dtype's fraction has, at most 53."""
    if dtype == "float64":
        bits = O.shift_right(_joined(low, high), O.const(11, "uint64"))
        return O.multiply(O.cast("float64", O.cast("int64", bits)), O.const(2.0**-53, "float64"))
    kept = {"float16": 11, "bfloat16": 8}.get(dtype, 24)
    bits = O.cast("int32", O.shift_right(low, _word(32 - kept)))
    return O.multiply(O.cast("float32", bits), O.const(2.0**-kept, "float32"))


def uniform(
    key: Tensor, shape: Sequence[Any], low: float = 0.0, high: float = 1.0, dtype: str = "float32"
) -> Tensor:
    """Numbers of [low, high), each as likely as any other."""
    words = random_words(key, shape)

    def element(*i: Any) -> PrimExpr:
        fraction = _fraction(words[0](*i), words[1](*i), dtype)
        wide = fraction.dtype
        if (low, high) != (0.0, 1.0):
            width = O.const(high - low, wide)
            fraction = O.add(O.multiply(fraction, width), O.const(low, wide))
        return O.cast(dtype, fraction)

    return compute(words[0].shape, element, "uniform")


def normal(
    key: Tensor, shape: Sequence[Any], mean: float = 0.0, std: float = 1.0, dtype: str = "float32"
) -> Tensor:
    """Numbers of a normal distribution (Box and Muller, 1958)."""
    wide = "float64" if dtype == "float64" else "float32"
    words = random_words(key, shape)

    def element(*i: Any) -> PrimExpr:
        first, second = words[0](*i), words[1](*i)
        # In (0, 1], of which the logarithm is finite.
        above_zero = O.subtract(O.const(1.0, wide), _fraction(first, second, wide))
        radius = I.sqrt(O.multiply(O.const(-2.0, wide), I.log(above_zero)))
        angle = O.multiply(_fraction(second, first, wide), O.const(2 * math.pi, wide))
        value = O.multiply(radius, I.cos(angle))
        return O.cast(dtype, O.add(O.multiply(value, O.const(std, wide)), O.const(mean, wide)))

    return compute(words[0].shape, element, "normal")


def randint(key: Tensor, shape: Sequence[Any], low: int, high: int, dtype: str = "int64") -> Tensor:
    """Integers of [low, high).  Raises Error for an empty range."""
    if high <= low:
        raise Error(f"randint: there is no integer in [{low}, {high})")
    words = random_words(key, shape)

    def element(*i: Any) -> PrimExpr:
        # The remainder of 64 random bits: some integers are more likely by 2**-64 times the width.
        bits = _joined(words[0](*i), words[1](*i))
        place = O.cast("int64", O.truncmod(bits, O.const(high - low, "uint64")))
        return O.cast(dtype, O.add(place, O.const(low, "int64")))

    return compute(words[0].shape, element, "randint")


# -- generators with a state ----------------------------------------------------------------------

_WORDS_OF_A_BLOCK = {"threefry": 2, "philox": 4}


def rng_bit_generator(
    state: Tensor, shape: Sequence[int], dtype: str, algorithm: str = "philox"
) -> list[Tensor]:
    """(the next state, random bits of a shape) of a generator: StableHLO's rng_bit_generator.

    state: uint64; the key, then the counter: one number, or two (low, high) for "philox".  Block b
    is what the generator makes of counter + b.  "threefry" gives the first words of all blocks,
    then the second ones; "philox" the four words of each block in turn; numbers of 64 bits take two
    words of a block, those of 8 or 16 the low bits of one.  The next counter is that behind the
    last block.  Raises Error for another algorithm, dtype or state.
    """
    counted = {"threefry": (2,), "philox": (2, 3)}.get(algorithm)
    length = as_int(state.shape[0]) if state.ndim == 1 else None
    if counted is None:
        raise Error(f"rng_bit_generator: 'threefry' or 'philox', not {algorithm!r}")
    if state.dtype != "uint64" or length is None or length not in counted:
        raise Error(f"rng_bit_generator: {algorithm} has no state like {state}")
    if dtype not in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"):
        raise Error(f"rng_bit_generator: bits are integers, not {dtype}")
    each = _WORDS_OF_A_BLOCK[algorithm] // (2 if dtype.endswith("64") else 1)
    count = math.prod(int(size) for size in shape)
    blocks = -(-count // each)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, (after, bits) = ins[0], outs
        _write_next_state(build, source, after, length, blocks)
        name = _namer(build)
        with build.for_("serial", 0, blocks, "block", "int64") as block:
            words = _block(source, length, O.cast("uint64", block), algorithm, name)
            values = (
                [_joined(a, b) for a, b in zip(words[::2], words[1::2], strict=True)]
                if dtype.endswith("64")
                else list(words)
            )
            for number, value in enumerate(values):
                place = (
                    O.add(block, number * blocks)
                    if algorithm == "threefry"
                    else O.add(O.multiply(block, each), number)
                )
                made = name(value)
                with build.if_(O.less(place, count)):
                    build.store(bits, O.cast(dtype, made), flattened(bits, place))

    sizes = [as_expr(int(size)) for size in shape]
    return imperative([(state.shape, "uint64"), (sizes, dtype)], [state], emit, "rng_bit_generator")


def _block(source: Buffer, length: int, block: PrimExpr, algorithm: str, name: Name) -> Words:
    """The words of a block: its counter is that of the state plus its number."""
    key = (name(_low(source[0])), name(_high(source[0])))
    low = name(O.add(source[1], block))
    counter = (name(_low(low)), name(_high(low)))
    if algorithm == "threefry":
        return threefry2x32(key, counter, name)
    if length == 2:
        return philox4x32(key, (*counter, _word(0), _word(0)), name)
    high = name(O.add(source[2], _carry(low, source[1])))
    return philox4x32(key, (*counter, name(_low(high)), name(_high(high))), name)


def _carry(total: PrimExpr, start: PrimExpr) -> PrimExpr:
    return O.cast("uint64", O.less(total, start))


def _write_next_state(
    build: PrimFuncBuilder, source: Buffer, after: Buffer, length: int, blocks: int
) -> None:
    build.store(after, source[0], [0])
    total = build.let("next", O.add(source[1], O.const(blocks, "uint64")))
    build.store(after, total, [1])
    if length == 3:
        build.store(after, O.add(source[2], _carry(total, source[1])), [2])
