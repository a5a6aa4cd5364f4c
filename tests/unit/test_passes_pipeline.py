"""Pipelines: their text, how they run, and what a failure says."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir.errors import CompileError, Error, PassError
from relax_mlir.ir import IRModule
from relax_mlir.lowering import pipelines
from relax_mlir.lowering.passes import ModuleState, Pass, all_passes, find_pass, pass_names
from relax_mlir.lowering.pipeline import Pipeline, PipelineOptions, run, split_top_level
from relax_mlir.lowering.relax.dead_code_elimination import DeadCodeElimination
from relax_mlir.lowering.relax.fuse_ops import FuseOps
from relax_mlir.mlir import ir

MODULE = """
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32>
    attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %d = "relax.bind"(%c) : (tensor<2xf32>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}
"""


@dataclass(frozen=True)
class Breaks(Pass):
    """Leaves a module that does not verify."""

    name = "test-breaks"

    def run(self, state: ModuleState) -> None:
        op = state.functions()[0].regions[0].blocks[0].operations[0].operation
        op.results[0].set_type(ir.Type.parse("tensor<3xf32>"))


@dataclass(frozen=True)
class Raises(Pass):
    """Raises what it is given."""

    error: Exception
    name = "test-raises"

    def run(self, state: ModuleState) -> None:
        raise self.error


def module() -> IRModule:
    return IRModule.parse(MODULE)


# -- text -------------------------------------------------------------------------------------


def test_parse_splits_ours_from_upstreams():
    pipeline = Pipeline.parse(
        "builtin.module(relax-fuse-ops{max-fuse-depth=3 fuse-opt-level=1},"
        "func.func(canonicalize{max-iterations=2},cse),"
        "relax-dead-code-elimination{entry-functions=f,g})"
    )
    assert pipeline.elements == (
        FuseOps(fuse_opt_level=1, max_fuse_depth=3),
        "func.func(canonicalize{max-iterations=2},cse)",
        DeadCodeElimination(entry_functions=("f", "g")),
    )
    assert Pipeline.parse(str(pipeline)) == pipeline


def test_outer_anchor_is_optional_and_empty_is_empty():
    assert Pipeline.parse("cse,relax-fuse-ops") == Pipeline.parse(
        "builtin.module( cse , relax-fuse-ops )"
    )
    assert Pipeline.parse("").elements == () == Pipeline.parse("builtin.module()").elements
    assert str(Pipeline()) == "builtin.module()"


def test_of_joins_passes_texts_and_pipelines():
    joined = Pipeline.of("cse", [FuseOps(), Pipeline.parse("canonicalize")], ())
    assert joined.elements == ("cse", FuseOps(), "canonicalize")


OURS = st.builds(
    FuseOps, fuse_opt_level=st.integers(-1, 4), max_fuse_depth=st.integers(1, 300)
) | st.builds(
    DeadCodeElimination,
    entry_functions=st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), max_size=3).map(tuple),
)
UPSTREAM = st.sampled_from(["cse", "canonicalize{max-iterations=3}", "func.func(cse,cse)"])


@settings(deadline=None, max_examples=50)
@given(st.lists(OURS | UPSTREAM, max_size=5))
def test_text_round_trips(elements: list[Pass | str]):
    pipeline = Pipeline(tuple(elements))
    assert Pipeline.parse(str(pipeline)) == pipeline


def test_split_respects_brackets_and_quotes():
    assert split_top_level("a{b=1,2 c='x,y'},d(e,f(g,h)),i") == [
        "a{b=1,2 c='x,y'}",
        "d(e,f(g,h))",
        "i",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cse,,cse", "an element is missing between commas"),
        ("cse)", r"unexpected '\)' at column 4"),
        ("cse{a", "a bracket or quote is not closed"),
        ("a b", "expected a pass name"),
        ("cse{}x", "unexpected text after 'cse'"),
        ("func.func(relax-fuse-ops)", "runs on the module, it cannot be nested"),
        ("any(func.func(relax-fuse-ops))", r"cannot be nested in 'func.func\(...\)'"),
        ("relax-fuse-ops{nope=1}", "has no option 'nope'"),
        ("relax-fuse-ops{max-fuse-depth=many}", "'many' is no int"),
        ("relax-eliminate-common-subexpr{call-only=maybe}", "'maybe' is no bool"),
    ],
)
def test_bad_text_is_refused(text: str, message: str):
    with pytest.raises(PassError, match=message):
        Pipeline.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no-such-pass", "there is no pass 'no-such-pass'"),
        ("func.func(cse,no-such-pass)", "there is no pass 'no-such-pass'"),
        ("canonicalize{no-such-option=1}", "no such option no-such-option"),
    ],
)
def test_what_upstream_refuses_is_found_by_check(text: str, message: str):
    with pytest.raises(PassError, match=message):
        Pipeline.parse(text).check()


def test_upstream_pass_is_nested_where_it_belongs():
    state = module().state
    run(state, "affine-scalrep")  # a pass on func.func


# -- passes -----------------------------------------------------------------------------------


def test_every_pass_is_declared_as_the_project_wants():
    passes = all_passes()
    assert set(pass_names()) == set(passes)
    for name, cls in passes.items():
        assert find_pass(name) is cls
        assert cls.name == name
        assert cls.summary, f"{name} has no docstring"
        assert cls.__dataclass_params__.frozen, f"{name} is not frozen"
        stem = cls.__module__.rsplit(".", 1)[-1].replace("_", "-")
        assert name.endswith(stem), f"{name} is in the file of {stem}"


def test_default_options_are_not_spelled():
    assert str(FuseOps()) == "relax-fuse-ops"
    assert str(FuseOps(max_fuse_depth=3)) == "relax-fuse-ops{max-fuse-depth=3}"


# -- running ----------------------------------------------------------------------------------


def test_ours_and_upstreams_run_in_order():
    state = module().state
    run(state, "cse,relax-canonicalize-bindings")
    text = IRModule.from_state(state).mlir()
    assert text.count("relax.exp") == 1
    assert "relax.bind" not in text


def test_named_pipeline_stands_for_its_passes():
    names = [str(e) for e in Pipeline.parse("relax-zero").elements]
    assert names == [
        "relax-remove-vdevice",
        "relax-legalize-ops",
        "relax-annotate-tir-op-pattern",
        "relax-fold-constant",
        "relax-fuse-ops",
        "relax-fuse-tir",
    ]
    with pytest.raises(PassError, match="registered already"):
        pipelines.register_pipeline("relax-zero", "cse")


def test_printing_before_and_after_named_passes(capfd: pytest.CaptureFixture[str]):
    options = PipelineOptions(print_before=("cse",), print_after=("relax-canonicalize-bindings",))
    run(module().state, "func.func(canonicalize,cse),relax-canonicalize-bindings", options)
    printed = capfd.readouterr().err
    assert printed.count("IR Dump") == 2
    assert printed.index("IR Dump Before cse") < printed.index(
        "IR Dump After relax-canonicalize-bindings"
    )
    assert printed.count("relax.bind") == 1  # before, not after


# -- failures ---------------------------------------------------------------------------------


def test_broken_ir_names_the_pass_and_repeats():
    state = module().state
    with pytest.raises(PassError, match=r"pass 'test-breaks' failed") as caught:
        run(state, ["cse", Breaks(), "canonicalize"])
    error = caught.value
    assert error.pass_name == "test-breaks"
    assert error.reproducer.startswith("// configuration: --pass-pipeline='builtin.module(test-br")
    # The reproducer holds the module as it was in front of the failing pass.
    text = error.reproducer.split("\n", 1)[1]
    assert IRModule.parse(text).mlir().count("relax.exp") == 1


def test_upstream_failure_names_the_pass():
    with pytest.raises(PassError, match="pass 'one-shot-bufferize' failed") as caught:
        run(module().state, "canonicalize,one-shot-bufferize,cse")
    assert caught.value.pass_name == "one-shot-bufferize"
    assert "builtin.module(one-shot-bufferize)" in caught.value.reproducer


def test_error_of_ours_comes_through_unchanged():
    with pytest.raises(CompileError, match=r"^not for this target") as caught:
        run(module().state, [Raises(CompileError("not for this target", hint="try llvm"))])
    assert caught.value.hint == "try llvm"
    assert caught.value.pass_name == "test-raises"
    assert "relax.exp" in caught.value.reproducer


def test_python_exception_becomes_a_pass_error_with_its_cause():
    with pytest.raises(PassError, match="pass 'test-raises' failed: KeyError: 'k'") as caught:
        run(module().state, [Raises(KeyError("k"))])
    assert isinstance(caught.value.__cause__, KeyError)


def test_failure_leaves_the_process_usable():
    for _ in range(3):
        with pytest.raises(Error):
            run(module().state, [Raises(ValueError("boom"))])
    state = module().state
    run(state, "cse")
    assert IRModule.from_state(state).mlir().count("relax.exp") == 1
