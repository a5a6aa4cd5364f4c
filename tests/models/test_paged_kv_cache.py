"""A small Llama on a paged cache decodes what computing everything anew gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.relax.frontend import nn
from relax_mlir.relax.frontend.nn.llm import PagedKVCache, RopeMode, TIRPagedKVCache, llama_rope
from relax_mlir.runtime import ShapeTuple, empty, get_global_func, tensor
from relax_mlir.runtime.rotary import rotations, turns_neighbours
from tests.exec.kv_references import turned_by

HEADS, KEY_HEADS, SIZE, LAYERS, WIDTH, INNER = 4, 2, 8, 2, 24, 40
SIZES = "max_batch_size max_total_seq_len prefill_chunk_size page_size support_sliding_window"


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = (nn.RMSNorm(WIDTH, -1, 1e-5, bias=False) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KEY_HEADS) * SIZE, bias=False)
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache, index: int) -> nn.Tensor:
        b, s, _ = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(b, s, HEADS + 2 * KEY_HEADS, SIZE)
        attended = cache.attention_with_fused_qkv(index, qkv, HEADS, SIZE**-0.5)
        x = x + self.out(attended.reshape(b, s, HEADS * SIZE))
        gate, up = nn.op.split(self.gate_up(self.norm2(x)), 2, axis=-1)
        return x + self.down(nn.op.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])

    def forward(self, x: nn.Tensor, paged_kv_cache: PagedKVCache) -> tuple[nn.Tensor, Any]:
        for index, layer in enumerate(self.layers):
            x = layer(x, paged_kv_cache, index)
        return x, paged_kv_cache

    prefill = forward
    decode = forward


class Creator(nn.Module):
    """Creates caches, as a method of the model would."""

    def __init__(self, rope: Mapping[str, Any]) -> None:
        super().__init__()
        self.rope = rope

    def create_paged_kv_cache(
        self,
        max_batch_size: int,
        max_total_seq_len: int,
        prefill_chunk_size: int,
        page_size: int,
        support_sliding_window: int,
    ) -> PagedKVCache:
        return TIRPagedKVCache(
            "mha",
            max_batch_size,
            max_total_seq_len,
            prefill_chunk_size,
            page_size,
            support_sliding_window,
            [0, LAYERS],
            LAYERS,
            HEADS,
            KEY_HEADS,
            SIZE,
            SIZE,
            **self.rope,
        )


@cache
def compiled() -> tuple[relax.VirtualMachine, dict[str, np.ndarray]]:
    """The model, and weights by name in the order it takes them."""
    kind = nn.spec.Object(object_type=PagedKVCache)
    packed = {"paged_kv_cache": kind, "$": {"param_mode": "packed"}}
    module, params = Llama().export_tvm(
        {
            "prefill": {"x": nn.spec.Tensor([1, "s", WIDTH], "float32"), **packed},
            "decode": {"x": nn.spec.Tensor(["b", 1, WIDTH], "float32"), **packed},
        }
    )
    rng = np.random.default_rng(3)
    weights = {
        name: (0.4 * rng.standard_normal(param.shape)).astype("float32") for name, param in params
    }
    return relax.VirtualMachine(relax.build(module)), weights


class Machine:
    """The model and a cache."""

    def __init__(self, sliding: bool = False, pages: int = 16, **rope: Any) -> None:
        self.vm, self.weights = compiled()
        sizes = dict.fromkeys(SIZES.split(), int)
        module, _ = Creator(rope).export_tvm({"create_paged_kv_cache": sizes})
        create = relax.VirtualMachine(relax.build(module))["create_paged_kv_cache"]
        given = (4, 4 * pages, 32, 4, int(sliding))
        self.cache = create(*(ShapeTuple([size]) for size in given))

    def call(self, name: str, *arguments: Any) -> Any:
        given = [ShapeTuple(a) if isinstance(a, list) else a for a in arguments]
        return get_global_func(f"vm.builtin.{name}")(self.cache, *given)

    def step(self, tokens: Mapping[int, np.ndarray], tree: list[int] | None = None) -> np.ndarray:
        """The model on new tokens, (count, WIDTH), of some sequences."""
        rows = np.concatenate(list(tokens.values()))
        lengths = [len(part) for part in tokens.values()]
        decodes = tree is None and set(lengths) == {1}
        self.call(
            "kv_state_begin_forward", list(tokens), lengths, *([] if tree is None else [tree])
        )
        shape = (len(rows), 1, WIDTH) if decodes else (1, len(rows), WIDTH)
        name = "decode" if decodes else "prefill"
        weights = list(self.weights.values())
        result, _ = self.vm[name](rows.reshape(shape), self.cache, weights)
        self.call("kv_state_end_forward")
        return result.numpy().reshape(len(rows), WIDTH)


def rotated(x: np.ndarray, positions: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Complex numbers whose parts are the halves of a head, turned."""
    half = SIZE // 2
    turn = np.exp(1j * np.outer(positions, frequencies))[:, None, :]
    numbers = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([numbers.real, numbers.imag], axis=-1)


PLAIN = 1.0 / 10000.0 ** (np.arange(0, SIZE, 2) / SIZE)


def plain(
    machine: Machine,
    x: np.ndarray,
    frequencies: np.ndarray = PLAIN,
    positions: np.ndarray | None = None,
    visible: np.ndarray | None = None,
) -> np.ndarray:
    """The model on a whole sequence in float64, without a cache."""
    x = x.astype("float64")
    at = np.arange(len(x)) if positions is None else positions
    mask = np.tri(len(x), dtype=bool) if visible is None else visible
    for index in range(LAYERS):
        w = {
            name.removeprefix(f"layers.{index}."): value.astype("float64")
            for name, value in machine.weights.items()
        }

        def norm(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
            return rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5) * weight

        qkv = (norm(x, w["norm1.weight"]) @ w["qkv.weight"].T).reshape(len(x), -1, SIZE)
        q, k, v = np.split(qkv, [HEADS, HEADS + KEY_HEADS], axis=1)
        q, k = rotated(q, at, frequencies), rotated(k, at, frequencies)
        k, v = (np.repeat(part, HEADS // KEY_HEADS, axis=1) for part in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(SIZE)
        scores = np.where(mask, scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        attended = np.einsum("hij,jhd->ihd", scores, v).reshape(len(x), -1)
        x = x + attended @ w["out.weight"].T
        gate, up = np.split(norm(x, w["norm2.weight"]) @ w["gate_up.weight"].T, 2, axis=-1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w["down.weight"].T
    return x


def tokens(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, WIDTH)).astype("float32")


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


@pytest.fixture(scope="module")
def shared() -> Machine:
    return Machine()


@pytest.fixture
def machine(shared: Machine) -> Machine:
    shared.call("kv_state_clear")
    return shared


def test_two_sequences_of_different_length(machine: Machine) -> None:
    a, b = tokens(12, 1), tokens(14, 2)
    for sequence in (0, 7):
        machine.call("kv_state_add_sequence", sequence)
    found = machine.step({0: a[:3], 7: b[:5]})
    close(found[:3], plain(machine, a[:3]))
    close(found[3:], plain(machine, b[:5]))
    whole_a, whole_b = plain(machine, a), plain(machine, b)
    for i in range(9):
        found = machine.step({7: b[5 + i : 6 + i], 0: a[3 + i : 4 + i]})
        close(found[0], whole_b[5 + i])
        close(found[1], whole_a[3 + i])
    assert machine.call("attention_kv_cache_get_total_sequence_length") == 26
    assert machine.call("attention_kv_cache_get_num_available_pages") == 16 - 3 - 4
    machine.call("kv_state_remove_sequence", 7)
    assert machine.call("attention_kv_cache_get_num_available_pages") == 16 - 3


def test_a_prompt_in_chunks(machine: Machine) -> None:
    x = tokens(11)
    machine.call("kv_state_add_sequence", 0)
    parts = [machine.step({0: part}) for part in np.split(x, [4, 5, 9])]
    close(np.concatenate(parts), plain(machine, x))


def test_forks_share_pages_and_go_their_own_ways(machine: Machine) -> None:
    x, y, z = tokens(10, 1), tokens(3, 2), tokens(3, 3)
    machine.call("kv_state_add_sequence", 0)
    machine.step({0: x[:6]})
    free = machine.call("attention_kv_cache_get_num_available_pages")
    machine.call("kv_state_fork_sequence", 0, 1, -1)
    machine.call("kv_state_fork_sequence", 0, 2, 4)
    assert machine.call("attention_kv_cache_get_num_available_pages") == free
    found = machine.step({0: x[6:9], 1: y, 2: z})
    close(found[:3], plain(machine, x[:9])[6:])
    close(found[3:6], plain(machine, np.concatenate([x[:6], y]))[6:])
    close(found[6:], plain(machine, np.concatenate([x[:4], z]))[4:])
    machine.call("kv_state_popn", 0, 7)
    machine.call("kv_state_remove_sequence", 2)
    close(machine.step({0: y, 1: z})[3:], plain(machine, np.concatenate([x[:6], y, z]))[9:])
    for sequence in (0, 1):
        machine.call("kv_state_remove_sequence", sequence)
    assert machine.call("attention_kv_cache_get_num_available_pages") == 16
    assert machine.call("attention_kv_cache_empty")


def test_drafts_are_a_tree_of_which_one_way_is_accepted(machine: Machine) -> None:
    x, drafts = tokens(5, 1), tokens(5, 2)
    machine.call("kv_state_add_sequence", 0)
    machine.step({0: x})
    #  0 - 1 - 3
    #   `- 2 - 4
    found = machine.step({0: drafts}, tree=[-1, 0, 0, 1, 2])
    close(found[4], plain(machine, np.concatenate([x, drafts[[0, 2, 4]]]))[-1])
    close(found[3], plain(machine, np.concatenate([x, drafts[[0, 1, 3]]]))[-1])
    with pytest.raises(ValueError, match="not accepted yet"):
        machine.step({0: x[:1]})
    commit = "attention_kv_cache_commit_accepted_token_tree_nodes"
    machine.call(commit, [0], [2])
    after = np.concatenate([x, drafts[[0, 2]], x[:1]])
    close(machine.step({0: x[:1]})[0], plain(machine, after)[-1])


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}


def _llama3() -> np.ndarray:
    """Hugging Face's formula: by wavelength."""
    wavelength = 2 * np.pi / PLAIN
    smooth = (512 / wavelength - 1) / 3
    blended = (1 - smooth) * PLAIN / 8 + smooth * PLAIN
    return np.where(wavelength > 512, PLAIN / 8, np.where(wavelength < 128, PLAIN, blended))


def _yarn() -> np.ndarray:
    low, high = (
        SIZE * np.log(512 / (turns * 2 * np.pi)) / (2 * np.log(10000)) for turns in (32, 1)
    )
    ramp = np.clip((np.arange(SIZE // 2) - max(low, 0)) / (min(high, SIZE - 1) - max(low, 0)), 0, 1)
    return PLAIN / 4 * ramp + PLAIN * (1 - ramp)


YARN = {
    "rope_type": "yarn",
    "factor": 4.0,
    "beta_fast": 32,
    "beta_slow": 1,
    "original_max_position_embeddings": 512,
}


@pytest.mark.parametrize(
    ("rope", "frequencies"),
    [
        ({"rope_mode": RopeMode.NONE}, 0 * PLAIN),
        ({"rope_mode": RopeMode.INLINE, "rope_scale": 0.5}, PLAIN / 2),
        ({"rope_theta": 500.0}, 1.0 / 500.0 ** (np.arange(0, SIZE, 2) / SIZE)),
        ({"rope_scaling": LLAMA3}, _llama3()),
        ({"rope_scaling": YARN, "rope_mode": RopeMode.INLINE}, _yarn()),
    ],
    ids=["none", "inline", "theta", "llama3", "yarn"],
)
def test_position_embeddings(rope: dict[str, Any], frequencies: np.ndarray) -> None:
    machine, x = Machine(**rope), tokens(20)
    machine.call("kv_state_add_sequence", 0)
    found = [machine.step({0: x[:18]}), machine.step({0: x[18:19]}), machine.step({0: x[19:]})]
    close(np.concatenate(found), plain(machine, x, frequencies))


def test_a_sliding_window_keeps_the_first_tokens() -> None:
    """Window 6 with a sink of 2: token i sees tokens 0, 1 and the last 4, at places 0 to 5."""
    machine = Machine(sliding=True, rope_mode=RopeMode.INLINE)
    machine.call("kv_state_add_sequence", 0)
    machine.call("attention_kv_cache_enable_sliding_window_for_seq", 0, 6, 2)
    rng = np.random.default_rng(4)
    qkv = rng.standard_normal((12, HEADS + 2 * KEY_HEADS, SIZE)).astype("float32")
    fused = "attention_kv_cache_attention_with_fused_qkv"
    for i in range(12):
        machine.call("kv_state_begin_forward", [0], [1])
        out = empty((1, HEADS, SIZE), "float32")
        machine.call(fused, 0, 0.3, tensor(qkv[i : i + 1]), out)
        kept = [j for j in range(i + 1) if j < 2 or j > i - 4]
        q, k, v = np.split(qkv[kept].astype("float64"), [HEADS, HEADS + KEY_HEADS], axis=1)
        at = np.arange(len(kept))
        k, v = (np.repeat(p, 2, axis=1) for p in (rotated(k, at, PLAIN), v))
        scores = np.exp(0.3 * np.einsum("hd,jhd->hj", rotated(q, at, PLAIN)[-1], k))
        wanted = np.einsum("hj,jhd->hd", scores / scores.sum(-1, keepdims=True), v)
        close(out.numpy()[0], wanted)
    assert machine.call("attention_kv_cache_get_total_sequence_length") == 6
    assert machine.call("attention_kv_cache_get_num_available_pages") >= 16 - 3


def test_a_step_that_finds_no_room_changes_nothing(machine: Machine) -> None:
    for sequence in (0, 1):
        machine.call("kv_state_add_sequence", sequence)
    machine.step({0: tokens(3)})
    with pytest.raises(ValueError, match="the cache is full"):
        machine.call("kv_state_begin_forward", [0, 1], [4, 70])
    assert machine.call("attention_kv_cache_get_total_sequence_length") == 3
    assert machine.call("attention_kv_cache_get_num_available_pages") == 15
    close(machine.step({0: tokens(4)[3:]})[0], plain(machine, tokens(4))[3])


def test_attention_in_two_parts_is_attention_to_all() -> None:
    """What multi-head latent attention is made of: self, cross, merged by the sums."""
    rng = np.random.default_rng(0)
    k, v = (rng.standard_normal((7, KEY_HEADS, SIZE)).astype("float32") for _ in range(2))
    q = rng.standard_normal((7, HEADS, SIZE)).astype("float32")
    qkv = np.concatenate([q, k, v], axis=1)
    whole = Machine(rope_mode=RopeMode.NONE)
    whole.call("kv_state_add_sequence", 0)

    def out(*shape: int) -> Any:
        return empty(shape, "float32")

    def fused(rows: slice) -> np.ndarray:
        result = out(len(qkv[rows]), HEADS, SIZE)
        whole.call("attention_kv_cache_attention_with_fused_qkv", 0, 0.3, tensor(qkv[rows]), result)
        return result.numpy()

    whole.call("kv_state_begin_forward", [0], [4])
    fused(slice(0, 4))
    whole.call("kv_state_begin_forward", [0], [3])
    new = slice(4, 7)
    parts = [out(3, HEADS, SIZE), out(3, HEADS), out(3, HEADS, SIZE), out(3, HEADS)]
    args = [tensor(rows[new]) for rows in (q, k, v)]
    whole.call("attention_kv_cache_self_attention", 0, 0.3, *args, *parts[:2])
    whole.call("attention_kv_cache_cross_attention", 0, 0.3, args[0], *parts[2:])
    whole.call("attention_kv_cache_merge_attn_output_inplace", *parts)
    np.testing.assert_allclose(parts[0].numpy(), fused(new), rtol=1e-4, atol=1e-5)
    positions = whole.call("attention_kv_cache_get_query_positions").numpy()
    assert positions.tolist() == [4, 5, 6]


@pytest.mark.parametrize("mode", [RopeMode.NONE, RopeMode.INLINE])
def test_a_layer_uses_the_keys_of_another(mode: RopeMode) -> None:
    rng = np.random.default_rng(1)
    qkv = rng.standard_normal((9, HEADS + 2 * KEY_HEADS, SIZE)).astype("float32")
    q, k, v = np.split(qkv, [HEADS, HEADS + KEY_HEADS], axis=1)
    machine = Machine(rope_mode=mode)
    machine.call("kv_state_add_sequence", 0)
    for rows in (slice(0, 5), slice(5, 8), slice(8, 9)):
        count = rows.stop - rows.start
        machine.call("kv_state_begin_forward", [0], [count])
        own, shared = (empty((count, HEADS, SIZE), "float32") for _ in range(2))
        fused = "attention_kv_cache_attention_with_fused_qkv"
        machine.call(fused, 0, 0.3, tensor(qkv[rows]), own)
        given = [tensor(np.ascontiguousarray(part[rows])) for part in (q, k, v)]
        machine.call("attention_kv_cache_attention_with_shared_kv", 0, 0.3, *given, shared)
        machine.call("kv_state_end_forward")
        np.testing.assert_array_equal(shared.numpy(), own.numpy())
    assert machine.call("attention_kv_cache_get_total_sequence_length") == 9


class Fine(nn.Module):
    """Multi-head latent attention in its parts, and a layer that shares another one's keys."""

    def forward(
        self, q: nn.Tensor, k: nn.Tensor, v: nn.Tensor, cache: PagedKVCache, total: int
    ) -> tuple[nn.Tensor, nn.Tensor, nn.Tensor]:
        qkv = nn.op.concat([q, k, v], dim=2)
        whole = cache.attention_with_fused_qkv(0, qkv, HEADS, 0.3)
        own, own_sums = cache.self_attention(0, q, k, v, 0.3)
        past, past_sums = cache.cross_attention(0, q, SIZE, 0.3)
        merged, _ = cache.merge_attn_output_inplace(own, own_sums, past, past_sums)
        shared = cache.attention_with_shared_kv(0, q, k, v, 0.3)
        return whole - merged, whole - shared, cache.get_query_positions(total)


def test_the_parts_of_attention_in_a_model() -> None:
    def rows(heads: int) -> Any:
        return nn.spec.Tensor([1, "s", heads, SIZE], "float32")

    kind = nn.spec.Object(object_type=PagedKVCache)
    spec = {"q": rows(HEADS), "k": rows(KEY_HEADS), "v": rows(KEY_HEADS), "cache": kind}
    module, _ = Fine().export_tvm({"forward": {**spec, "total": int}})
    vm = relax.VirtualMachine(relax.build(module))
    machine, rng = Machine(rope_mode=RopeMode.NONE), np.random.default_rng(5)
    machine.call("kv_state_add_sequence", 0)
    for count, positions in ((4, [0, 1, 2, 3]), (3, [4, 5, 6])):
        machine.call("kv_state_begin_forward", [0], [count])
        q, k, v = (
            rng.standard_normal((1, count, heads, SIZE)).astype("float32")
            for heads in (HEADS, KEY_HEADS, KEY_HEADS)
        )
        merged, shared, at = vm["forward"](q, k, v, machine.cache, ShapeTuple([count]))
        machine.call("kv_state_end_forward")
        np.testing.assert_allclose(merged.numpy(), 0, atol=1e-5)
        np.testing.assert_allclose(shared.numpy(), 0, atol=1e-6)
        assert at.numpy().tolist() == positions


LATENT, ROTATED = 12, 4


class Latent(nn.Module):
    """Multi-head latent attention by compressed rows: keys whose leading part are the values."""

    def create(self, pages: int) -> PagedKVCache:
        sizes = (2, pages * 4, 16, 4, 0, [0, 1], 1, HEADS, 1, LATENT + ROTATED, LATENT)
        return TIRPagedKVCache("mla", *sizes, rope_mode=RopeMode.NONE)

    def forward(self, q: nn.Tensor, kv: nn.Tensor, cache: PagedKVCache) -> tuple[nn.Tensor, Any]:
        cache = cache.append_mla_kv(0, kv)
        out, _ = cache.cross_attention(0, q, LATENT, 0.3)
        return out, cache


def test_latent_attention() -> None:
    size = LATENT + ROTATED
    spec = {
        "q": nn.spec.Tensor(["b", 1, HEADS, size], "float32"),
        "kv": nn.spec.Tensor(["b", 1, 1, size], "float32"),
        "cache": nn.spec.Object(object_type=PagedKVCache),
    }
    module, _ = Latent().export_tvm({"create": {"pages": int}, "forward": spec})
    vm = relax.VirtualMachine(relax.build(module))
    kept = vm["create"](ShapeTuple([4]))
    begin, end = (get_global_func(f"vm.builtin.kv_state_{n}_forward") for n in ("begin", "end"))
    get_global_func("vm.builtin.kv_state_add_sequence")(kept, 0)
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((6, size)).astype("float32")
    for step in range(6):
        q = rng.standard_normal((1, 1, HEADS, size)).astype("float32")
        begin(kept, ShapeTuple([0]), ShapeTuple([1]))
        out, kept = vm["forward"](q, rows[step].reshape(1, 1, 1, size), kept)
        end(kept)
        seen = rows[: step + 1].astype("float64")
        weights = np.exp(0.3 * q[0, 0] @ seen.T)
        wanted = weights / weights.sum(-1, keepdims=True) @ seen[:, :LATENT]
        np.testing.assert_allclose(out.numpy()[0, 0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.call("kv_state_add_sequence", 0), "sequence 0 already"),
        (lambda m: m.call("kv_state_remove_sequence", 5), "no sequence 5; it has 0"),
        (lambda m: m.call("kv_state_popn", 0, 4), "has 3 tokens, 4 cannot be removed"),
        (lambda m: m.call("kv_state_fork_sequence", 0, 1, 9), "has 3 tokens, not 9"),
        (lambda m: m.call("kv_state_begin_forward", [0], [70]), "need 18 more pages of 4, 15"),
        (lambda m: m.step({0: tokens(2)}, tree=[0, 0]), "parent of token 0 is an earlier one"),
        (
            lambda m: m.call("attention_kv_cache_enable_sliding_window_for_seq", 0, 4, 1),
            "without support of sliding windows",
        ),
        (
            lambda m: m.vm["decode"](
                tokens(1).reshape(1, 1, WIDTH), m.cache, list(m.weights.values())
            ),
            "between begin_forward and end_forward",
        ),
    ],
)
def test_what_is_refused(machine: Machine, act: Callable[[Machine], object], message: str) -> None:
    machine.call("kv_state_add_sequence", 0)
    machine.step({0: tokens(3)})
    with pytest.raises(ValueError, match=message):
        act(machine)
    close(machine.step({0: tokens(4)[3:]})[0], plain(machine, tokens(4))[3])


@pytest.mark.parametrize("scaling", [{}, {"rope_type": "gptj"}, LLAMA3, YARN])
def test_rope_of_a_fused_tensor(scaling: dict[str, Any]) -> None:
    class Rope(nn.Module):
        def forward(self, qkv: nn.Tensor, total: int) -> tuple[nn.Tensor, nn.Tensor, nn.Tensor]:
            return llama_rope(qkv, total, 10000.0, 1.0, HEADS, KEY_HEADS, scaling)

    heads = HEADS + 2 * KEY_HEADS
    module, _ = Rope().export_tvm(
        {"forward": {"qkv": nn.spec.Tensor([1, "s", heads, SIZE], "float32"), "total": int}}
    )
    vm = relax.VirtualMachine(relax.build(module))
    x = np.random.default_rng(0).standard_normal((1, 5, heads, SIZE)).astype("float32")
    q, k, v = (part.numpy()[0] for part in vm["forward"](x, ShapeTuple([9])))
    turn = rotations(np.arange(4, 9), SIZE, 10000.0, scaling)
    neighbours = turns_neighbours(scaling)
    wanted = turned_by(x[0, :, :HEADS], *turn, neighbours)
    np.testing.assert_allclose(q, wanted, rtol=1e-4, atol=1e-5)
    wanted = turned_by(x[0, :, HEADS : HEADS + KEY_HEADS], *turn, neighbours)
    np.testing.assert_allclose(k, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(v, x[0, :, HEADS + KEY_HEADS :])
