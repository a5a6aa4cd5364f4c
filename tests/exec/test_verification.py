"""When compiling verifies the module: after each pass or each stage, with the same errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import relax_mlir
from relax_mlir import mlir
from relax_mlir.errors import PassError
from relax_mlir.lowering import pipeline
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import Element, PipelineOptions, verified_by_stage, verify_stage
from relax_mlir.lowering.relax.fuse_ops import FuseOps
from relax_mlir.lowering.tir_to_linalg.tir_to_linalg import TirToLinalg
from relax_mlir.mlir import ir
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.transform import PassContext


@I.ir_module
class Relu:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


@pytest.fixture
def each_run(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether passes are verified one by one, of each pipeline that runs; not asked for."""
    monkeypatch.setenv("RELAX_MLIR_VERIFY_EACH", "0")
    seen: list[bool] = []
    run = pipeline._run

    def noted(elements: Sequence[Element], state: ModuleState, options: PipelineOptions) -> None:
        seen.append(options.verify_each)
        run(elements, state, options)

    monkeypatch.setattr(pipeline, "_run", noted)
    return seen


def test_stages_are_verified_by_default(each_run: list[bool]) -> None:
    compiled = relax_mlir.compile(Relu, "llvm")
    assert each_run
    assert not any(each_run)
    x = np.array([-1, 2, -3, 4], "float32")
    np.testing.assert_array_equal(compiled["main"](x).numpy(), np.maximum(x, 0))


def test_each_pass_is_verified_when_asked_for(
    each_run: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    with PassContext(config={"verify-each": True}):
        relax_mlir.compile(Relu, "llvm")
    monkeypatch.setenv("RELAX_MLIR_VERIFY_EACH", "1")
    relax_mlir.compile(Relu, "llvm")
    assert each_run
    assert all(each_run)


def test_each_pass_is_verified_when_passes_are_the_users(each_run: list[bool]) -> None:
    relax_mlir.compile(Relu, "llvm", relax_pipeline=relax_mlir.relax.get_pipeline("zero"))
    assert all(each_run)


def _break(state: ModuleState) -> None:
    """Give every function a type that is not that of its block."""
    with mlir.scope():
        for function in state.functions():
            function.attributes["function_type"] = ir.Attribute.parse("() -> ()")


@pytest.mark.parametrize("kind", [FuseOps, TirToLinalg])
def test_the_pass_at_fault_is_named(
    kind: type, each_run: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "run", lambda _, state: _break(state))
    with pytest.raises(PassError) as caught:
        relax_mlir.compile(Relu, "llvm")
    assert caught.value.pass_name == kind().name
    assert each_run[0] is False  # found at the end of the stage
    assert each_run[-1] is True  # and looked for


def test_a_stage_is_verified_in_the_scope_only() -> None:
    state = Relu.clone().state
    _break(state)
    verify_stage(state)
    with verified_by_stage(), pytest.raises(PassError, match="not valid"):
        verify_stage(state)
