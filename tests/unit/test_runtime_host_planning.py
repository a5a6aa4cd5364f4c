"""What host code is put together from: workspace plans, size expressions, dtype words."""

from __future__ import annotations

import random

import pytest
import tvm_ffi

from relax_mlir.dialects import dims
from relax_mlir.errors import CompileError
from relax_mlir.lowering.relax_to_host.workspace import ALIGNMENT, Temporary, plan_workspace
from relax_mlir.lowering.to_llvm.ffi_abi import dtype_word
from relax_mlir.lowering.to_llvm.ffi_dims import DimensionValues
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, ModuleText, quote
from relax_mlir.mlir import PassManager, ir, scope


def _chain(count: int, size: dims.Dim) -> list[Temporary]:
    """Each temporary is made from the one before it."""
    return [Temporary(i, size, i, i + 1) for i in range(count)]


def test_a_chain_needs_two_buffers() -> None:
    assert plan_workspace(_chain(10, 1000)).static_size == 2 * 1024
    assert plan_workspace(_chain(10, "n * 4")).tokens == ["n * 4", "n * 4"]


def test_different_sizes_do_not_share_a_token() -> None:
    plan = plan_workspace([Temporary(0, "n * 4", 0, 1), Temporary(1, "n * 8", 5, 6)])
    assert sorted(map(str, plan.tokens)) == ["n * 4", "n * 8"]


def test_nothing_to_place() -> None:
    assert plan_workspace([]).empty


@pytest.mark.parametrize("seed", range(20))
def test_live_temporaries_never_overlap(seed: int) -> None:
    rng = random.Random(seed)
    temporaries = []
    for key in range(30):
        first = rng.randrange(40)
        size: dims.Dim = rng.choice([0, 1, 64, 65, 4000]) if key % 3 else rng.choice(["n", "m * 4"])
        temporaries.append(Temporary(key, size, first, first + rng.randrange(10)))
    plan = plan_workspace(temporaries)
    for a in temporaries:
        for b in temporaries:
            if a.key != b.key and a.overlaps(b):
                assert not _share(plan.places[a.key], a, plan.places[b.key], b)
    for t in temporaries:
        place = plan.places[t.key]
        if place.token is None:
            assert place.offset % ALIGNMENT == 0
            assert place.offset + int(t.size) <= plan.static_size
        else:
            assert dims.equal(plan.tokens[place.token], t.size)


def _share(place_a, a: Temporary, place_b, b: Temporary) -> bool:
    if place_a.token is not None or place_b.token is not None:
        return place_a.token == place_b.token
    end_a, end_b = place_a.offset + int(a.size), place_b.offset + int(b.size)
    return place_a.offset < end_b and place_b.offset < end_a


@pytest.mark.parametrize(
    "dtype",
    "bool int4 int8 int64 uint8 uint32 float16 float32 float64 bfloat16 float8_e4m3fn float8_e5m2 "
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "float6_e2m3fn float6_e3m2fn float4_e2m1fn".split(),
)
def test_dtype_words_are_those_of_tvm_ffi(dtype: str) -> None:
    known = tvm_ffi.dtype(dtype)
    assert dtype_word(dtype) == int(known.type_code) | known.bits << 8 | known.lanes << 16


def test_unknown_dtype_word() -> None:
    with pytest.raises(CompileError, match="complex64"):
        dtype_word("complex64")


def test_quoting() -> None:
    assert quote('a"b\\c\n\u00e9') == "a\\22b\\5Cc\\0A\\C3\\A9"


def _evaluate(dim: dims.Dim, **symbols: int) -> int:
    """Let MLIR fold the arithmetic that is written for an expression."""
    text = FunctionText(ModuleText(), "func.func @f() -> i64")
    values = DimensionValues(text)
    for name, value in symbols.items():
        values.bind(name, text.constant(value))
    text.line(f"return {values.value(dim)} : i64")
    text.finish()
    source = str(text.module).replace("llvm.mlir.constant", "arith.constant")
    source = source.replace(" : i64) : i64", " : i64").replace("constant(", "constant ")
    with scope():
        module = ir.Module.parse(source)
        PassManager.parse("builtin.module(func.func(arith-expand,canonicalize,sccp))").run(
            module.operation
        )
        block = module.body.operations[0].regions[0].blocks[0]
        returned = block.operations[len(block.operations) - 1].operands[0]
        return ir.IntegerAttr(returned.owner.attributes["value"]).value


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (7, 7),
        ("n", 5),
        ("n * 2 + 1", 11),
        ("m * n - 3", -18),
        ("floordiv(m, 2)", -2),
        ("floormod(m, 2)", 1),
        ("min(n, m)", -3),
        ("max(n, m)", 5),
        ("-n", -5),
    ],
)
def test_size_expressions(dim: dims.Dim, expected: int) -> None:
    assert _evaluate(dim, n=5, m=-3) == expected


def test_unknown_symbol_in_a_size() -> None:
    with pytest.raises(CompileError, match="'q'"):
        DimensionValues(FunctionText(ModuleText(), "func.func @f()")).value("q + 1")
