"""torch.cond, while_loop and scan through the importer, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402
from relax_mlir.relax.frontend.torch import from_exported_program  # noqa: E402

pytestmark = pytest.mark.torch


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.cond(
            x.sum() > 0,
            lambda x: (self.linear(x), x + 1),
            lambda x: (x.sin(), x - 1),
            (x,),
        )


class Nested(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        def inner(x: Any) -> Any:
            return torch.cond(x.max() > 2, lambda x: x * 3, lambda x: x * 5, (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: x.sin(), (x,)).exp()


class Loop(torch.nn.Module):
    def forward(self, i: Any, x: Any) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 0.5 + x.sum()), (i, x))


class Scan(torch.nn.Module):
    def forward(self, init: Any, xs: Any) -> Any:
        return scan(lambda carry, x: (carry + x, carry * x), init, xs)


def check(module: Any, *calls: tuple[Any, ...], **options: Any) -> None:
    program = torch.export.export(module, calls[0])
    imported = from_exported_program(program, **options)
    vm = relax.VirtualMachine(relax_mlir.compile(imported), relax_mlir.cpu())
    for inputs in calls:
        expected = module(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else expected
        got = vm["main"](*[x.numpy() for x in inputs])
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_cond_takes_the_branch_of_the_data() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).abs()
    check(Branches(), (x,), (-x,))


def test_cond_within_cond() -> None:
    check(Nested(), (torch.ones(3),), (torch.full((3,), 4.0),), (-torch.ones(3),))


def test_while_loop_runs_as_often_as_the_data_says() -> None:
    x = torch.randn(3, generator=torch.Generator().manual_seed(1)) * 1e-3
    check(Loop(), *((torch.tensor(start), x) for start in (0, 5, 9, -3)))


def test_long_loops_take_no_stack() -> None:
    check(Loop(), (torch.tensor(0), torch.zeros(3)), (torch.tensor(-200_000), torch.zeros(3)))


def test_scan() -> None:
    generator = torch.Generator().manual_seed(2)
    check(Scan(), (torch.randn(3, generator=generator), torch.randn(5, 3, generator=generator)))


def test_operators_of_branches_are_named_when_they_are_unknown() -> None:
    class Unknown(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, torch.special.airy_ai, lambda x: x.clone(), (x,))

    program = torch.export.export(Unknown(), (torch.ones(3),))
    with pytest.raises(relax_mlir.errors.Error, match="airy_ai"):
        from_exported_program(program)
