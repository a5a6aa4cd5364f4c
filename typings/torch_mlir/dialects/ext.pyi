# Written by typings/make_stubs.py.
from typing import Any

from torch_mlir import ir
from torch_mlir.ir import OpResult as Result
from torch_mlir.ir import Region as Region
from torch_mlir.ir import Value as Operand

__all__ = [
    "Attribute",
    "Dialect",
    "DialectAlreadyLoadedError",
    "Operand",
    "Operation",
    "Pure",
    "Region",
    "Result",
    "Type",
]

class DialectAlreadyLoadedError(RuntimeError): ...

Pure: Any
ConstraintLoweringContext: Any
partition_fields: Any

class Operation(ir.OpView):
    def __init_subclass__(
        cls, *, name: str | None = ..., traits: list[Any] | None = ..., **kwargs: Any
    ) -> None: ...

class Type(ir.DynamicType):
    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...

class Attribute(ir.DynamicAttr):
    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...

class Dialect(ir.Dialect):
    Operation: type[Operation]
    Type: type[Type]
    Attribute: type[Attribute]
    def __init_subclass__(cls, *, name: str, **kwargs: Any) -> None: ...
    @classmethod
    def load(cls, *, register: bool = ..., reload: bool = ...) -> None: ...
