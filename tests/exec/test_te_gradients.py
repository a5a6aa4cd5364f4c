"""Gradients of calls that bring their own: `call_tir_with_grad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax, te
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.relax import op
from relax_mlir.relax.training.utils import register_te_gradient
from relax_mlir.script import from_source


def scaled_product(x: te.Tensor, y: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda *i: x(*i) * y(*i) * te.const(3, "float32"), name="scaled")


@register_te_gradient("test.scaled_product")
def _gradient(grad: te.Tensor, x: te.Tensor, y: te.Tensor, factor: float) -> list[te.Tensor]:
    def times(other: te.Tensor, name: str) -> te.Tensor:
        scale = te.const(factor, "float32")
        return te.compute(x.shape, lambda *i: grad(*i) * other(*i) * scale, name=name)

    return [times(y, "dx"), times(x, "dy")]


def module_of(name: str, factor: float = 3.0) -> IRModule:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(n, relax.TensorType((4, 3), "float32")) for n in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            call = builder.call_te_with_grad(
                scaled_product, x, y, te_grad_name=name, te_grad_kwargs={"factor": factor}
            )
            product = builder.emit(call)
            total = builder.emit_output(op.sum(op.square(product)))
        builder.emit_func_output(total)
    return builder.finalize()


def test_the_gradient_is_that_of_the_registered_function() -> None:
    module = module_of("test.scaled_product")
    assert from_source(module.script()) == module
    adjoint: Any = relax.transform.Gradient("main")(module).verify()
    vm = relax.VirtualMachine(relax.build(adjoint), rm.cpu())
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((4, 3)).astype("float32") for _ in range(2))
    total, (dx, dy) = vm["main_adjoint"](x, y)
    product = 3 * x * y
    np.testing.assert_allclose(total.numpy(), (product**2).sum(), rtol=1e-4)
    np.testing.assert_allclose(dx.numpy(), 2 * product * 3 * y, rtol=1e-4)
    np.testing.assert_allclose(dy.numpy(), 2 * product * 3 * x, rtol=1e-4)


def test_a_gradient_that_nobody_registered() -> None:
    with pytest.raises(PassError, match=r"no gradient is registered as 'test\.unknown'"):
        relax.transform.Gradient("main")(module_of("test.unknown"))
    register_te_gradient("test.short", lambda grad, x, y, factor: [x])
    with pytest.raises(PassError, match="gave 1 tensors for 2 arguments"):
        relax.transform.Gradient("main")(module_of("test.short"))
