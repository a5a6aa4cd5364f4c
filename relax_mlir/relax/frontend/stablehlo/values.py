"""What a value of a StableHLO program may stand for while importing.

| value | is |
|---|---|
| a Relax expression | a tensor computed when the program runs |
| `Known` | a tensor whose elements are known while importing: numbers, or sizes over symbols |
| `Spread` | a tensor that repeats a smaller one, which is not repeated until something needs it |
| `fourier.Complex` | a complex tensor, by its parts |
| a list | a tuple |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim


@dataclass(frozen=True)
class Spread:
    """`source` (an expression or a `Known`) broadcast to `dims`, as numpy broadcasts.

    StableHLO's elementwise operations want operands of one shape, Relax's broadcast: what programs
    spread for the former goes into the latter as it was.
    """

    source: Any
    dims: tuple[Dim, ...]


def source_of(value: Any) -> Any:
    """What is repeated, or the value itself."""
    return value.source if isinstance(value, Spread) else value


def equal_dims(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are provably the same."""
    return len(a) == len(b) and all(map(dim_algebra.equal, a, b))
