"""What schedules remember while the IR is unchanged, and how affine maps are read."""

from __future__ import annotations

import pytest

from relax_mlir import mlir
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.affine_form import affine_form, evaluate
from relax_mlir.tir.schedule.facts import remembered, unchanged
from relax_mlir.tir.schedule.index import FUNCTIONS, Index, as_index


def test_a_function_is_asked_once_while_nothing_changes() -> None:
    asked: list[int] = []

    @remembered
    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    assert double(1) == double(1) == 2
    assert asked == [1, 1]  # outside, the IR may have changed in between
    with unchanged():
        assert double(3) == double(3) == 6
        assert double(4) == 8
        with unchanged():  # a part of its own
            assert double(3) == 6
        assert double(3) == 6
    assert asked == [1, 1, 3, 4, 3]
    assert double(3) == 6
    assert asked == [1, 1, 3, 4, 3, 3]


def test_none_is_remembered_and_an_exception_is_not() -> None:
    asked: list[str] = []

    @remembered
    def look(name: str) -> None:
        asked.append(name)
        if name == "wrong":
            raise ValueError(name)

    with unchanged():
        assert look("right") is None
        assert look("right") is None
        for _ in range(2):
            with pytest.raises(ValueError, match="wrong"):
                look("wrong")
    assert asked == ["right", "wrong", "wrong"]


@pytest.mark.parametrize(
    ("text", "operands", "wanted"),
    [
        ("(d0, d1) -> (d0 * 4 + d1 - 3)", (5, 2), 19),
        ("(d0)[s0] -> ((d0 + s0) floordiv 4)", (-9, 3), -2),
        ("(d0)[s0] -> (d0 mod 4 - (s0 ceildiv 4) * 2)", (-7, 9), -5),
        ("() -> (7)", (), 7),
    ],
)
def test_maps_are_computed(text: str, operands: tuple[int, ...], wanted: int) -> None:
    with mlir.scope():
        affine_map = ir.Attribute.parse(f"affine_map<{text}>")
        form = affine_form(affine_map)
        assert affine_form(affine_map) is form
        given = [Index({}, value) for value in operands]
        assert evaluate(form, given, as_index, FUNCTIONS).as_constant() == wanted
