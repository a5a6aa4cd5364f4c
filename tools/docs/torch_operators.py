"""`python -m tools.docs.torch_operators`: writes docs/torch_operators.md, the core ATen operators
that the PyTorch importer converts.

PyTorch's tag `core` says which operators are of the set; the importer's tables say which of them
it converts.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import torch

from relax_mlir.relax.frontend.torch import tables
from relax_mlir.relax.frontend.torch.control_flow import CONTROL_FLOW

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch_operators.md"
RELEASE = ".".join(torch.__version__.split(".")[:2])

HEAD = f"""# PyTorch operators

<!-- Written by `python -m tools.docs.torch_operators`; do not edit. -->

What `from_exported_program` converts of core ATen, the set of operators that PyTorch {RELEASE} says
programs decompose to. An operator that is not converted is an error that names it, how often and
where it is used; `custom_convert_map` supplies a converter. The importer also converts operators
outside the set, which `torch.export` keeps unless it is told to decompose: {{others}} names in all.

Random numbers are of the distribution that the operator says, and repeat after the same
`relax_mlir.runtime.seed(n)`; they are not PyTorch's. Dropout drops in programs that were exported
in training. Strides are those that PyTorch states in the program.
"""

def core_operators() -> list[str]:
    """The overloads of the core set: `aten.add.Tensor`."""
    found: list[str] = []
    registered = import_module("torch._C")._dispatch_get_all_op_names
    for full in registered():
        namespace, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        if namespace != "aten":
            continue
        operator = getattr(getattr(torch.ops.aten, packet), overload or "default", None)
        if operator is not None and torch.Tag.core in operator.tags:
            found.append(str(operator))
    return sorted(found)


def converter_of(operator: str) -> str:
    """The key of the importer's table that converts an operator, or nothing."""
    short = operator.removeprefix("aten.")
    name = short.split(".")[0]
    plain = name if name.endswith("__") else name.rstrip("_")
    return next((k for k in (operator, short, name, plain) if k in tables.CONVERTERS), "")


def _family(key: str) -> str:
    """The file of the converter."""
    found = [f for f in tables.FAMILIES if key in f.CONVERTERS]
    return found[-1].__name__.rsplit(".", 1)[1] if found else ""


def page() -> str:
    """The text of docs/torch_operators.md."""
    operators = core_operators()
    keys = {operator: converter_of(operator) for operator in operators}
    done = [operator for operator in operators if keys[operator]]
    names = {key for key in (*tables.CONVERTERS, *CONTROL_FLOW) if isinstance(key, str)}
    lines = [
        HEAD.format(others=sum(not name.startswith("complex ") for name in names)),
        f"Converted: {len(done)} of {len(operators)}.",
    ]
    missing = [operator for operator in operators if not keys[operator]]
    if missing:
        lines += ["", "Not converted: " + ", ".join(f"`{operator}`" for operator in missing)]
    families = Counter(_family(keys[operator]) for operator in done)
    for family in sorted(families):
        lines += ["", f"## {family}.py ({families[family]})", ""]
        own = [o.removeprefix("aten.") for o in done if _family(keys[o]) == family]
        lines.append(", ".join(f"`{name}`" for name in own))
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
