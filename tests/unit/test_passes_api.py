"""Passes as Python objects: contexts, sequences, instruments, passes written in Python."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import relax_mlir
from relax_mlir import instrument, relax, transform
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.lowering.pipeline import Pipeline
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


def program() -> IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                b = R.nn.relu(a)
                dead = R.exp(b)
                gv = b
                R.output(gv)
            return gv

        @R.function(private=True)
        def helper(x: R.Tensor((2,), "float32")):
            return x

    return Module


def named(name: str, log: list[str], opt_level: int = 0, required: list[str] | None = None):
    @transform.module_pass(opt_level=opt_level, name=name, required=required)
    def record(mod, ctx):
        log.append(name)
        return mod

    return record


# -- calling ----------------------------------------------------------------------------------


def test_a_pass_returns_a_new_module():
    mod = program()
    before = mod.script()
    result = relax.transform.CanonicalizeBindings()(mod)
    assert mod.script() == before
    assert result.script() != before


def test_a_pass_is_called_on_modules_only():
    with pytest.raises(TypeError, match="FuseOps is applied to an IRModule, not str"):
        relax.transform.FuseOps()("x")


def test_module_pass_gets_a_copy():
    @transform.module_pass(opt_level=0)
    def drop(mod, ctx):
        mod.remove("helper")
        return mod

    mod = program()
    assert "helper" not in drop(mod)
    assert "helper" in mod
    assert drop.info.name == "drop"


def test_module_pass_class_keeps_its_arguments():
    @transform.module_pass(opt_level=1, name="Rename")
    class Rename:
        """Adds a function under another name."""

        def __init__(self, name):
            self.name = name

        def transform_module(self, mod, ctx):
            mod[self.name] = mod["helper"]
            return mod

    rename = Rename("other")
    assert isinstance(rename, transform.Pass)
    assert rename.name == "other"
    assert rename.info == transform.PassInfo(1, "Rename")
    assert "other" in rename(program())


def test_bad_results_are_refused():
    @transform.module_pass(opt_level=0)
    def nothing(mod, ctx):
        return None

    with pytest.raises(PassError, match="pass 'nothing' returned a NoneType"):
        nothing(program())
    with pytest.raises(ValueError, match="opt_level"):
        transform.module_pass(lambda mod, ctx: mod)
    with pytest.raises(TypeError, match="no method 'transform_module'"):
        transform.module_pass(type("C", (), {}), opt_level=0)


def test_function_pass_runs_on_relax_functions():
    seen = []

    @relax.transform.function_pass(opt_level=0)
    class Mark:
        def transform_function(self, func, mod, ctx):
            seen.append(func.name)
            return func.with_attr("marked", True)

    result = Mark()(relax.transform.LegalizeOps()(program()))
    assert sorted(seen) == ["helper", "main"]
    assert result["main"].attrs["marked"] is True
    assert "marked" not in result["add"].attrs


def test_dataflowblock_pass_rewrites_blocks():
    @relax.transform.dataflowblock_pass(opt_level=0)
    def drop_dead(block, mod, ctx):
        kept = [b for b in block.bindings if b.var.name_hint != "dead"]
        return relax.DataflowBlock(kept)

    result = drop_dead(program())
    assert "dead" not in result.script()
    assert "R.nn.relu" in result.script()
    with pytest.raises(PassError, match="not a DataflowBlock"):
        relax.transform.dataflowblock_pass(lambda b, m, c: None, opt_level=0)(program())


def test_pass_pipeline_takes_upstreams_text():
    result = transform.PassPipeline("func.func(canonicalize)")(program())
    assert "R.exp" not in result.script()
    with pytest.raises(PassError, match="there is no pass 'nope'"):
        transform.PassPipeline("nope")


def test_apply_pass_to_function():
    dead_code = relax.transform.CanonicalizeBindings()
    result = transform.ApplyPassToFunction(dead_code, "main")(program())
    assert "gv = b" not in result.script()
    untouched = transform.ApplyPassToFunction(dead_code, "mai")(program())
    assert untouched == program()
    with pytest.raises(PassError, match="no function matches 'nothing'"):
        transform.ApplyPassToFunction(dead_code, "nothing", True)(program())


def test_print_ir(capsys: pytest.CaptureFixture[str]):
    transform.PrintIR("here")(program())
    assert capsys.readouterr().out.startswith("PrintIR(here):\n# from tvm.script")


# -- sequences and contexts -------------------------------------------------------------------


def test_sequential_runs_what_the_context_allows():
    log: list[str] = []
    passes = [named("a", log), named("b", log, opt_level=3), named("c", log)]
    sequence = transform.Sequential(passes)
    sequence(program())
    assert log == ["a", "c"]
    log.clear()
    with transform.PassContext(opt_level=3, disabled_pass=["a"]):
        sequence(program())
    assert log == ["b", "c"]
    log.clear()
    with transform.PassContext(opt_level=0, required_pass=["b"]):
        sequence(program())
    assert log == ["a", "b", "c"]
    with pytest.raises(TypeError, match="holds passes, not int"):
        transform.Sequential([1])


def test_contexts_nest_and_end_with_errors():
    assert transform.PassContext.current().opt_level == 2
    with transform.PassContext(opt_level=1, config={"k": 2}) as outer:
        with pytest.raises(KeyError), transform.PassContext(opt_level=0):
            raise KeyError
        assert transform.PassContext.current() is outer
        assert outer.config == {"k": 2}
    assert transform.PassContext.current().opt_level == 2


def test_context_reaches_the_pass():
    @transform.module_pass(opt_level=0)
    def read(mod, ctx):
        return mod.with_attr("limit", ctx.config["limit"])

    with transform.PassContext(config={"limit": 7}):
        assert read(program()).attrs == {"limit": 7}


# -- instruments ------------------------------------------------------------------------------


def test_instruments_see_every_pass_and_may_skip_it():
    events: list[str] = []

    @instrument.pass_instrument
    class Watch:
        def enter_pass_ctx(self):
            events.append("enter")

        def exit_pass_ctx(self):
            events.append("exit")

        def should_run(self, mod, info):
            return info.name != "CanonicalizeBindings"

        def run_before_pass(self, mod, info):
            events.append(f"before {info.name}")

        def run_after_pass(self, mod, info):
            events.append(f"after {info.name}")

    mod = program()
    with transform.PassContext(instruments=[Watch()]):
        skipped = relax.transform.CanonicalizeBindings()(mod)
        transform.Sequential([relax.transform.ToNonDataflow()], name="seq")(mod)
    assert skipped is mod
    assert events == [
        "enter",
        "before seq",
        "before ToNonDataflow",
        "after ToNonDataflow",
        "after seq",
        "exit",
    ]


def test_timing_instrument_counts_nested_passes_once():
    timing = instrument.PassTimingInstrument()
    with transform.PassContext(instruments=[timing]):
        transform.Sequential(
            [relax.transform.ToNonDataflow(), relax.transform.CanonicalizeBindings()], name="seq"
        )(program())
        report = timing.render().splitlines()
    assert report[0].startswith("seq: ")
    assert report[1].startswith("    ToNonDataflow: ")
    assert report[2].startswith("    CanonicalizeBindings: ")
    assert report[3].startswith("Total time: ")


def test_printing_instruments(capsys: pytest.CaptureFixture[str]):
    with transform.PassContext(
        instruments=[
            instrument.PrintBeforeAll(),
            instrument.PrintAfterAll(),
            instrument.PassPrintingInstrument(["Other"], ["ToNonDataflow"]),
        ]
    ):
        relax.transform.ToNonDataflow()(program())
    printed = capsys.readouterr().out
    before, rest = printed.removeprefix("Before Running Pass: ").split("After Running Pass: ")
    after, named_after = rest.split("Print IR after: ")
    assert before.startswith("ToNonDataflow\n")
    assert "R.dataflow" in before
    assert "R.dataflow" not in after
    assert "def main" in named_after


def test_dump_ir_writes_a_file_a_pass(tmp_path: Path):
    (tmp_path / "000_Old.py").write_text("")
    (tmp_path / "keep.py").write_text("")
    with transform.PassContext(instruments=[instrument.DumpIR(tmp_path, refresh=True)]):
        relax.transform.ToNonDataflow()(program())
        relax.transform.CanonicalizeBindings()(program())
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["000_ToNonDataflow.py", "001_CanonicalizeBindings.py", "keep.py"]
    assert "def main" in (tmp_path / names[0]).read_text()


def test_override_instruments_leaves_the_old_ones():
    events: list[str] = []

    class Watch(instrument.PassInstrument):
        def __init__(self, name):
            self.name = name

        def enter_pass_ctx(self):
            events.append(f"enter {self.name}")

        def exit_pass_ctx(self):
            events.append(f"exit {self.name}")

    with transform.PassContext(instruments=[Watch("a")]) as context:
        context.override_instruments([Watch("b")])
    assert events == ["enter a", "exit a", "enter b", "exit b"]


# -- named pipelines --------------------------------------------------------------------------


def test_pipelines_by_name():
    with pytest.raises(PassError, match="there is no pipeline 'nope'; there are default"):
        relax.get_pipeline("nope")

    @relax.register_pipeline("test_passes_api")
    def mine():
        return relax.transform.ToNonDataflow()

    assert "R.dataflow" not in relax.get_pipeline("test_passes_api")(program()).script()
    with pytest.raises(PassError, match="registered already"):
        relax.register_pipeline("zero")


@pytest.mark.parametrize(("name", "text"), [("zero", "relax-zero"), ("default", "relax-default")])
def test_python_and_text_name_the_same_passes(name: str, text: str):
    def flat(passes):
        for pass_ in passes:
            if isinstance(pass_, transform.Sequential):
                yield from flat(pass_.passes)
            else:
                yield str(pass_)

    # The database of tuned schedules is one of the process, which text does not name.
    mine = [p for p in flat([relax.get_pipeline(name)]) if "ApplyCurrentDatabase" not in p]
    assert mine == [str(element) for element in Pipeline.parse(text).elements]


def test_tvms_module_names():
    assert importlib.import_module("relax_mlir.ir.transform") is transform
    assert importlib.import_module("relax_mlir.ir.instrument") is instrument
    assert relax_mlir.transform is transform
