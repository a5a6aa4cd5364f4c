"""`relax.frontend.nn`: models written in Python like PyTorch's, exported as Relax functions."""

from typing import Any

from relax_mlir.relax.frontend.nn import modules, op, spec
from relax_mlir.relax.frontend.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from relax_mlir.relax.frontend.nn.core import (
    Module,
    Object,
    Parameter,
    Tensor,
    get_default_dtype,
    set_default_dtype,
    wrap_nested,
)
from relax_mlir.relax.frontend.nn.effects import Effect, IOEffect, KVCache
from relax_mlir.relax.frontend.nn.extern import ExternModule, ObjectModule, SourceModule
from relax_mlir.relax.frontend.nn.modules import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from relax_mlir.relax.frontend.nn.subroutine import SubroutineMixin
from relax_mlir.relax.frontend.nn.visitor import Mutator

extern = op.extern  # in place of the module of that name

__all__ = [
    "GELU",
    "Attention",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "Effect",
    "Embedding",
    "ExternModule",
    "GroupNorm",
    "IOEffect",
    "Identity",
    "KVCache",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Mutator",
    "Object",
    "ObjectModule",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "SourceModule",
    "SubroutineMixin",
    "Tensor",
    "TimestepEmbedding",
    "Timesteps",
    "extern",
    "get_default_dtype",
    "modules",
    "op",
    "set_default_dtype",
    "spec",
    "wrap_nested",
]


def __getattr__(name: str) -> Any:
    """The operators are here too: `nn.relu` is `nn.op.relu`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(op, name)
