"""What both PyTorch importers share: walking a graph and turning its nodes into Relax bindings.

A converter is a function `(importer, *args, **kwargs) -> Expr`.  It receives a node's arguments
with every node replaced by its Relax expression, and returns an expression that the importer binds.
The tables of converters are in `ops_*.py`, one family a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.common import listed_operators
from relax_mlir.relax.frontend.fourier import Complex
from relax_mlir.relax.frontend.torch.validity import misfit

if TYPE_CHECKING:
    import torch

Converter: TypeAlias = "Callable[..., Any]"


class UnsupportedOperatorError(Error, NotImplementedError):
    """An operator of the PyTorch graph that no converter is known for."""


class TorchImportError(Error, ValueError):
    """A PyTorch graph that cannot be imported; the message names the node."""


@dataclass(frozen=True)
class Unavailable:
    """A result that inference has no use for; reading it is an error that names it."""

    what: str


class Importer:
    """Builds one Relax function from a `torch.fx` graph."""

    def __init__(self, converters: Mapping[Any, Converter], custom: Mapping[Any, Converter] | None):
        from relax_mlir import relax

        self.relax = relax
        self.op = relax.op
        self.block_builder = relax.BlockBuilder()
        self.converters = {**converters, **(custom or {})}
        self.env: dict[Any, Any] = {}
        self.constants: dict[int, Any] = {}
        self.expected: list[Any] | None = None
        self.permutations: dict[int, tuple[Any, list[int]]] = {}

    # -- values -----------------------------------------------------------------------------

    def emit(self, expr: Any, name_hint: str = "") -> Any:
        """Bind an expression in the current dataflow block."""
        return self.block_builder.emit(expr)

    def constant(self, tensor: torch.Tensor | np.ndarray) -> Any:
        """A Relax constant for a tensor; the same tensor gives the same constant."""
        if not isinstance(tensor, np.ndarray) and tensor.is_complex():
            # Copies: the parts of a view would be tensors that nothing keeps.
            return Complex(*(self.constant(to_numpy(v)) for v in (tensor.real, tensor.imag)))
        found = self.constants.get(id(tensor))
        if found is None:
            found = self.constants[id(tensor)] = self.relax.const(to_numpy(tensor))
        return found

    def parameter(self, tensor: Any) -> Any:
        """The expression of a weight that a layer holds."""
        return self.constant(tensor)

    def scalar_like(self, value: float | int | bool, like: Any) -> Any:
        """A scalar constant of another expression's dtype."""
        return self.relax.const(value, like.struct_info.dtype)

    def pair(self, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        """Both operands as tensors of one dtype: numbers follow the tensor, dtypes promote as
        PyTorch promotes them."""
        if not self.is_tensor(lhs):
            lhs = self._number(lhs, rhs)
        if not self.is_tensor(rhs):
            rhs = self._number(rhs, lhs)
        left, right = lhs.struct_info.dtype, rhs.struct_info.dtype
        if left != right and left and right:
            wanted = promote(left, right, self.ndim(lhs), self.ndim(rhs))
            lhs = lhs if left == wanted else self.emit(self.op.astype(lhs, wanted))
            rhs = rhs if right == wanted else self.emit(self.op.astype(rhs, wanted))
        return lhs, rhs

    def _number(self, value: Any, like: Any) -> Any:
        dtype = like.struct_info.dtype if self.is_tensor(like) else "bool"
        if not isinstance(value, (bool, int, float)):
            return self.symbol_tensor(value)
        if isinstance(value, float) and not is_float(dtype):
            dtype = "float32"
        elif dtype == "bool" and not isinstance(value, bool):
            dtype = "int64"
        return self.relax.const(value, dtype)

    def symbol_tensor(self, size: Any) -> Any:
        """A symbolic size as a scalar int64 tensor."""
        shape = self.emit(self.op.shape_to_tensor(self.relax.ShapeExpr([size])))
        return self.emit(self.op.reshape(shape, []))

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.relax.Expr)

    def shape_of(self, expr: Any) -> list[Any]:
        """The dimensions of an expression's shape: ints and TensorIR expressions."""
        return [getattr(size, "value", size) for size in expr.struct_info.shape]

    def floating(self, expr: Any) -> Any:
        """The expression in float32 unless it is of a floating dtype already."""
        return expr if is_float(dtype_of(expr)) else self.cast(expr, "float32")

    def cast(self, expr: Any, dtype: Any) -> Any:
        """The expression in a dtype (a torch dtype or a name), bound if that is a conversion."""
        name = dtype if isinstance(dtype, str) else dtype_name(dtype)
        return expr if dtype_of(expr) == name else self.emit(self.op.astype(expr, name))

    def permute(self, x: Any, axes: Sequence[int]) -> Any:
        """A bound transposition; one of a transposition is a single one, or none."""
        rank = self.ndim(x)
        order = [axis % rank for axis in axes]
        source, inner = self.permutations.get(id(x), (x, list(range(rank))))
        composed = [inner[axis] for axis in order]
        if composed == list(range(rank)):
            return source
        result = self.emit(self.op.permute_dims(source, axes=composed))
        self.permutations[id(result)] = (source, composed)
        return result

    def fields(self, expr: Any) -> list[Any]:
        """The bound fields of an expression that is a tuple."""
        bound = self.emit(expr)
        return [self.emit(bound[i]) for i in range(len(bound.struct_info.fields))]

    def chain(self, x: Any, *steps: Any) -> Any:
        """Bind `step(x)` for each step in turn."""
        for step in steps:
            x = self.emit(step(x))
        return x

    def static(self, expr: Any) -> Any:
        """The value (a torch tensor) of an expression that no input or weight reaches, or None."""
        return None

    def reads_results(self, *indices: int) -> bool:
        """Whether the program uses any of these results of the node that is being converted."""
        return False

    def ndim(self, expr: Any) -> int:
        return expr.struct_info.ndim

    # -- nodes ------------------------------------------------------------------------------

    def retrieve(self, value: Any) -> Any:
        """An argument with the nodes in it replaced by their expressions."""
        if isinstance(value, (list, tuple)):
            items = [self.retrieve(v) for v in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return {key: self.retrieve(v) for key, v in value.items()}
        if isinstance(value, slice):
            return slice(*(self.retrieve(v) for v in (value.start, value.stop, value.step)))
        found = self.env.get(value, value) if _is_node(value) else value
        if isinstance(found, Unavailable):
            raise UnsupportedOperatorError(
                f"{found.what} (node '{value.name}'): the importer does not provide them"
            )
        return found

    def call(self, key: Any, node: Any) -> Any:
        """Convert one node with the converter filed under `key`."""
        converter = self.converters.get(key)
        if converter is None:
            raise UnsupportedOperatorError(
                f"PyTorch operator '{key}' (node '{node.name}') has no converter",
                hint="give one in custom_convert_map, or decompose the program first",
            )
        args = [self.retrieve(a) for a in node.args]
        kwargs = {k: self.retrieve(v) for k, v in node.kwargs.items()}
        if any(isinstance(a, Complex) for a in args):
            converter = self._of_complex(key, node)
        self.expected = self.expected_shape(node)
        with _named(key, node):
            return self.bind(converter(self, *args, **kwargs))

    def _of_complex(self, key: Any, node: Any) -> Converter:
        converter = self.converters.get(f"complex {str(key).split('.')[0]}")
        if converter is None:
            raise UnsupportedOperatorError(
                f"PyTorch operator '{key}' (node '{node.name}') has no converter for complex "
                "numbers, which Relax does not have",
                hint="compute with the parts: torch.view_as_real",
            )
        return converter

    def stated_result(self) -> Any:
        """The size, sizes or truth that PyTorch found for the node that is being converted, where
        the graph has it; else None."""
        return None

    def expected_shape(self, node: Any) -> list[Any] | None:
        """The shape PyTorch found for a node's result, where the graph has it."""
        return None

    def bind(self, result: Any) -> Any:
        """Bind a converter's result: an expression, a list of them, or a plain value."""
        if isinstance(result, (list, tuple)):
            return [self.bind(r) for r in result]
        if isinstance(result, Complex):
            return Complex(self.bind(result.real), self.bind(result.imag))
        if self.is_tensor(result) and not isinstance(result, (self.relax.Var, self.relax.Constant)):
            return self.emit(result)
        return result

    def missing(self, calls: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
        """The (key, node) of `calls` without a converter."""
        return [(str(key), node) for key, node in calls if key not in self.converters]


@contextmanager
def _named(key: Any, node: Any) -> Iterator[None]:
    """Errors raised inside say which node it was."""
    place = f"PyTorch operator '{key}' (node '{node.name}')"
    try:
        yield
    except Error as error:
        if node.name not in str(error):
            error.message = f"{place}: {error.message}"
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        reason = f"{misfit(node.args, node.kwargs)} ({type(error).__name__}: {error})"
        raise TorchImportError(f"{place}: {reason}") from error


def refuse_missing(missing: Sequence[tuple[str, Any]]) -> None:
    """One error for every operator that cannot be imported: how often, and where first."""
    if not missing:
        return
    count = len({key for key, _ in missing})
    noun = "operator has" if count == 1 else "operators have"
    listed = listed_operators([(key, _place(node)) for key, node in missing])
    raise UnsupportedOperatorError(
        f"{count} PyTorch {noun} no converter:{listed}",
        hint="give converters in custom_convert_map={name: function(importer, *arguments)}, or "
        "decompose the program first (run_ep_decomposition=True)",
    )


def _place(node: Any) -> str:
    """The node's name, and the line of the user's program it comes from, as far as it is known."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    files = [line for line in lines if line.startswith("File ")]
    return f"at node '{node.name}'" + (f" ({files[-1]})" if files else "")


def _is_node(value: Any) -> bool:
    from torch import fx

    return isinstance(value, fx.Node)


def to_numpy(tensor: Any) -> np.ndarray:
    """A tensor's values; bfloat16 and float8, which numpy lacks, keep their bits."""
    if isinstance(tensor, np.ndarray):
        return tensor
    import ml_dtypes
    import torch

    data = tensor.detach().cpu().contiguous()
    name = str(data.dtype).removeprefix("torch.")
    if not hasattr(ml_dtypes, name):
        return data.numpy()
    bits = torch.int16 if data.element_size() == 2 else torch.uint8
    return data.view(bits).numpy().view(getattr(ml_dtypes, name))


def dtype_name(dtype: Any) -> str:
    """TVM's name of a torch dtype."""
    return str(dtype).removeprefix("torch.")


def dtype_of(expr: Any) -> str:
    """The name of an expression's dtype."""
    return expr.struct_info.dtype


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def promote(left: str, right: str, left_rank: int = 1, right_rank: int = 1) -> str:
    """The dtype PyTorch computes in when tensors of two dtypes meet: scalars give way to tensors
    of the same kind of number."""
    import torch

    lhs, rhs = (
        torch.empty([1] * min(rank, 1), dtype=getattr(torch, dtype))
        for dtype, rank in ((left, left_rank), (right, right_rank))
    )
    return dtype_name(torch.result_type(lhs, rhs))
