"""Type inference of every operator, from the table of the dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import SPECS, InferError, infer_result
from tests.unit.infer_cases import CASES, INVALID, to_type


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with mlir.scope():
        yield


def _infer(name: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> str:
    spec = SPECS[name]
    kinds = [
        [to_type(t) for t in text] if isinstance(text, tuple) else to_type(text)
        for text in operands
    ]
    kinds += [None] * (len(spec.operands) - len(kinds))
    return types.describe(infer_result(spec, kinds, attributes))


@pytest.mark.parametrize(("name", "operands", "attributes", "expected"), CASES)
def test_result(name: str, operands: Any, attributes: Any, expected: str) -> None:
    assert _infer(name, operands, attributes) == expected


@pytest.mark.parametrize(("name", "operands", "attributes", "message"), INVALID)
def test_refused(name: str, operands: Any, attributes: Any, message: str) -> None:
    with pytest.raises(InferError) as error:
        _infer(name, operands, attributes)
    assert message in str(error.value)


def test_every_elementwise_operator_is_in_the_table() -> None:
    """The operators of TVM 0.27 by family (relax_ops of its registry)."""
    unary = (
        "abs acos acosh asin asinh atan atanh bitwise_not ceil clip cos cosh erf exp floor "
        "isfinite isinf isnan log logical_not negative round rsqrt sigmoid sign sin sinh sqrt "
        "square tan tanh trunc"
    )
    binary = (
        "add subtract multiply divide floor_divide mod floor_mod power atan2 log_add_exp maximum "
        "minimum equal not_equal greater greater_equal less less_equal logical_and logical_or "
        "logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift"
    )
    statistical = "max mean min prod std sum cumprod cumsum variance median"
    assert set(f"{unary} {binary} {statistical}".split()) <= set(SPECS)
