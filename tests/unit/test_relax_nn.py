"""`relax.frontend.nn`: modules exported as Relax functions."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir import relax, te
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.relax.frontend import nn
from relax_mlir.script import from_source


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        x = self.fc1(x)
        x = self.relu1(x)
        return self.fc2(x)


def exported(module: nn.Module, **spec: object) -> IRModule:
    mod, _ = module.export_tvm({"forward": spec})
    mod.verify()
    assert from_source(mod.script()) == mod
    return mod


def test_mlp_prints_as_the_tutorial_shows() -> None:
    mod, params = MLP().export_tvm({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})
    assert [(name, p.shape, p.dtype) for name, p in params] == [
        ("fc1.weight", [256, 784], "float32"),
        ("fc1.bias", [256], "float32"),
        ("fc2.weight", [10, 256], "float32"),
        ("fc2.bias", [10], "float32"),
    ]
    assert mod.script() == (
        "# from tvm.script import ir as I\n"
        "# from tvm.script import relax as R\n"
        "\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @R.function\n"
        '    def forward(x: R.Tensor((1, 784), dtype="float32"), '
        'fc1_weight: R.Tensor((256, 784), dtype="float32"), '
        'fc1_bias: R.Tensor((256,), dtype="float32"), '
        'fc2_weight: R.Tensor((10, 256), dtype="float32"), '
        'fc2_bias: R.Tensor((10,), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):\n'
        '        R.func_attr({"num_input": 1})\n'
        "        with R.dataflow():\n"
        '            permute_dims: R.Tensor((784, 256), dtype="float32") = '
        "R.permute_dims(fc1_weight, axes=None)\n"
        '            matmul: R.Tensor((1, 256), dtype="float32") = '
        'R.matmul(x, permute_dims, out_dtype="void")\n'
        '            add: R.Tensor((1, 256), dtype="float32") = R.add(matmul, fc1_bias)\n'
        '            relu: R.Tensor((1, 256), dtype="float32") = R.nn.relu(add)\n'
        '            permute_dims1: R.Tensor((256, 10), dtype="float32") = '
        "R.permute_dims(fc2_weight, axes=None)\n"
        '            matmul1: R.Tensor((1, 10), dtype="float32") = '
        'R.matmul(relu, permute_dims1, out_dtype="void")\n'
        '            add1: R.Tensor((1, 10), dtype="float32") = R.add(matmul1, fc2_bias)\n'
        '            gv: R.Tensor((1, 10), dtype="float32") = add1\n'
        "            R.output(gv)\n"
        "        return gv"
    )


class Block(nn.Module):
    """Every layer, containers, symbolic sizes, an integer and a tuple of results."""

    def __init__(self) -> None:
        self.emb = nn.Embedding(100, 16)
        self.layers = nn.ModuleList([nn.Linear(16, 16, bias=False) for _ in range(2)])
        self.named = nn.ModuleDict({"act": nn.SiLU()})
        self.norm = nn.LayerNorm(16)
        self.plain = nn.LayerNorm(16, elementwise_affine=False)
        self.rms = nn.RMSNorm(16, -1)
        self.tail = nn.Sequential(nn.GELU(), nn.Identity())
        self.scales = nn.ParameterList([nn.Parameter((16,))])

    def forward(self, x: nn.Tensor, n: int, k: nn.Tensor) -> object:
        h = self.emb(x)
        for layer in self.layers:
            h = self.named["act"](layer(h))
        h = self.tail(self.plain(self.norm(h))) + 1.0
        h = self.rms(h) * self.scales[0]
        h = nn.op.softmax(nn.op.reshape(h, (h.shape[0], 16)) * k, axis=-1)
        a, b = nn.op.split(h, 2, axis=1)
        c = nn.op.concat([a, b], dim=1)
        d = nn.op.broadcast_to(nn.op.unsqueeze(nn.op.sum(c, axis=1), 1), (c.shape[0], n))
        return c, (d, 2.0 / -a)


SPEC = {
    "x": nn.spec.Tensor(("s",), "int32"),
    "n": int,
    "k": nn.spec.Tensor(("s", 16), "float32"),
}


def test_layers_and_containers() -> None:
    mod = exported(Block(), **SPEC)
    function = mod["forward"]
    assert function.attrs["num_input"] == 3
    names = [p.name_hint for p in function.params]
    assert names[3:] == [
        "emb_weight",
        "layers_0_weight",
        "layers_1_weight",
        "norm_weight",
        "norm_bias",
        "rms_weight",
        "rms_bias",
        "scales_0",
    ]
    assert str(function.ret_struct_info) == (
        'R.Tuple(R.Tensor((s, 16), dtype="float32"), '
        'R.Tuple(R.Tensor((s, n), dtype="float32"), R.Tensor((s, 8), dtype="float32")))'
    )
    bound = [b.var.name_hint for b in function.body.bindings]
    assert bound[:5] == ["take", "permute_dims", "matmul", "silu", "permute_dims1"]
    assert "split_0" in bound and bound[-1] == "gv"


@pytest.mark.parametrize("mode", ["plain", "packed", "none"])
def test_parameter_modes(mode: str) -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter((4,), "float16")

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return x * self.weight if mode != "none" else x * 2.0

    spec = {"x": nn.spec.Tensor((2, 4), "float16"), "$": {"param_mode": mode}}
    mod, params = Scale().export_tvm({"forward": spec})
    expected = {"plain": ["x", "weight"], "packed": ["x", "packed_params"], "none": ["x"]}
    assert [p.name_hint for p in mod["forward"].params] == expected[mode]
    assert [name for name, _ in params] == ["weight"]
    mod.verify()


def test_several_methods_and_tuple_arguments() -> None:
    class Cache(nn.Module):
        def __init__(self) -> None:
            self.proj = nn.Linear(4, 4, bias=False)

        def prefill(self, x: nn.Tensor) -> nn.Tensor:
            return self.proj(x)

        def decode(self, x: nn.Tensor, cache: list[nn.Tensor]) -> object:
            return [self.proj(x), nn.op.maximum(cache[0], cache[1])]

    tensor = nn.spec.Tensor(("b", 4), "float32")
    mod, _ = Cache().export_tvm(
        {"prefill": {"x": tensor}, "decode": {"x": tensor, "cache": [tensor, tensor]}}
    )
    mod.verify()
    assert [v.name_hint for v in mod.get_global_vars()] == ["decode", "prefill"]
    kinds = [str(p.struct_info) for p in mod["decode"].params]
    assert kinds[1].startswith("R.Tuple(R.Tensor((b, 4)")


def test_functions_of_other_kinds() -> None:
    class Mixed(nn.Module):
        def forward(self, x: nn.Tensor) -> object:
            def double(a: te.Tensor) -> te.Tensor:
                return te.compute(a.shape, lambda i: a[i] * 2.0, name="double")

            y = nn.op.tensor_expr_op(double, "double", [x])
            out = nn.Tensor.placeholder((3,), "float32", "out")
            return nn.op.extern("env.scale", [y, 2], out), nn.op.gelu(y, approximate="tanh")

    mod, _ = Mixed().export_tvm({"forward": {"x": nn.spec.Tensor((3,), "float32")}})
    mod.verify()
    text = mod["forward"].script()
    assert "R.call_tir(double, (x,)" in text
    # Without the module's class around it, the function's name is not one of a variable.
    assert 'R.call_dps_packed("env.scale", (double_1, R.prim_value(2))' in text
    assert "R.nn.gelu_tanh(" in text


def test_parameters_hold_data() -> None:
    model = MLP()
    weight = np.ones((256, 784), "float32")
    model.fc1.weight.data = weight
    np.testing.assert_array_equal(model.fc1.weight.data.numpy(), weight)
    with pytest.raises(ValueError, match="cannot hold"):
        model.fc1.weight.data = np.ones((256, 783), "float32")
    with pytest.raises(ValueError, match="cannot change"):
        model.to("float16")
    other = MLP()
    other.to("float16")
    assert {p.dtype for p in other.parameters()} == {"float16"}
    state = {name: np.zeros(p.shape, "float16") for name, p in other.state_dict().items()}
    assert other.load_state_dict(state) == ([], [])
    with pytest.raises(KeyError, match="unexpected"):
        other.load_state_dict({**state, "fc3": state["fc1.bias"]})
    del state["fc1.bias"]
    assert other.load_state_dict(state, strict=False) == (["fc1.bias"], [])
    mod, params = model.export_tvm({"forward": {"x": nn.spec.Tensor(("n", 784), "float32")}})
    assert params[0][1] is model.fc1.weight
    assert str(model.fc1.weight) == 'Tensor([256, 784], "float32")'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"forward": {}}, "spec of argument 'x' is missing"),
        ({"forward": {"y": int}}, "no argument 'y'"),
        ({"forward": {"x": 3}}, "argument 'x': expected"),
        ({"backward": {}}, "backward"),
        ({"forward": {"x": nn.spec.Tensor((1, 3), "float32")}}, "reduction dimensions differ"),
        ({"forward": {"x": int, "$": {"param_mode": "odd"}}}, "modes are"),
    ],
)
def test_bad_specs(spec: dict[str, object], message: str) -> None:
    model = MLP()
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        model.export_tvm(spec)
    assert relax.BlockBuilder.current() is None
    # The parameters stand for themselves again.
    model.export_tvm({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})


def test_operators_need_an_export() -> None:
    x = nn.Tensor.placeholder((2,), "float32", "x")
    with pytest.raises(Error, match="in a method that is being exported"):
        nn.op.relu(x)
    with pytest.raises(AttributeError, match="nn has no operator 'relux'"):
        _ = nn.op.relux
