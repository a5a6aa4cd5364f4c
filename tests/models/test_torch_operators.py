"""Every imported operator against PyTorch: one exported program a family, an output a case."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.models import torch_cases, torch_gradient_cases  # noqa: E402
from tests.models.torch_harness import Together, called, compare, compiled, flattened  # noqa: E402

CASES = torch_cases.CASES | torch_gradient_cases.CASES
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("family", list(CASES))
def test_operators(family: str) -> None:
    cases = CASES[family]
    functions = [function for function, _ in cases.values()]
    arguments = [tensors for _, tensors in cases.values()]
    inputs = [tensor.clone() for tensors in arguments for tensor in tensors]
    model = Together(functions, [len(tensors) for tensors in arguments]).eval()
    program = torch.export.export(model, tuple(inputs))
    got = called(compiled(program), inputs)
    names, expected = [], []
    with torch.no_grad():
        for name, (function, tensors) in cases.items():
            results = flattened(function(*tensors))
            names += [f"{name}[{i}]" for i in range(len(results))]
            expected += results
    assert len(got) == len(expected)
    wrong = [compare(n, g, e) for n, g, e in zip(names, got, expected, strict=True)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_results_that_nothing_reads_are_not_computed() -> None:
    """Decomposed programs ask for the places of maxima and use the values alone."""
    from relax_mlir.relax.frontend.torch import from_exported_program

    class Pool(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.max_pool2d(x, 2)

    program = torch.export.export(Pool(), (torch.ones(1, 2, 4, 4),)).run_decompositions()
    assert any("with_indices" in str(node.target) for node in program.graph.nodes)
    script = from_exported_program(program).script()
    assert "R.nn.max_pool2d" in script and "prim_func" not in script
