"""The same schedules through TVM: the same loops and blocks after every case, as text.

TVM runs all cases in one process of its own.  Its spellings (`T.sblock`) are normalised to ours.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from functools import cache

import pytest

from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule
from tests.exec.schedule_tvm_cases import CASES, PROGRAMS

_FUSED = "ax0_ax1_fused_0 * 16 + ax0_ax1_fused_1 * 8 + ax0_ax1_fused_2 * 4 + ax0_ax1_fused_3"
# Where we simplify further than TVM, which does not use the loops' ranges there: (TVM's, ours).
SIMPLER = {
    "split_three_predicate": [("(i_0 * 3 + i_1) * 4 + i_2 < 20", "i_0 * 12 + i_1 * 4 + i_2 < 20")],
    "inline_stencil": [("vi + 2 + 2", "vi + 4")],
    "fuse_then_split": [
        (
            """vi = T.axis.spatial(32, (i_j_fused_0 * 32 + i_j_fused_1) // 32)
                vj = T.axis.spatial(32, (i_j_fused_0 * 32 + i_j_fused_1) % 32)""",
            'vi, vj = T.axis.remap("SS", [i_j_fused_0, i_j_fused_1])',
        )
    ],
    "gpu_matmul": [
        (f"({_FUSED}) // 8", "ax0_ax1_fused_0 * 2 + ax0_ax1_fused_1"),
        (f"({_FUSED}) % 8", "ax0_ax1_fused_2 * 4 + ax0_ax1_fused_3"),
    ],
    "fuse_then_split_odd": [
        ("(i_j_fused_0 * 32 + i_j_fused_1 * 8 + i_j_fused_2) // 32", "i_j_fused_0"),
        (
            "(i_j_fused_0 * 32 + i_j_fused_1 * 8 + i_j_fused_2) % 32",
            "i_j_fused_1 * 8 + i_j_fused_2",
        ),
    ],
}

_GAP = "v_axis0 == 2 and 4 <= v_axis2", "20 <= v_axis0 * 8 + v_axis2"
SIMPLER |= {
    # TVM writes where the padding is as a condition on the new indices, we on the old one.
    "layout_padded": [_GAP],
    "layout_padded_read": [_GAP],
    # The buffer between the reduction and its epilogue is gone; TVM leaves it.
    "epilogue_bias": [("C = T.sblock_alloc_buffer((32, 32))\n", "")],
    # TVM gives the index buffers a stride; of one dimension, whatever their rank.
    "cache_index": [(', "int32", strides=(1,))', ', "int32")')],
    # TVM's copies use the block's variables outside of it.
    "cache_inplace": [
        ("vi = T.int32()\n", ""),
        ("vj = T.int32()\n", ""),
        ("vi + ax0", "i + ax0"),
        ("vj + ax1", "j + ax1"),
    ],
    # Only the rows that are read are copied.
    "resize_cache_read": [
        ("T.grid(1, 3, 40, 40)", "T.grid(1, 3, 39, 40)"),
        (
            'v0, v1, v2, v3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])',
            """v0, v1 = T.axis.remap("SS", [ax0, ax1])
            v2 = T.axis.spatial(40, ax2)
            v3 = T.axis.spatial(40, ax3)""",
        ),
    ],
}

REGIONS_DIFFER = {
    **dict.fromkeys(
        ("partition", "partition_rest", "partition_spatial"),
        "TVM declares that the blocks around the parts access nothing; we, what they access",
    ),
    "cache_index": "TVM does not declare that the index buffers are read",
    "rfactor_argmax": "declared in another order",
    "argmax_decompose": "declared in another order",
    "blockize_merged": "declared in another order, and a size that TVM does not simplify",
    "blockize_two": "declared in another order, and a size that TVM does not simplify",
    "blur_layout": "the size is written as another sum",
}
"""The loops and blocks are the same, what blocks declare to access is written otherwise."""

_DRIVER = """
import json, sys
from tvm import s_tir
from tvm.script import from_source, ir as I, tirx as T
programs, cases = json.load(sys.stdin)
spellings = {"T.block": "T.sblock", "T.alloc_buffer": "T.sblock_alloc_buffer",
             "@T.prim_func": "@T.prim_func(s_tir=True)"}
out = {}
for name, (program, code) in cases.items():
    source = programs[program]
    for ours, theirs in spellings.items():
        source = source.replace(ours, theirs)
    try:
        sch = s_tir.Schedule(from_source(source, {"I": I, "T": T}))
        exec(code, {"sch": sch})
        out[name] = sch.mod.script()
    except Exception as error:
        out[name] = str(error)
json.dump(out, sys.stdout)
"""


@cache
def tvm_results() -> dict[str, str]:
    run = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input=json.dumps([PROGRAMS, CASES]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def normal(text: str) -> list[str]:
    """The lines of a module in one spelling, from the parameters of the function on."""
    replaced = [
        (r"T\.sblock_alloc_buffer", "T.alloc_buffer"),
        (r"T\.sblock_attr", "T.block_attr"),
        (r"T\.sblock", "T.block"),
        (r"@T\.prim_func\(.*\)", "@T.prim_func"),
        (r"T\.func_attr\(\{\}\)", ""),
        (r"T\.let\[(.*?)\]", r"\1"),
        (r"T\.bool\(True\)", "True"),
        (r'T\.func_attr\(\{"tir.noalias": True\}\)', ""),
    ]
    for pattern, new in replaced:
        text = re.sub(pattern, new, text)
    lines = [line.strip() for line in text.splitlines()]
    starts = [n for n, line in enumerate(lines) if line.startswith("def main")]
    assert starts, text
    start = starts[0]
    return [line for line in lines[start + 1 :] if line and "T.match_buffer" not in line
            and "T.int32" not in line and "TypeVar" not in line]  # fmt: skip


@pytest.mark.tvm
@pytest.mark.parametrize("name", CASES)
def test_same_loops_as_tvm(name: str) -> None:
    program, code = CASES[name]
    module = from_source(PROGRAMS[program], {"I": I, "T": T})
    sch = Schedule(module, debug_mask="all")
    exec(code, {"sch": sch})
    theirs = tvm_results()[name]
    for old, new in SIMPLER.get(name, ()):
        assert old in theirs
        theirs = theirs.replace(old, new)
    left_out = ("T.reads", "T.writes") if name in REGIONS_DIFFER else ()
    ours, wanted = (
        [line for line in normal(text) if not line.startswith(left_out)]
        for text in (sch.mod.script(), theirs)
    )
    assert ours == wanted


_SIGNATURES = """
import inspect, json, sys
from tvm import s_tir
methods = {n: getattr(s_tir.Schedule, n) for n in dir(s_tir.Schedule) if not n.startswith("_")}
skipped = {"AnnotationValueT", "PrimAnnotationValueT", "id_", "is_", "same_as"}  # no primitives
json.dump({n: list(inspect.signature(m).parameters) if callable(m) else None
           for n, m in methods.items() if n not in skipped}, sys.stdout)
"""


@pytest.mark.tvm
def test_every_public_method_takes_the_arguments_of_tvms() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _SIGNATURES], capture_output=True, text=True, timeout=60, check=True
    )
    for name, parameters in json.loads(run.stdout).items():
        assert hasattr(Schedule, name) or name == "state", name
        if parameters is not None:
            own = list(inspect.signature(getattr(Schedule, name)).parameters)
            ours = [p.rstrip("_") for p in own]
            assert ours[: len(parameters)] == parameters or name in ("get", "get_sref"), name
