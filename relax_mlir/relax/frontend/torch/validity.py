"""What PyTorch itself says of a graph's nodes, by computing their shapes and dtypes once more.

`torch.export` makes no graph that PyTorch refuses; passes over its graphs may.  Converters can
therefore take for granted that the arguments of a node fit its operator.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import fx

__all__ = ["misfit", "refused_by_torch"]


def refused_by_torch(graph: fx.Graph) -> tuple[Any, str] | None:
    """The first node that PyTorch refuses, and what it says; None where all are well.

    Shapes and dtypes are computed from those of the graph's inputs.  Those of nodes that PyTorch
    cannot compute without data, and of control flow, are as the graph says.
    """
    from torch._guards import detect_fake_mode
    from torch.utils._pytree import tree_leaves

    values = {node: node.meta.get("val") for node in graph.nodes}
    mode = detect_fake_mode([leaf for leaf in tree_leaves(list(values.values())) if _is_fake(leaf)])
    with mode or nullcontext(), _without_log():
        for node in graph.nodes:
            said = _computed(node, values) if _is_computable(node, values) else None
            if said is not None:
                return node, said
    return None


@contextmanager
def _without_log() -> Iterator[None]:
    """PyTorch logs what it refuses before it raises the error."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _computed(node: fx.Node, values: dict[Any, Any]) -> str | None:
    """Put a node's value among `values`; what PyTorch says when it refuses to compute it."""
    import torch
    from torch.fx.node import map_arg

    function: Any = node.target
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    try:
        with torch.no_grad():
            values[node] = function(*args, **kwargs)
    except Exception as error:
        return None if _is_undecided(error) else str(error).strip().split("\n\n")[0]
    return None


def _is_undecided(error: Exception) -> bool:
    """Whether PyTorch needs data, known sizes, or an implementation for tensors without data."""
    from torch._subclasses import fake_tensor
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    undecided = (
        NotImplementedError,
        GuardOnDataDependentSymNode,
        fake_tensor.UnsupportedFakeTensorException,
        fake_tensor.UnsupportedOperatorException,
        fake_tensor.DataDependentOutputException,
        fake_tensor.DynamicOutputShapeException,
    )
    # Some kernels of PyTorch, lstm's for one, ask for numbers where sizes have names.
    return isinstance(error, undecided) or "with symbolic sizes/strides" in str(error)


def _is_computable(node: fx.Node, values: Mapping[Any, Any]) -> bool:
    """Whether a node is a call of an operator, or of arithmetic on sizes, whose arguments are known
    and whose result's sizes do not depend on data."""
    from torch._ops import OpOverload
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
    from torch.utils._pytree import tree_leaves

    arithmetic = getattr(node.target, "__module__", "") == "_operator"
    if node.op != "call_function" or not (arithmetic or isinstance(node.target, OpOverload)):
        return False
    leaves = [leaf for given in node.all_input_nodes for leaf in tree_leaves(values[given])]
    if any(leaf is None or (_is_tensor(leaf) and not _is_fake(leaf)) for leaf in leaves):
        return False
    stated = [leaf for leaf in tree_leaves(node.meta.get("val")) if _is_sized(leaf)]
    return not any(free_unbacked_symbols(leaf) for leaf in stated)


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _is_fake(value: Any) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(value, FakeTensor)


def _is_sized(value: Any) -> bool:
    import torch

    return isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool))


def misfit(arguments: Iterable[Any], named: Mapping[str, Any]) -> str:
    """The arguments of a node that together make no sense to its converter."""
    shown = [*map(_shown, arguments), *(f"{name}={_shown(v)}" for name, v in named.items())]
    return f"cannot be computed of ({', '.join(shown)})"


def _shown(value: Any) -> str:
    from torch import fx

    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    known = value.meta.get("val", value) if isinstance(value, fx.Node) else value
    if not _is_tensor(known):
        return str(known)
    return f"{str(known.dtype).removeprefix('torch.')} {list(known.shape)}"
