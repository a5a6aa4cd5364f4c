"""`torch.compile(..., backend="relax_mlir")`: graph breaks, dynamic batches, weights that change,
gradients."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import relax_mlir  # noqa: E402
from relax_mlir.relax.frontend.torch import (  # noqa: E402
    dynamo_capture_subgraphs,
    relax_dynamo,
    relax_mlir_backend,
)

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def close(got: Any, expected: Any) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def network() -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    )


def test_batches_of_all_sizes_share_a_compilation() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return relax_mlir_backend(graph, inputs)

    model = network().eval()
    compiled = torch.compile(model, backend=backend, dynamic=True)
    with torch.no_grad():
        for batch in (3, 5, 2, 40):
            x = torch.randn(batch, 6)
            close(compiled(x), model(x))
    assert len(graphs) <= 2  # PyTorch captures a second time for numbers that turned out fixed


def test_weights_that_change_are_noticed() -> None:
    model = network().eval()
    compiled = torch.compile(model, backend=relax_mlir_backend)
    x = torch.randn(4, 6)
    with torch.no_grad():
        close(compiled(x), model(x))
        model[0].weight.mul_(3)
        close(compiled(x), model(x))
        model[3].bias.copy_(torch.randn(2))
        close(compiled(x), model(x))


def test_graph_breaks() -> None:
    def program(x: Any, y: Any) -> Any:
        z = x * 2 + y
        z = z.sin() if z.sum() > 0 else z.cos()
        return z.exp(), z.shape[0], None

    compiled = torch.compile(program, backend=relax_mlir_backend)
    for sign in (1, -1):
        x, y = torch.full((3,), 2.0 * sign), torch.ones(3)
        got, expected = compiled(x, y), program(x, y)
        close(got[0], expected[0])
        assert got[1:] == expected[1:]


def test_gradients() -> None:
    model = network()
    compiled = torch.compile(model, backend=relax_mlir_backend)
    x, y = torch.randn(5, 6), torch.randint(0, 2, (5,))
    torch.nn.functional.cross_entropy(compiled(x), y).backward()
    got = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    for one, other in zip(got, model.parameters(), strict=True):
        close(one, other.grad)


def test_inputs_of_any_layout() -> None:
    compiled = torch.compile(lambda x: x @ x.T + 1, backend=relax_dynamo("zero"))
    x = torch.randn(4, 6)
    close(compiled(x.T), x.T @ x + 1)
    close(compiled(x[:, ::2]), x[:, ::2] @ x[:, ::2].T + 1)


def test_what_is_captured_can_be_read() -> None:
    def program(x: Any) -> Any:
        x = x + 1
        torch._dynamo.graph_break()
        return x.relu()

    module = dynamo_capture_subgraphs(program, torch.ones(3))
    names = sorted(var.name_hint for var in module.get_global_vars())
    assert names == ["subgraph_0", "subgraph_1"]
    assert "R.add" in module.script()
    assert "R.nn.relu" in module.script()


def test_an_unknown_operator_is_named() -> None:
    compiled = torch.compile(torch.special.airy_ai, backend=relax_mlir_backend)
    with pytest.raises(Exception, match=r"no converter:\n.*airy_ai.*1x"):
        compiled(torch.ones(3))


def test_the_backend_has_a_name() -> None:
    found = [e for e in entry_points(group="torch_dynamo_backends") if e.name == "relax_mlir"]
    if not found:
        pytest.skip("the package is not installed, only on the path")
    compiled = torch.compile(torch.exp, backend="relax_mlir")
    close(compiled(torch.ones(3)), torch.exp(torch.ones(3)))
    assert relax_mlir.__name__ in found[0].value
