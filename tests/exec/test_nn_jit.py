"""`nn` modules compiled and called: layers against numpy, effects, sampling, external modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir.errors import Error
from relax_mlir.relax.frontend import nn
from relax_mlir.script import from_source

RNG = np.random.default_rng(7)


def values(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def filled(module: Any) -> Any:
    for _, parameter in module.named_parameters():
        parameter.data = values(*parameter.shape) * 0.3
    return module


def compiled(module: nn.Module, debug: bool = False, **spec: Any) -> Any:
    made = filled(module).jit({"forward": spec}, out_format="numpy", debug=debug)
    return made["forward"]


def data(parameter: Any) -> np.ndarray:
    return parameter.data.numpy()


def f32(*shape: Any) -> nn.spec.Tensor:
    return nn.spec.Tensor(shape, "float32")


def of(function: Any) -> nn.Module:
    """A module whose forward is a function of tensors."""

    class Wrapped(nn.Module):
        forward: Any

    made = Wrapped()
    made.forward = function
    return made


def test_attention_layer() -> None:
    layer: Any = nn.Attention(6, heads=2, dim_head=4)
    x = values(2, 5, 6)
    got = compiled(layer, hidden_states=f32(2, 5, 6))(x)
    q, k, v = (x @ data(p.weight).T for p in (layer.to_q, layer.to_k, layer.to_v))
    q, k, v = (t.reshape(2, 5, 2, 4) for t in (q, k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    mixed = np.einsum("bhij,bjhd->bihd", weights, v).reshape(2, 5, 8)
    wanted = mixed @ data(layer.to_out[0].weight).T + data(layer.to_out[0].bias)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_timesteps() -> None:
    steps = np.array([0, 3, 500], "int64")
    for size, flip in ((8, False), (7, True)):
        embedding = nn.Timesteps(size, flip_sin_to_cos=flip, downscale_freq_shift=0)
        got = compiled(embedding, x=nn.spec.Tensor((3,), "int64"))(steps)
        half = size // 2
        angles = steps[:, None] * np.exp(-np.log(10000) * np.arange(half) / half)
        parts = [np.sin(angles), np.cos(angles)]
        wanted = np.concatenate(parts[::-1] if flip else parts, 1)
        wanted = np.pad(wanted, ((0, 0), (0, size % 2)))
        np.testing.assert_allclose(got, wanted, atol=2e-4)


def test_timestep_embedding() -> None:
    layer: Any = nn.TimestepEmbedding(4, 6, out_dim=3, cond_proj_dim=2)
    x, c = values(2, 4), values(2, 2)
    got = compiled(layer, sample=f32(2, 4), condition=f32(2, 2))(x, c)
    hidden = (x + c @ data(layer.cond_proj.weight).T) @ data(layer.linear_1.weight).T
    hidden += data(layer.linear_1.bias)
    hidden /= 1 + np.exp(-hidden)
    wanted = hidden @ data(layer.linear_2.weight).T + data(layer.linear_2.bias)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_transposed_convolution() -> None:
    layer = nn.ConvTranspose1D(2, 3, 4, stride=2, padding=1)
    x = values(1, 2, 5)
    got = compiled(layer, x=f32(1, 2, 5))(x)
    whole = np.zeros((1, 3, 4 + 2 * 4), "float32")
    for i in range(5):
        whole[:, :, 2 * i : 2 * i + 4] += np.einsum("nc,cok->nok", x[:, :, i], data(layer.weight))
    wanted = whole[:, :, 1:-1] + data(layer.bias)[:, None]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_pad_interpolate_and_empty() -> None:
    def forward(x: nn.Tensor) -> Any:
        wide = nn.pad(x, [0, 0, 0, 0, 1, 0, 0, 2], value=5.0)
        return wide, nn.interpolate(x, scale_factor=2), nn.empty([2, 3])

    x = values(1, 2, 3, 4)
    wide, large, empty = compiled(of(forward), x=f32(1, 2, 3, 4))(x)
    pads = ((0, 0), (0, 0), (1, 0), (0, 2))
    np.testing.assert_array_equal(wide, np.pad(x, pads, constant_values=5))
    np.testing.assert_array_equal(large, x.repeat(2, 2).repeat(2, 3))
    assert empty.shape == (2, 3)


def test_sampling() -> None:
    prob = np.array([[0.1, 0.4, 0.5], [0.3, 0.3, 0.4]], "float32")
    ordered = -np.sort(-prob, 1)
    index = np.argsort(-prob, 1, kind="stable").astype("int64")
    top_p = np.array([[0.6], [0.9]], "float32")
    top_k = np.array([[3], [2]], "int64")
    uniform = np.array([[0.5], [0.6]], "float32")

    def forward(
        prob: nn.Tensor,
        ordered: nn.Tensor,
        index: nn.Tensor,
        top_p: nn.Tensor,
        top_k: nn.Tensor,
        uniform: nn.Tensor,
    ) -> Any:
        return (
            nn.sample_top_p_top_k_from_sorted_prob(ordered, index, top_p, top_k, uniform),
            nn.renormalize_top_p_top_k_prob(prob, ordered, top_p, top_k),
            nn.multinomial_from_uniform(prob, uniform),
        )

    whole = nn.spec.Tensor((2, 3), "int64")
    column = nn.spec.Tensor((2, 1), "int64")
    run = compiled(
        of(forward), prob=f32(2, 3), ordered=f32(2, 3), index=whole, top_p=f32(2, 1),
        top_k=column, uniform=f32(2, 1),
    )  # fmt: skip
    chosen, kept, drawn = run(prob, ordered, index, top_p, top_k, uniform)
    # 0.5 + 0.4 pass top_p = 0.6, of which 0.5 is below 5 / 9; 0.4 + 0.3 pass top_k = 2.
    np.testing.assert_array_equal(chosen, [[2], [0]])
    np.testing.assert_allclose(kept[0], [0, 0.4 / 0.9, 0.5 / 0.9], rtol=1e-5)
    np.testing.assert_allclose(kept[1].sum(), 1, rtol=1e-5)
    np.testing.assert_array_equal(drawn, [[2], [2]])


class Cached(nn.Module):
    """Adds each row to a cache and returns the mean of all rows so far."""

    def __init__(self) -> None:
        self.cache = nn.KVCache(2, [3])
        self.other = nn.KVCache(2, [3])

    def forward(self, x: nn.Tensor, total: Any) -> Any:
        self.cache.append(x)
        self.other.append(x * 2.0)
        rows, doubled = self.cache.view(total), self.other.view(total)
        return nn.op.mean(rows, axis=0), nn.op.mean(doubled, axis=0)


def test_a_cache_keeps_what_came_before() -> None:
    run = compiled(Cached(), x=f32("n", 3), total=int)
    seen = np.zeros((0, 3), "float32")
    for count in (1, 2, 4):
        rows = values(count, 3)
        seen = np.concatenate([seen, rows])
        mean, doubled = run(rows, len(seen))
        np.testing.assert_allclose(mean, seen.mean(0), rtol=1e-5)
        np.testing.assert_allclose(doubled, 2 * seen.mean(0), rtol=1e-5)
    with pytest.raises(Exception, match="the cache holds"):
        run(values(1, 3), 3)


def test_effects_in_the_functions() -> None:
    module, _ = Cached().export_tvm({"forward": {"x": f32("n", 3), "total": int}})
    text = module.script()
    assert "def _initialize_effect()" in text and '"num_input": 4' in text
    with pytest.raises(TypeError, match="the cache holds float32"):
        of(lambda x: nn.KVCache(1, [2]).append(x)).export_tvm(
            {"forward": {"x": nn.spec.Tensor((1, 2), "float16")}}
        )


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    def forward(x: nn.Tensor) -> nn.Tensor:
        y = x + 1.0
        nn.op.print_(y)
        return y

    run = compiled(of(forward), debug=True, x=f32(2))
    np.testing.assert_array_equal(run(np.zeros(2, "float32")), [1, 1])
    assert "test_nn_jit.py" in (shown := capsys.readouterr().out) and "[1. 1.]" in shown
    with pytest.raises(Error, match="debug=True"):
        of(forward).export_tvm({"forward": {"x": f32(2)}})


def test_mutator() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
            self.named = nn.ModuleDict({"last": nn.Linear(2, 2)})

    seen: list[str] = []

    class Widen(nn.Mutator):
        def visit_module(self, name: str, node: nn.Module) -> Any:
            seen.append(name)
            return nn.Linear(2, 8) if isinstance(node, nn.Linear) else self.visit(name, node)

    model: Any = Model()
    Widen().visit("", model)
    assert {"layers.0", "layers.1", "named.last"} <= set(seen)
    assert model.layers[0].weight.shape == [8, 2] and model.named["last"].weight.shape == [8, 2]


class Block(nn.Module):
    define_subroutine = True

    def __init__(self) -> None:
        self.linear = nn.Linear(3, 3)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return nn.relu(self.linear(x))


def test_a_subroutine_is_one_function() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.first, self.second = Block(), Block()

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.second(self.first(x))

    model, x = Model(), values(2, 3)
    got = compiled(model, x=f32(2, 3))(x)
    wanted = x
    for block in (model.first, model.second):
        wanted = np.maximum(wanted @ data(block.linear.weight).T + data(block.linear.bias), 0)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    module, _ = model.export_tvm({"forward": {"x": f32(2, 3)}})
    assert sorted(v.name_hint for v in module.get_global_vars()) == ["block", "forward"]


SOURCE = r"""
#include <tvm/ffi/c_api.h>
#include <dlpack/dlpack.h>

static DLTensor* tensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (DLTensor*)value->v_ptr;
  return (DLTensor*)((char*)value->v_obj + sizeof(TVMFFIObject));
}
int __tvm_ffi_test_scaled(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  DLTensor *x = tensor(args), *y = tensor(args + 1);
  for (int64_t i = 0; i < x->shape[0]; ++i)
    ((float*)y->data)[i] = 3.0f * ((float*)((char*)x->data + x->byte_offset))[i];
  return 0;
}
"""


def test_external_source() -> None:
    source = nn.SourceModule(
        {"test_scaled": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)}, SOURCE, "c"
    )

    class Model(nn.Module):
        def __init__(self) -> None:
            self.source = source

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.source["test_scaled"](x) + 1.0

    x = values(5)
    np.testing.assert_array_equal(compiled(Model(), x=f32(5))(x), 3 * x + 1)
    with pytest.raises(Error, match="uses external modules"):
        Model().export_tvm({"forward": {"x": f32(5)}})
    with pytest.raises(KeyError, match="has no 'other'; it has test_scaled"):
        source["other"]


BUMP = """
@T.prim_func(private=True)
def bump(a: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            a[vi] = a[vi] + T.float32(1)
"""


def test_tensor_ir_in_place() -> None:
    bump: Any = from_source(BUMP)

    def forward(x: nn.Tensor) -> nn.Tensor:
        y = x * 2.0
        return nn.tensor_ir_inplace_op(bump, "bump", [y], 0, nn.Tensor.placeholder([4], "float32"))

    x = values(4)
    np.testing.assert_array_equal(compiled(of(forward), x=f32(4))(x), 2 * x + 1)


def test_what_jit_refuses() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="parameter 'weight' has no data"):
        layer.jit({"forward": {"x": f32(1, 2)}})
    with pytest.raises(ValueError, match="out_format is one of"):
        layer.jit({"forward": {"x": f32(1, 2)}}, out_format="jax")
    run = filled(layer).jit({"forward": {"x": f32(1, 2)}}, out_format="raw")
    assert isinstance(run(values(1, 2)), rm.runtime.Tensor)
    with pytest.raises(ValueError, match="'backward' was not exported; there are forward"):
        run["backward"]
    with pytest.raises(TypeError, match=r"takes 1 arguments \(x\), 0 given"):
        run()


@pytest.mark.torch
def test_torch_tensors_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    layer = filled(nn.Linear(3, 2))
    x = torch.randn(4, 3)
    got = layer.jit({"forward": {"x": f32("n", 3)}})["forward"](x)
    assert isinstance(got, torch.Tensor)
    weight, bias = (torch.from_numpy(data(p)) for p in (layer.weight, layer.bias))
    torch.testing.assert_close(got, torch.nn.functional.linear(x, weight, bias))
