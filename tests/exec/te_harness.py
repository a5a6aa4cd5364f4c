"""Running tensor expressions against numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir import te
from relax_mlir.driver import compile

TOLERANCES = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-10}


def placeholders(arrays: Sequence[np.ndarray]) -> list[te.Tensor]:
    """A placeholder for each array."""
    return [te.placeholder(a.shape, str(a.dtype), f"X{i}") for i, a in enumerate(arrays)]


def run(outputs: te.Tensor | Sequence[te.Tensor], inputs: Sequence[te.Tensor], *arrays: np.ndarray):
    """Compile and run; returns the outputs (one, or a list)."""
    several = isinstance(outputs, (list, tuple))
    tensors = list(outputs) if several else [outputs]
    compiled = compile(te.create_prim_func([*inputs, *tensors]))
    results = [np.zeros([int(s) for s in t.shape], t.dtype) for t in tensors]
    compiled(*arrays, *results)
    return results if several else results[0]


def check(
    build: Callable[..., Any],
    reference: Callable[..., Any],
    *arrays: np.ndarray,
    tolerance: float | None = None,
) -> None:
    """`build` of placeholders gives what `reference` gives of the arrays."""
    inputs = placeholders(arrays)
    got = run(build(*inputs), inputs, *arrays)
    with np.errstate(all="ignore"):
        wanted = reference(*arrays)
    got = got if isinstance(got, list) else [got]
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    assert len(got) == len(wanted)
    for mine, numpys in zip(got, wanted, strict=True):
        numpys = np.asarray(numpys)
        assert mine.shape == numpys.shape
        limit = tolerance or TOLERANCES.get(str(mine.dtype), 0)
        exact = numpys.astype(mine.dtype)
        np.testing.assert_allclose(mine, exact, rtol=limit, atol=limit, equal_nan=True)
