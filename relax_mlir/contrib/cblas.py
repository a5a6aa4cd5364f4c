"""Matrix products by the CPU's library (TVM's `tvm.contrib.cblas`): numpy's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir import te
from relax_mlir.runtime import register_global_func
from relax_mlir.tir import call_packed

__all__ = ["batch_matmul", "matmul"]

_MATMUL, _BATCH_MATMUL = "tvm.contrib.cblas.matmul", "tvm.contrib.cblas.batch_matmul"


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, **kwargs: Any
) -> te.Tensor:
    """The product of two matrices, each transposed if asked for, by a call of the library."""
    rows = lhs.shape[1] if transa else lhs.shape[0]
    columns = rhs.shape[0] if transb else rhs.shape[1]
    return _call(_MATMUL, (rows, columns), lhs, rhs, transa, transb, kwargs)


def batch_matmul(
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool = False,
    transb: bool = False,
    iterative: bool = False,
    **kwargs: Any,
) -> te.Tensor:
    """Products of matrices, one for each index of the first dimension.  `iterative` is accepted."""
    del iterative
    rows = lhs.shape[2] if transa else lhs.shape[1]
    columns = rhs.shape[1] if transb else rhs.shape[2]
    shape = (lhs.shape[0], rows, columns)
    return _call(_BATCH_MATMUL, shape, lhs, rhs, transa, transb, kwargs)


def _call(
    name: str,
    shape: tuple[Any, ...],
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool,
    transb: bool,
    options: Mapping[str, Any],
) -> te.Tensor:
    given: dict[str, Any] = {"name": "C", **options}
    return te.extern(
        shape,
        [lhs, rhs],
        lambda ins, outs: call_packed(name, ins[0], ins[1], outs[0], transa, transb),
        **given,
    )


def _product(lhs: Any, rhs: Any, out: Any, transa: bool, transb: bool) -> None:
    """The library's side of the call, for any number of leading dimensions."""
    left, right = (
        np.swapaxes(a.numpy(), -1, -2) if turned else a.numpy()
        for a, turned in ((lhs, transa), (rhs, transb))
    )
    out.copyfrom(np.matmul(left, right))


for _name in (_MATMUL, _BATCH_MATMUL):
    register_global_func(_name, _product, override=True)
