"""Ways of writing that TVM's tutorials teach."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import IRModule, relax, tir
from relax_mlir.relax.frontend import nn
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Dense:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        with R.dataflow():
            moved = R.add(x, b)
            y = R.nn.relu(moved)
            R.output(y)
        return y


@I.ir_module
class Scale:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)


@I.ir_module
class ScaleRemapped:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for row in range(8):
            with T.block("B"):
                vrow = T.axis.remap("S", [row])
                B[vrow] = A[vrow] * T.float32(2)


@relax.expr_functor.mutator
class ReluToTanh(relax.PyExprMutator):
    def visit_call_(self, call: Any) -> Any:
        if call.op.name == "relax.nn.relu":
            return relax.op.tanh(call.args[0])  # the variable of the function that is rewritten
        return super().visit_call_(call)


def test_a_mutator_may_keep_the_variables_it_visits() -> None:
    rewriter = ReluToTanh(Dense)
    for var, function in Dense.functions_items():
        rewriter.builder_.update_func(var, rewriter.visit_expr(function))
    made = rewriter.builder_.get()
    x, b = np.random.default_rng(0).standard_normal((2, 2, 3)).astype("float32")
    got = relax.VirtualMachine(tvm.compile(made, "llvm"), tvm.cpu())["main"](x, b[0]).numpy()
    np.testing.assert_allclose(got, np.tanh(x + b[0]), rtol=1e-5, atol=1e-6)


def test_modules_are_compared_by_what_they_say() -> None:
    assert tvm.ir.structural_equal(Scale, ScaleRemapped)
    assert tvm.ir.structural_hash(Scale) == tvm.ir.structural_hash(ScaleRemapped)
    tvm.ir.assert_structural_equal(Scale["main"], ScaleRemapped["main"])
    with pytest.raises(ValueError, match=r"-.*Dense|R\.add"):
        tvm.ir.assert_structural_equal(Dense, Scale)


def test_names_of_private_functions_do_not_count() -> None:
    from relax_mlir.ir.base import assert_structural_equal

    @R.function(private=True)
    def before(x: R.Tensor((4,), "float32")):
        return R.add(x, x)

    @R.function(private=True)
    def expected(y: R.Tensor((4,), "float32")):
        return R.add(y, y)

    assert_structural_equal(before, expected)
    assert tvm.ir.structural_hash(before) == tvm.ir.structural_hash(expected)
    public = expected.with_attr("global_symbol", "expected")
    assert not tvm.ir.structural_equal(before, public)
    assert not tvm.ir.structural_equal(public.with_attr("global_symbol", "other"), public)


def test_modules_are_compared_by_the_ffi() -> None:
    """As in the tutorial "TensorIR Creation", which leaves comparing to the FFI's library."""
    import tvm_ffi

    assert tvm_ffi.structural_equal(Scale, ScaleRemapped)
    assert not tvm_ffi.structural_equal(Scale, Dense)
    assert tvm_ffi.structural_hash(Scale) == tvm_ffi.structural_hash(ScaleRemapped)
    assert tvm_ffi.structural_equal(Dense["main"], Dense.clone()["main"])
    assert not tvm_ffi.structural_equal(Dense["main"], Scale["main"])


def test_modules_print_as_tvmscript_while_they_can() -> None:
    assert tvm.script.from_source(str(Scale)) == Scale
    assert "def main(" in repr(Dense)
    lowered = tvm.transform.PassPipeline("tir-to-linalg,convert-linalg-to-loops")(Scale)
    assert "func.func @main" in str(lowered)


def test_passes_are_found_in_ir() -> None:
    passes = tvm.ir.transform.Sequential([relax.transform.LegalizeOps()])
    assert len(passes(Dense).functions_items()) == 3


def test_tensor_ir_is_built_from_its_own_module() -> None:
    a, b = tvm.runtime.tensor(np.arange(8, dtype="float32")), tvm.runtime.empty((8,), "float32")
    tir.build(Scale, target="llvm")(a, b)
    np.testing.assert_array_equal(b.numpy(), 2 * np.arange(8))


def test_external_functions_are_called_from_modules() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.extern("env.linear", [x], out=nn.Tensor.placeholder((2, 4), "float32"))

    module, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((2, 3), "float32")}})
    assert 'R.call_dps_packed("env.linear", (x,)' in module.script()


def test_a_local_session_runs_what_was_uploaded(tmp_path: Path) -> None:
    module = IRModule({"scale": Scale["main"].with_attr("global_symbol", "scale")})
    path = str(tmp_path / "library.tar")
    tvm.compile(module, "llvm").export_library(path)
    remote = tvm.rpc.LocalSession()
    remote.upload(path)
    function = remote.load_module("library.tar")
    device = remote.cpu()
    a = tvm.runtime.tensor(np.arange(8, dtype="float32"), device)
    b = tvm.runtime.tensor(np.zeros(8, "float32"), device)
    function(a, b)
    np.testing.assert_array_equal(b.numpy(), 2 * np.arange(8))
    assert function.time_evaluator("scale", device, number=2)(a, b).mean > 0
    remote.upload(b"text", "notes.txt")
    assert remote.download("notes.txt") == b"text"
    remote.remove("notes.txt")
    with pytest.raises(FileNotFoundError):
        remote.download("notes.txt")
    with pytest.raises(ValueError, match="need a target"):
        remote.upload(b"text")


def test_sessions_on_other_machines_are_refused() -> None:
    with pytest.raises(tvm.errors.Error, match="no sessions on other machines"):
        tvm.rpc.connect("192.0.2.1", 9090)


def test_an_archive_holds_one_library(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("nothing")
    tvm.contrib.tar.tar(str(tmp_path / "empty.tar"), str(note))
    with pytest.raises(tvm.errors.Error, match="holds 0 libraries"):
        tvm.runtime.load_module(tmp_path / "empty.tar")


def test_nothing_is_unpacked_outside_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("folder/empty.txt"))
        archive.addfile(tarfile.TarInfo("../outside.txt"))
    with pytest.raises(ValueError, match=r"\.\./outside\.txt .* is outside of"):
        tvm.contrib.tar.untar(str(tmp_path / "bad.tar"), str(tmp_path / "inside"))
    assert (tmp_path / "inside/folder/empty.txt").exists()
    assert not (tmp_path / "outside.txt").exists()


def test_python_tensor_ir_and_relax_share_a_module() -> None:
    """TVM's tutorial "Mix Python/PyTorch with TVM Using BasePyModule", in its words."""
    torch = pytest.importorskip("torch")
    from relax_mlir.relax.base_py_module import BasePyModule
    from relax_mlir.script import tirx

    @tvm.register_global_func("test_tutorial_forms.bias_add", override=True)
    def bias_add(x: Any, bias: Any, out: Any) -> None:
        out[:] = x.numpy() + bias.numpy()

    @I.ir_module
    class Hybrid(BasePyModule):
        @tirx.prim_func(s_tir=True)
        def scale_tir(var_x: tirx.handle, var_out: tirx.handle):
            n = tirx.int64()
            x = tirx.match_buffer(var_x, (n,), "float32")
            out = tirx.match_buffer(var_out, (n,), "float32")
            for i in tirx.serial(n):
                out[i] = x[i] * tirx.float32(2.0)

        @I.pyfunc
        def silu(self, x):
            return torch.sigmoid(x) * x

        @I.pyfunc
        def forward(self, x, bias):
            doubled = self.call_tir(
                self.scale_tir, [self._convert_pytorch_to_tvm(x)], out_ty=R.Tensor((4,), "float32")
            )
            out_ty = R.Tensor((4,), "float32")
            given = [self._convert_tvm_to_pytorch(doubled), bias]
            return self.call_dps_packed("test_tutorial_forms.bias_add", given, out_ty=out_ty)

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.call_py_func("silu", (x,), out_ty=R.Tensor((4,), "float32"))

        @R.function
        def add_relax(
            x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")
        ) -> R.Tensor(("n",), "float32"):
            return R.add(x, y)

    mod = Hybrid(device=tvm.cpu(0), target="llvm")
    x, bias = torch.randn(4), torch.randn(4)
    torch.testing.assert_close(mod.forward(x, bias), 2 * x + bias)
    torch.testing.assert_close(mod.main(x), torch.sigmoid(x) * x)
    torch.testing.assert_close(mod.call_py_func("silu", [x]), torch.sigmoid(x) * x)
    for size in (5, 10):
        a, b = torch.randn(size), torch.randn(size)
        torch.testing.assert_close(mod.add_relax(a, b), a + b)
    n = tirx.int64()
    seven = torch.randn(7)
    scaled = mod.call_tir("scale_tir", [seven], relax.TensorType((n,), "float32"))
    torch.testing.assert_close(torch.tensor(scaled.numpy()), seven * 2)
    assert mod.list_functions()["relax"] == ["main", "add_relax"]


def test_relax_is_converted_to_python_before_and_after_a_pass() -> None:
    torch = pytest.importorskip("torch")
    from relax_mlir.relax.relax_to_pyfunc_converter import RelaxToPyFuncConverter

    x, b = torch.randn(2, 3), torch.randn(3)
    for module in (Dense, relax.transform.CanonicalizeBindings()(Dense)):
        converted = RelaxToPyFuncConverter(module).convert(["main"])
        torch.testing.assert_close(converted.pyfuncs["main"](x, b), torch.relu(x + b))


def test_spellings_of_tvm_0_27() -> None:
    x = relax.Var("x", ty=R.Tensor((2,), "float32"))
    assert x.struct_info == relax.TensorType((2,), "float32")
    assert relax.DataflowVar("y", ty=R.Shape([2])).name == "y"
    assert relax.VDevice is I.VDevice and relax.DummyGlobalInfo is I.DummyGlobalInfo
    assert relax.utils.convert_to_expr([x, x]).fields[1] is x
    declared = relax.ExternFunc("f", ty=R.Callable((R.Object(),), R.Object()))
    assert declared.declared is not None

    machine = relax.VirtualMachine(tvm.compile(Dense, "llvm"), tvm.cpu())
    kinds = relax.VMInstrumentReturnKind
    answers = iter([kinds.SKIP_RUN, kinds.NO_OP, kinds.NO_OP])
    machine.set_instrument(lambda *_: next(answers))
    arrays = np.ones((2, 3), "float32"), np.ones(3, "float32")
    assert machine["main"](*arrays) is None
    np.testing.assert_array_equal(machine["main"](*arrays).numpy(), np.full((2, 3), 2.0))
