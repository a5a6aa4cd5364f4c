"""The programs of TVM's IRModule tutorial (seed document 002)."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.relax.frontend import nn
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.testing import assert_allclose


def close(actual, desired) -> None:
    """float32 sums of up to 784 products: errors up to a few parts in 10^5."""
    assert_allclose(actual, desired, rtol=1e-5, atol=2e-5)


class RelaxModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        x = self.fc1(x)
        x = self.relu1(x)
        x = self.fc2(x)
        return x


@I.ir_module
class TVMScriptModule:
    @R.function
    def main(
        x: R.Tensor((1, 784), dtype="float32"),
        fc1_weight: R.Tensor((256, 784), dtype="float32"),
        fc1_bias: R.Tensor((256,), dtype="float32"),
        fc2_weight: R.Tensor((10, 256), dtype="float32"),
        fc2_bias: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor((1, 10), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims = R.permute_dims(fc1_weight, axes=None)
            matmul = R.matmul(x, permute_dims, out_dtype="void")
            add = R.add(matmul, fc1_bias)
            relu = R.nn.relu(add)
            permute_dims1 = R.permute_dims(fc2_weight, axes=None)
            matmul1 = R.matmul(relu, permute_dims1, out_dtype="void")
            add1 = R.add(matmul1, fc2_bias)
            gv = add1
            R.output(gv)
        return gv


@I.ir_module
class AsPrintedFromTorch:
    @R.function
    def main(
        x: R.Tensor((1, 784), dtype="float32"),
        p_fc1_weight: R.Tensor((256, 784), dtype="float32"),
        p_fc1_bias: R.Tensor((256,), dtype="float32"),
        p_fc2_weight: R.Tensor((10, 256), dtype="float32"),
        p_fc2_bias: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor((1, 10), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((784, 256), dtype="float32") = R.permute_dims(p_fc1_weight, axes=None)
            lv1: R.Tensor((1, 256), dtype="float32") = R.matmul(x, lv, out_dtype="float32")
            lv2: R.Tensor((1, 256), dtype="float32") = R.add(lv1, p_fc1_bias)
            lv3: R.Tensor((1, 256), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((256, 10), dtype="float32") = R.permute_dims(p_fc2_weight, axes=None)
            lv5: R.Tensor((1, 10), dtype="float32") = R.matmul(lv3, lv4, out_dtype="float32")
            lv6: R.Tensor((1, 10), dtype="float32") = R.add(lv5, p_fc2_bias)
            gv: R.Tensor((1, 10), dtype="float32") = lv6
            R.output(gv)
        return gv


WEIGHTS = {"w0": (256, 784), "b0": (256,), "w1": (10, 256), "b1": (10,)}


def data(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [(1, 784), *WEIGHTS.values()]
    return [rng.standard_normal(s, dtype=np.float32) * np.float32(0.05) for s in shapes]


def expected(x, w0, b0, w1, b1) -> np.ndarray:
    return np.maximum(x @ w0.T + b0, 0) @ w1.T + b1


def imported():
    """The tutorial's import from PyTorch: (module, parameters, model)."""
    torch = pytest.importorskip("torch")
    from torch.export import export

    from relax_mlir.relax.frontend.torch import from_exported_program

    class TorchModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(784, 256)
            self.relu1 = torch.nn.ReLU()
            self.fc2 = torch.nn.Linear(256, 10)

        def forward(self, x):
            x = self.fc1(x)
            x = self.relu1(x)
            x = self.fc2(x)
            return x

    torch.manual_seed(0)
    model = TorchModel().eval()
    example_args = (torch.randn(1, 784, dtype=torch.float32),)
    with torch.no_grad():
        exported_program = export(model, example_args)
        module = from_exported_program(
            exported_program, keep_params_as_input=True, unwrap_unit_return_tuple=True
        )
    module, params = relax.frontend.detach_params(module)
    return module, params, model


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_import_from_torch_prints_the_tutorials_text() -> None:
    module, params, _ = imported()
    module.show()
    assert module.script() == AsPrintedFromTorch.script()
    assert module == AsPrintedFromTorch
    assert [p.shape for p in params["main"]] == list(WEIGHTS.values())


def test_nn_module_prints_the_tutorials_text() -> None:
    module, params = RelaxModel().export_tvm(
        {"forward": {"x": nn.spec.Tensor((1, 784), "float32")}}
    )
    module.show()
    text = module.script()
    wanted = TVMScriptModule.script().replace("def main(", "def forward(")
    assert text == wanted
    assert [name for name, _ in params] == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]


def test_global_vars_index_the_module() -> None:
    mod = TVMScriptModule
    assert str(mod.get_global_vars()) == '[I.GlobalVar("main")]'
    (gv,) = mod.get_global_vars()
    assert mod[gv] == mod["main"]
    assert str(mod["main"]).startswith("# from tvm.script import relax as R")


def test_legalize_ops_names_functions_as_the_tutorial() -> None:
    mod = relax.transform.LegalizeOps()(AsPrintedFromTorch)
    names = [v.name_hint for v in mod.get_global_vars()]
    assert names == ["add", "add1", "main", "matmul", "matmul1", "relu", "transpose", "transpose1"]
    text = mod.script()
    assert "lv = R.call_tir(cls.transpose, (p_fc1_weight,), out_sinfo=" in text
    assert "lv1 = R.call_tir(cls.matmul, (x, lv), out_sinfo=" in text
    assert (
        'def add(lv1: T.Buffer((T.int64(1), T.int64(256)), "float32"), '
        'p_fc1_bias: T.Buffer((T.int64(256),), "float32"), '
        'T_add: T.Buffer((T.int64(1), T.int64(256)), "float32")):' in text
    )
    assert "T_add[v_ax0, v_ax1] = lv1[v_ax0, v_ax1] + p_fc1_bias[v_ax1]" in text


def test_zero_pipeline_fuses_as_the_tutorial() -> None:
    mod = relax.transform.LegalizeOps()(AsPrintedFromTorch)
    mod = relax.get_pipeline("zero")(mod)
    names = [v.name_hint for v in mod.get_global_vars()]
    assert names == [
        "fused_matmul1_add1",
        "fused_matmul_add_relu",
        "main",
        "transpose",
        "transpose1",
    ]
    text = mod.script()
    for line in (
        "def fused_matmul_add_relu(x: T.Buffer((T.int64(1), T.int64(784)), ",
        "matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(256)))",
        'T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})',
        "R.call_tir(cls.fused_matmul1_add1, (",
    ):
        assert line in text, line
    assert tvm.script.from_source(text) == mod


@pytest.mark.parametrize("prepared", ["plain", "legalized", "zero"])
def test_deploy_on_cpu(prepared: str) -> None:
    mod = AsPrintedFromTorch
    if prepared != "plain":
        mod = relax.transform.LegalizeOps()(mod)
    if prepared == "zero":
        mod = relax.get_pipeline("zero")(mod)
    exec = tvm.compile(mod, target="llvm")
    dev = tvm.cpu()
    vm = relax.VirtualMachine(exec, dev)
    arrays = data(3)
    raw_data, *params = arrays
    cpu_out = vm["main"](tvm.nd.array(raw_data, dev), *[tvm.nd.array(p) for p in params]).numpy()
    close(cpu_out, expected(*arrays))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_deploy_with_detached_parameters() -> None:
    import torch

    module, params, model = imported()
    vm = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    raw_data = np.random.default_rng(4).random((1, 784), dtype=np.float32)
    cpu_out = vm["main"](tvm.nd.array(raw_data), *params["main"]).numpy()
    with torch.no_grad():
        close(cpu_out, model(torch.from_numpy(raw_data)).numpy())


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weights_as_constants() -> None:
    import torch
    from torch.export import export

    from relax_mlir.relax.frontend.torch import from_exported_program

    _, _, model = imported()
    module = from_exported_program(export(model, (torch.randn(1, 784),)))
    vm = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    raw_data = np.random.default_rng(5).random((1, 784), dtype=np.float32)
    (out,) = vm["main"](raw_data)
    with torch.no_grad():
        close(out.numpy(), model(torch.from_numpy(raw_data)).numpy())


@pytest.mark.parametrize("stage", ["plain", "legalized", "zero"])
def test_both_texts_round_trip(stage: str) -> None:
    mod = TVMScriptModule
    if stage != "plain":
        mod = relax.transform.LegalizeOps()(mod)
    if stage == "zero":
        mod = relax.get_pipeline("zero")(mod)
    assert tvm.IRModule.parse(mod.mlir()) == mod
    again = tvm.script.from_source(mod.script())
    assert again == mod
    assert again.script() == mod.script()
