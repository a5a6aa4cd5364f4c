"""What a name of an ONNX graph may stand for while importing.

| value | is |
|---|---|
| a Relax expression | a tensor computed when the program runs |
| `Known` | a tensor whose elements are known while importing: numbers, or sizes over symbols |
| a list | a sequence: its length is known, its elements are values |
| `None` | an input that was left out, or an optional without a value |
"""

from __future__ import annotations

from relax_mlir.errors import Error


class OnnxError(Error, ValueError):
    """A model that cannot be imported; the message names the node."""


class UnsupportedOnnxOperatorError(Error, NotImplementedError):
    """Operators without a converter, or a use of one that has no Relax counterpart."""


class UnsupportedDtypeError(UnsupportedOnnxOperatorError):
    """Tensors of a dtype that compiled programs do not compute with."""


_NUMBERS = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 "
    "float64".split()
)


def require_runnable(dtype: str) -> None:
    """Refuse the dtypes of less than a byte and the eight-bit floats.

    Raises UnsupportedDtypeError.
    """
    if dtype not in _NUMBERS:
        raise UnsupportedDtypeError(f"tensors of {dtype} are not supported while a program runs")


class BranchError(Exception):
    """An If that cannot stand in the dataflow block that is open."""


class ConstantNeededError(OnnxError):
    """A node needs a value while importing that is known only when the program runs.

    `names` are the inputs of the model it depends on, `name` the first of them.
    """

    def __init__(self, name: str, what: str):
        self.names = [name]
        super().__init__(
            f"{what} must be known while importing, but '{name}' is computed when the program runs"
        )

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""
