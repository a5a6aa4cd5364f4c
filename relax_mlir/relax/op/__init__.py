"""`relax.op`: a function for every row of the operator table, and the calls.

The functions are made from the rows of `relax_mlir.dialects.relax` on import, `nn.relu` in
`relax.op.nn` and so on; `special.py` holds what is not a row, and other names for rows.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax.spec import SPECS
from relax_mlir.relax.op import distributed, index_maps, special
from relax_mlir.relax.op.generate import operator_function

mlir.context()  # declares the operators


def _namespace(name: str) -> ModuleType:
    """`relax.op.nn`, made on first use."""
    full = f"{__name__}.{name}"
    if full not in sys.modules:
        module = ModuleType(full, f"The operators `relax.{name}.*`.")
        sys.modules[full] = module
        parent, _, last = full.rpartition(".")
        setattr(
            _namespace(name.rpartition(".")[0]) if "." in name else sys.modules[parent],
            last,
            module,
        )
    return sys.modules[full]


def _place(name: str, function: Any) -> None:
    space, _, last = name.rpartition(".")
    setattr(_namespace(space) if space else sys.modules[__name__], last, function)


for _name, _spec in SPECS.items():
    _place(_name, operator_function(_spec))
for _table in (special.FUNCTIONS, distributed.FUNCTIONS, index_maps.FUNCTIONS):
    for _name, _function in _table.items():
        _place(_name, _function)
for _alias, _name in special.ALIASES.items():
    if _name in SPECS:
        _place(_alias, operator_function(SPECS[_name]))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"there is no operator 'relax.{name}'")
