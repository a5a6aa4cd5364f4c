"""Parts of functions that a library computes, found by patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.relax.split_by_pattern import MatchResult
from relax_mlir.script import from_source
from relax_mlir.script import tir as T

Split = relax.transform.SplitCallTIRByPattern


@T.prim_func
def product(a: T.handle, b: T.handle, c: T.handle):
    m, n, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (m, k), "float32")
    B = T.match_buffer(b, (k, n), "float32")
    C = T.match_buffer(c, (m, n), "float32")
    for i, j, l in T.grid(m, n, k):
        with T.block("c"):
            vi, vj, vl = T.axis.remap("SSR", [i, j, l])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]


MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def dense(x: T.Buffer((3, 5), "float32"), w: T.Buffer((5, 4), "float32"),
              bias: T.Buffer((4,), "float32"), y: T.Buffer((3, 4), "float32")):
        acc = T.alloc_buffer((3, 4), "float32")
        for i, j, k in T.grid(3, 4, 5):
            with T.block("acc"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    acc[vi, vj] = T.float32(0)
                acc[vi, vj] = acc[vi, vj] + x[vi, vk] * w[vk, vj]
        for i, j in T.grid(3, 4):
            with T.block("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(acc[vi, vj] + bias[vj], T.float32(0))

    @T.prim_func(private=True)
    def bare(x: T.Buffer((3, 4), "float32"), w: T.Buffer((4, 3), "float32"),
             y: T.Buffer((3, 3), "float32")):
        for i, j, k in T.grid(3, 3, 4):
            with T.block("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vk, vj]

    @R.function
    def main(x: R.Tensor((3, 5), "float32"), w: R.Tensor((5, 4), "float32"),
             b: R.Tensor((4,), "float32"), v: R.Tensor((4, 3), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.dense, (x, w, b), out_sinfo=R.Tensor((3, 4), "float32"))
            z = R.call_tir(cls.bare, (y, v), out_sinfo=R.Tensor((3, 3), "float32"))
            R.output(z)
        return z
"""

SOURCE = """
#include <tvm/ffi/c_api.h>

static DLTensor* tensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (DLTensor*)value->v_ptr;
  return (DLTensor*)((char*)value->v_obj + sizeof(TVMFFIObject));
}

extern "C" int __tvm_ffi_{global_symbol}(void* self, const TVMFFIAny* args, int32_t count,
                                         TVMFFIAny* result) {
  DLTensor *a = tensor(args), *b = tensor(args + 1), *c = tensor(args + 2);
  int64_t m = c->shape[0], n = c->shape[1], k = a->shape[1];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += ((float*)a->data)[i * k + l] * ((float*)b->data)[l * n + j];
      ((float*)c->data)[i * n + j] = sum;
    }
  return 0;
}
"""


def _module() -> IRModule:
    module = from_source(MODULE)
    assert isinstance(module, IRModule)
    return module


def _results(module: IRModule) -> np.ndarray:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype("float32") for s in [(3, 5), (5, 4), (4,), (4, 3)]]
    return relax.VirtualMachine(relax.build(module))["main"](*given).numpy()


def test_products_in_a_library() -> None:
    seen: list[tuple[list[int], list[str]]] = []

    def codegen(matches: Sequence[MatchResult]) -> list[Any]:
        (match,) = matches
        seen.append((match.symbol_values, [buffer.name for buffer in match.matched_buffers]))
        return [SOURCE, 1, match.matched_buffers[:2]]

    module = _module()
    split = Split([product], codegen)(module)
    assert seen == [([3, 4, 5], ["x", "w", "acc"]), ([3, 3, 4], ["x", "w", "y"])]
    text = split.script()
    assert re.search(r'R.call_dps_packed\("dense_library_[0-9a-f]{8}", \(x, w\)', text)
    assert "cls.dense_epilogue" in text and "bare_library_" in text
    assert len(split.get_attr("c_source")) == 2
    assert "def dense(" not in text and "def bare(" not in text
    assert "acc: T.Buffer" in text and "x: T.Buffer" not in text
    np.testing.assert_allclose(_results(split), _results(module), rtol=1e-5)


def test_what_is_not_described_or_not_wanted_stays() -> None:
    module = _module()

    def refuse(matches: Sequence[MatchResult]) -> list[Any]:
        return ["", 0, []]

    assert Split([product], refuse)(module).script() == module.script()
    other = MODULE.replace("x[vi, vk] * w[vk, vj]", "x[vi, vk] - w[vk, vj]")
    changed = from_source(other)
    assert isinstance(changed, IRModule)
    assert Split([product], refuse)(changed).script() == changed.script()


def test_a_library_is_given_parameters() -> None:
    def wrong(matches: Sequence[MatchResult]) -> list[Any]:
        return [SOURCE, 1, matches[0].matched_buffers]

    with pytest.raises(PassError, match="'dense': the library is given parameters"):
        Split([product], wrong)(_module())
