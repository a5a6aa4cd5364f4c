"""TVM 0.27's public names are there, but for those of a list that says why."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import cache

import pytest

LIST = """
import importlib, json, sys
found = {}
for name in sys.argv[1:]:
    module = importlib.import_module(f"tvm.{name}")
    package = f"tvm.{name}"
    found[name] = [
        key for key, value in vars(module).items()
        if not key.startswith("_") and str(getattr(value, "__module__", "")).startswith(package)
    ]
print(json.dumps(found))
"""

_SEVERAL_DEVICES = "for several devices that share memory"
_LIBRARY = "kernels of a vendor's library"
_KERNELS = "makes kernels for TVM's cache; ours rotates and attends by itself"
_WAY_DOWN = "a step on TVM's way to LLVM or C, which MLIR's dialects go otherwise"
_HARDWARE = "for memories or instructions of one vendor's accelerator"
_REMOTE = "measures on other machines, over TVM's RPC: there a user's own PyRunner goes"
_NO_LAYOUTS = "rewrites weights' layouts, which compiling chooses here before tuning"
_INTRINSICS = "tiles for tensor intrinsics, which default schedules use and rules do not yet"
_INTERNAL = "a part of how TVM is built that programs do not name"
_BITS = "packs numbers of few bits, which Relax does not have"
_WINOGRAD = "Winograd's transforms are made from NHWC, and chosen by the compiler"
_BLOCKS = "channels in blocks are the compiler's choice; conv2d_NCHWc is there"
_RECURRENT = "importers write recurrent layers as Relax"
_QUANTIZED = "quantisation is relax.op.quantize and dequantize"
_EITHER = "topi's own name runs on a GPU as well"

LEFT_OUT: dict[str, dict[str, str]] = {
    "topi": {
        **dict.fromkeys(
            "InvalidShapeError binary_search const_vector dyn_tile get_const_tuple make_idx "
            "within_index".split(),
            _INTERNAL,
        ),
        "fixed_point_multiply_per_axis": _QUANTIZED,
        "sparse_reshape": "sparse tensors are not of Relax; sparse_to_dense is there",
    },
    "topi.nn": {
        **dict.fromkeys(
            "Workload conv2d_transpose_nchw_preprocess conv3d_transpose_ncdhw_preprocess "
            "declaration_conv2d_transpose_impl declaration_conv3d_transpose_impl get_pad_tuple "
            "get_pad_tuple1d get_pad_tuple3d get_pad_tuple_generic get_padded_shape "
            "softmax_common".split(),
            _INTERNAL,
        ),
        **dict.fromkeys(
            "binarize_pack binary_dense bitpack bitserial_conv2d_nchw bitserial_conv2d_nhwc "
            "bitserial_dense".split(),
            _BITS,
        ),
        **dict.fromkeys(
            "conv2d_winograd_nchw conv2d_winograd_nchw_without_weight_transform "
            "conv2d_winograd_nhwc_without_weight_transform conv2d_winograd_weight_transform "
            "conv3d_winograd_weight_transform winograd_transform_matrices".split(),
            _WINOGRAD,
        ),
        **dict.fromkeys(
            "conv2d_NCHWc_OIHWo conv2d_NCHWc_int8 dense_pack depthwise_conv2d_NCHWc".split(),
            _BLOCKS,
        ),
        **dict.fromkeys(("simulated_dequantize", "simulated_quantize"), _QUANTIZED),
        "lstm": _RECURRENT,
    },
    "topi.image": dict.fromkeys(
        "can_convert_multiply_to_intdiv get_1d_indices get_1d_pixel get_2d_indices get_2d_pixel "
        "get_3d_indices get_3d_pixel get_closest_index get_inx".split(),
        _INTERNAL,
    ),
    "topi.vision": dict.fromkeys(
        "binary_search collect_selected_indices collect_selected_indices_and_scores "
        "run_all_class_nms".split(),
        _INTERNAL,
    ),
    "topi.gpu": {
        **dict.fromkeys(("argsort_thrust", "sort_thrust", "topk_thrust"), _LIBRARY),
        **dict.fromkeys(("scatter_elements", "scatter_nd", "searchsorted"), _EITHER),
        "sort_ir": _INTERNAL,
    },
    "relax.transform": {
        "IPCAllReduceRewrite": _SEVERAL_DEVICES,
        "LowerGPUIPCAllocStorage": _SEVERAL_DEVICES,
    },
    "relax.analysis": {},
    "relax.dpl": {"register_df_node": _INTERNAL},
    "relax.utils": {},
    "relax.training": {},
    "relax.frontend.nn": dict.fromkeys(("OutType", "add_extern"), _INTERNAL),
    "relax.frontend.nn.llm.kv_cache": {"FlashInferPagedKVCache": _LIBRARY},
    "relax.frontend.nn.llm.position_embedding": dict.fromkeys(
        "llama4_rope_with_position_map llama_rope_with_position_map yarn_find_correction_dim "
        "yarn_find_correction_range".split(),
        _KERNELS,
    ),
    **{
        f"s_tir.meta_schedule.{part}": {}
        for part in (
            "arg_info", "builder", "cost_model", "database", "extracted_task", "measure_callback",
            "mutator", "profiler", "relax_integration", "search_strategy", "space_generator",
            "task_scheduler", "tir_integration", "trace_apply", "tune", "tune_context",
        )
    },
    "s_tir.meta_schedule.feature_extractor": {"RandomFeatureExtractor": _INTERNAL},
    "s_tir.meta_schedule.postproc": {
        "DisallowAsyncStridedMemCopy": _HARDWARE,
        "RewriteLayout": _NO_LAYOUTS,
        "RewriteTensorize": _INTRINSICS,
        "VerifyVTCMLimit": _HARDWARE,
    },
    "s_tir.meta_schedule.runner": dict.fromkeys(("RPCConfig", "RPCRunner"), _REMOTE),
    "s_tir.meta_schedule.schedule_rule": dict.fromkeys(
        "MultiLevelTilingTensorCore MultiLevelTilingWideVector MultiLevelTilingWithIntrin".split(),
        _INTRINSICS,
    ),
    "tirx.transform": dict.fromkeys(
        "BF16ComputeLegalize BF16StorageLegalize CommonSubexprElim ConvertSSA FP8ComputeLegalize "
        "FP8StorageLegalize FlattenBuffer ForceNarrowIndexToInt32 HoistExpressionConfig "
        "HoistIfThenElseConfig HoistedConditionals HoistedLetBindings InlinePrivateFunctions "
        "LowerIntrin LowerTIRx LowerTIRxOpaque LowerTVMBuiltin LowerWarpMemory NarrowDataType "
        "PointerValueTypeRewrite RemoveAssume RemoveNoOp RemoveNoOpConfig SkipAssert "
        "SplitHostDevice StmtSimplify StmtSimplifyConfig StorageRewrite TilePrimitiveDispatch "
        "UnrollLoop UnrollLoopConfig VectorizeLoop VerifyMemory".split(),
        _WAY_DOWN,
    ),
    "s_tir.transform": {
        **dict.fromkeys(
            "AnnotateIrregularLoop CanonicalizeLoop ConvertBlocksToOpaque ConvertSSA "
            "DecorateDeviceScope HoistExpression HoistIfThenElse InjectDoubleBuffer "
            "InjectDoubleBufferConfig "
            "InstrumentBoundCheckers InstrumentProfileIntrinsics LiftThreadBinding LoopPartition "
            "LoopPartitionConfig LowerMatchBuffer LowerOpaqueBlock LowerThreadAllreduce "
            "MergeSharedMemoryAllocations RemoveStoreUndef RemoveWeightLayoutRewriteBlock "
            "RenormalizeSplitPattern RewriteUnsafeSelect StmtSimplify ThreadSync "
            "UseAssumeToReduceBranches ManifestSharedMemoryLocalStage".split(),
            _WAY_DOWN,
        ),
        **dict.fromkeys(
            "InferFragment InjectPTXAsyncCopy InjectPTXLDG32 InjectPermutedLayout LowerAsyncDMA "
            "LowerAutoCopy LowerVtcmAlloc TransformMmaBufferLayout VerifyVTCMLimit".split(),
            _HARDWARE,
        ),
    },
}


@cache
def _names() -> dict[str, list[str]]:
    command = [sys.executable, "-c", LIST, *LEFT_OUT]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": ""}, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.tvm
@pytest.mark.slow
@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_has_a_reason(name: str) -> None:
    module = importlib.import_module(f"relax_mlir.{name}")
    theirs = _names()[name]
    assert theirs
    missing = {key for key in theirs if not hasattr(module, key)}
    assert missing == set(LEFT_OUT[name])
