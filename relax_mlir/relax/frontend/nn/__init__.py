"""`relax.frontend.nn`: models written in Python like PyTorch's, exported as Relax functions."""

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
from relax_mlir.relax.frontend.nn.modules import (
    GELU,
    Conv1D,
    Conv2D,
    Conv3D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
)

__all__ = [
    "GELU",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "Embedding",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "Tensor",
    "get_default_dtype",
    "modules",
    "op",
    "set_default_dtype",
    "spec",
    "wrap_nested",
]
