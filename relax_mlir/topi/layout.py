"""Changing the layout of a tensor by names of axes: NCHW, NHWC, NCHW16c."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import as_int, named

_PART = re.compile(r"(\d*)([A-Za-z])")


@dataclass(frozen=True)
class Layout:
    """Axes in order: (letter, factor); a lower-case letter splits off `factor` of its axis."""

    text: str
    axes: tuple[tuple[str, int], ...]

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout of text such as "NCHW16c".  Raises Error if it is none."""
        parts = _PART.findall(text)
        if "".join(number + letter for number, letter in parts) != text or not text:
            raise Error(f"{text!r} is not a layout such as NCHW or NCHW16c")
        axes = tuple((letter, int(number or 1)) for number, letter in parts)
        if len({letter for letter, _ in axes}) != len(axes):
            raise Error(f"layout {text!r} names an axis twice")
        return cls(text, axes)

    def factor(self, letter: str) -> int:
        """By how much the primal axis `letter` is split (1 if it is not)."""
        return dict(self.axes).get(letter.lower(), 1)

    @property
    def primal(self) -> set[str]:
        return {letter for letter, _ in self.axes if letter.isupper()}


def layout_transform(
    array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> Tensor:
    """array in another layout; where sizes do not divide, the rest is zero."""
    source, target = Layout.parse(src_layout), Layout.parse(dst_layout)
    if source.primal != target.primal or len(source.axes) != len(array.shape):
        raise Error(
            f"layout_transform: {src_layout} of {len(array.shape)} axes cannot become {dst_layout}"
        )
    full = {
        letter: simplify(O.multiply(array.shape[i], source.factor(letter)))
        for i, (letter, _) in enumerate(source.axes)
        if letter.isupper()
    }
    shape = [
        O.ceildiv(full[letter], target.factor(letter))
        if letter.isupper()
        else O.const(factor, full[letter.upper()].dtype)
        for letter, factor in target.axes
    ]

    def body(*i: Any) -> PrimExpr:
        at = dict(zip((letter for letter, _ in target.axes), i, strict=True))
        logical: dict[str, PrimExpr] = {}
        for letter in full:
            outer = O.multiply(at[letter], target.factor(letter))
            inner = at.get(letter.lower())
            logical[letter] = outer if inner is None else O.add(outer, inner)
        value = array(*[_source_index(letter, source, logical) for letter, _ in source.axes])
        checks = [
            O.less(logical[letter], size)
            for letter, size in full.items()
            if _may_overrun(size, target.factor(letter))
        ]
        return I.if_then_else(I.all(*checks), value, O.const(0, array.dtype)) if checks else value

    attrs = {
        "schedule_rule": schedule_rule,
        "src_layout": src_layout,
        "dst_layout": dst_layout,
        "input_shape": array.shape,
    }
    if any(as_int(s) is None for s in array.shape):
        del attrs["input_shape"]
    return named([simplify(s) for s in shape], body, "T_layout_trans", "injective", attrs)


def _source_index(letter: str, source: Layout, logical: dict[str, PrimExpr]) -> PrimExpr:
    index, factor = logical[letter.upper()], source.factor(letter)
    return O.floordiv(index, factor) if letter.isupper() else O.floormod(index, factor)


def _may_overrun(size: PrimExpr, factor: int) -> bool:
    known = as_int(simplify(O.floormod(size, factor)))
    return known != 0
