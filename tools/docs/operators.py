"""`python -m tools.docs.operators`: writes docs/operators.md, what is done for each operator.

The columns are read off the tables: the operators' rows, legalisation, host code, gradients, the
cases that the tests run, and what the importers' sources mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects.relax.spec import SPECS, OpSpec
from relax_mlir.lowering.relax import gradient as gradient_pass  # noqa: F401 (files the rules)
from relax_mlir.lowering.relax.gradients.rules import RULES
from relax_mlir.lowering.relax_to_host import relax_to_host as host  # noqa: F401 (files handlers)
from relax_mlir.lowering.relax_to_host.host_function import OPERATIONS
from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS
from relax_mlir.lowering.relax_to_tir.legalize_ops import rows
from relax_mlir.relax.call_forms import FORMS
from relax_mlir.relax.call_types import CALLS
from tests.exec.operator_programs import CASES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operators.md"
IMPORTERS = ROOT / "relax_mlir" / "relax" / "frontend"
ABBREVIATED = {"float": "f", "bfloat": "bf", "uint": "u", "int": "i", "bool": "b"}

HEAD = """# Operators

<!-- Written by `python -m tools.docs.operators`; do not edit. -->

Every operator of Relax, and what there is for it. All have inference over symbolic shapes, a
verifier, a builder `relax.op.*` and both texts.

- *runs*: "TensorIR" is legalised to one function, "calls" to several (sizes that depend on values),
  "host" is written by host code, "given" leaves its operand as it is; "-" does not run on one CPU.
- *gradient*: whether `relax.transform.Gradient` goes through it.
- *dtypes*: those the tests run it with, against numpy or torch.
- *torch*, *ONNX*: whether the importers make it.
"""


def run_dtypes() -> dict[str, list[str]]:
    """The dtypes of the tensors that the tests run each operator on."""
    found: dict[str, set[str]] = {}
    for case in CASES:
        names = found.setdefault(case.name, set())
        names.update(array.dtype.name for array in _arrays(case.operands))
    return {name: sorted(dtypes) for name, dtypes in found.items()}


def _arrays(operands: Iterable[object]) -> Iterable[np.ndarray]:
    for operand in operands:
        if isinstance(operand, np.ndarray):
            yield operand
        elif isinstance(operand, list):
            yield from _arrays(operand)


def _short(dtype: str) -> str:
    stem = dtype.rstrip("0123456789")
    return ABBREVIATED.get(stem, stem) + dtype[len(stem) :]


def _runs(spec: OpSpec) -> str:
    if spec.name in rows():
        return "TensorIR"
    if spec.name in EXPANSIONS:
        return "calls" if not spec.name.startswith(("grad.", "builtin.")) else "given"
    return "host" if spec.mlir_name in OPERATIONS else "-"


def _mentioned(folder: str) -> str:
    return "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((IMPORTERS / folder).rglob("*.py"))
    )


def _is_mentioned(name: str, text: str) -> bool:
    return re.search(rf"(?:\bop\.|[\"']){re.escape(name)}\b", text) is not None


def page() -> str:
    """The text of docs/operators.md."""
    mlir.context()
    dtypes, torch, onnx = run_dtypes(), _mentioned("torch"), _mentioned("onnx")
    lines = [
        HEAD,
        "| operator | runs | gradient | dtypes | torch | ONNX |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(SPECS):
        spec = SPECS[name]
        cells = (
            f"`{name}`",
            _runs(spec),
            "yes" if name in RULES else "",
            " ".join(sorted(map(_short, dtypes.get(name, [])))),
            "yes" if _is_mentioned(name, torch) else "",
            "yes" if _is_mentioned(name, onnx) else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Calls", "", "| call | runs |", "|---|---|"]
    for name in sorted({*CALLS, *FORMS, "relax.call_packed"}):
        runs = "host" if "relax." + name[6:].replace(".", "_") in OPERATIONS else "-"
        lines.append(f"| `{name.removeprefix('relax.')}` | {runs} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
