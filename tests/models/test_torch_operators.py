"""Every imported operator against PyTorch: one exported program a family, an output a case."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch import from_exported_program

torch = pytest.importorskip("torch")

from tests.models import torch_cases, torch_gradient_cases  # noqa: E402
from tests.models.torch_harness import (  # noqa: E402
    Together,
    called,
    check_model,
    compare,
    compiled,
    flattened,
)

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


def test_complex_inputs_and_results_are_their_parts() -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(3, 4, dtype=torch.complex64, generator=generator)
    y = torch.randn(4, generator=generator)

    class Filter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(x[0].clone())

        def forward(self, x: Any, y: Any) -> Any:
            return torch.fft.ifft(torch.fft.fft(x) * self.weight), x.abs(), x + y, x.conj()

    check_model(Filter(), (x, y))
    program = torch.export.export(Filter(), (x, y))
    kept = from_exported_program(program, keep_params_as_input=True)
    declared = "x: R.Tensor((3, 4, 2), dtype=\"float32\"), y: R.Tensor((4,), dtype=\"float32\"), "
    assert declared + "weight: R.Tensor((4, 2)," in kept.script().replace("p_weight", "weight")


def _named_add(program: Any) -> Any:
    return next(node for node in program.graph.nodes if "add" in str(node.target))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: _named_add(p).update_arg(1, None), "PyTorch refuses the operator 'aten.add"),
        (lambda p: setattr(_named_add(p), "args", ()), "missing value for argument 'self'"),
        (lambda p: _named_add(p).update_kwarg("bogus", 1), "bogus"),
        (lambda p: next(iter(p.graph.nodes)).meta.clear(), "does not say what its input 'x' is"),
    ],
)
def test_changed_graphs_are_refused(change: Any, message: str) -> None:
    class Sum(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    program = torch.export.export(Sum(), (torch.ones(2, 3), torch.ones(3)))
    change(program)
    with pytest.raises(Error, match=message):
        from_exported_program(program)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_kernels_that_need_known_sizes_are_not_asked(kind: str) -> None:
    """PyTorch exports them for any size, and fails to compute them without data."""
    module = getattr(torch.nn, kind)(3, 4, batch_first=True)
    sizes = {0: torch.export.Dim("batch", min=2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of flattened weights
        program = torch.export.export(module, (torch.ones(5, 6, 3),), dynamic_shapes=(sizes,))
    results = from_exported_program(program).script().split(" -> ")[1]
    assert re.match(r'R.Tuple\(R.Tensor\(\("\w+", 6, 4\), dtype="float32"\)', results)


def test_results_that_nothing_reads_are_not_computed() -> None:
    """Decomposed programs ask for the places of maxima and use the values alone."""

    class Pool(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.max_pool2d(x, 2)

    program = torch.export.export(Pool(), (torch.ones(1, 2, 4, 4),)).run_decompositions()
    assert any("with_indices" in str(node.target) for node in program.graph.nodes)
    script = from_exported_program(program).script()
    assert "R.nn.max_pool2d" in script and "prim_func" not in script
