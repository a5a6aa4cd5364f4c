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

PROGRAMS = {
    "matmul": """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((32, 32), "float32"), W: T.Buffer((32, 32), "float32"),
             D: T.Buffer((32, 32), "float32")):
        C = T.alloc_buffer((32, 32), "float32")
        for i, j, k in T.grid(32, 32, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
        for i, j in T.grid(32, 32):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(2))
""",
    "elementwise": """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((20, 30), "float32"), D: T.Buffer((20, 30), "float32")):
        B = T.alloc_buffer((20, 30), "float32")
        C = T.alloc_buffer((20, 30), "float32")
        for i, j in T.grid(20, 30):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(20, 30):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(B[vi, vj])
        for i, j in T.grid(20, 30):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)
""",
    "blur": """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((18,), "float32"), Y: T.Buffer((14,), "float32")):
        B = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + A[vi + 2]
        for i in range(14):
            with T.block("Y"):
                vi = T.axis.spatial(14, i)
                Y[vi] = B[vi] + B[vi + 2]
""",
    "dynamic": """
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 16), "float32")
        B = T.match_buffer(b, (n, 16), "float32")
        for i, j in T.grid(n, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
""",
}

TILE = """
i, j, k = sch.get_loops(sch.get_sblock("C"))
i0, i1 = sch.split(i, [None, 8])
j0, j1 = sch.split(j, [None, 4])
k0, k1 = sch.split(k, [8, None])
sch.reorder(i0, j0, k0, i1, j1, k1)
"""

GPU = """
block = sch.get_sblock("C")
i, j, k = sch.get_loops(block)
local = sch.cache_write(block, 0, "local")
by, vy, ty, yi = sch.split(i, [None, 2, 2, 2])
bx, vx, tx, xi = sch.split(j, [None, 2, 2, 2])
k0, k1 = sch.split(k, [None, 8])
sch.reorder(by, bx, vy, vx, ty, tx, k0, k1, yi, xi)
for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (vy, "vthread.y"), (vx, "vthread.x"),
                   (ty, "threadIdx.y"), (tx, "threadIdx.x")):
    sch.bind(loop, axis)
sch.reverse_compute_at(local, tx)
for number in (0, 1):
    copy = sch.cache_read(block, number, "shared")
    sch.compute_at(copy, k0)
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    _, a, b, c = sch.split(fused, [None, 2, 2, 4])
    sch.bind(a, "threadIdx.y")
    sch.bind(b, "threadIdx.x")
    sch.vectorize(c)
sch.unroll(k1)
sch.decompose_reduction(block, k0)
"""

CASES = {
    "gpu_matmul": ("matmul", GPU),
    "split": ("matmul", 'sch.split(sch.get_loops("C")[0], [2, None, 4])'),
    "split_predicate": ("elementwise", 'sch.split(sch.get_loops("C")[1], [None, 8])'),
    "split_three_predicate": ("elementwise", 'sch.split(sch.get_loops("C")[0], [2, 3, 4])'),
    "split_without_units": (
        "elementwise",
        'sch.split(sch.get_loops("C")[0], [1, None, 1], preserve_unit_iters=False)',
    ),
    "split_dynamic": ("dynamic", 'sch.split(sch.get_loops("B")[0], [None, 32])'),
    "split_twice": (
        "matmul",
        'a, b = sch.split(sch.get_loops("C")[0], [None, 8])\nsch.split(b, [2, None])',
    ),
    "fuse": ("matmul", 'sch.fuse(*sch.get_loops("D"))'),
    "fuse_three": ("matmul", 'sch.fuse(*sch.get_loops("C")[:2])'),
    "fuse_then_split": ("matmul", 'sch.split(sch.fuse(*sch.get_loops("D")), [None, 32])'),
    "fuse_then_split_odd": ("matmul", 'sch.split(sch.fuse(*sch.get_loops("D")), [None, 4, 8])'),
    "reorder": ("matmul", 'i, j, k = sch.get_loops("C")\nsch.reorder(k, i)'),
    "tile": ("matmul", TILE),
    "kinds": ("matmul", TILE + "sch.parallel(i0)\nsch.vectorize(j1)\nsch.unroll(k1)\n"),
    "bind": (
        "elementwise",
        'i, j = sch.get_loops("C")\nsch.bind(i, "blockIdx.x")\nsch.bind(j, "threadIdx.x")',
    ),
    "annotate": (
        "elementwise",
        """
i, j = sch.get_loops("C")
sch.annotate(i, "pragma", 4)
sch.annotate(sch.get_sblock("C"), "note", "x")
""",
    ),
    "compute_inline": ("elementwise", 'sch.compute_inline("B")\nsch.compute_inline("C")'),
    "inline_stencil": ("blur", 'sch.compute_inline("B")'),
    "reverse_inline": ("elementwise", 'sch.reverse_compute_inline("D")'),
    "compute_at": ("elementwise", 'sch.compute_at("B", sch.get_loops("C")[0])'),
    "compute_at_inner": ("elementwise", 'sch.compute_at("B", sch.get_loops("C")[1])'),
    "compute_at_units": ("elementwise", 'sch.compute_at("B", sch.get_loops("C")[0], True)'),
    "compute_at_tile": (
        "matmul", TILE + 'a = sch.cache_read("C", 0, "shared")\nsch.compute_at(a, k0)\n'
    ),
    "compute_at_stencil": (
        "blur", 'i0, i1 = sch.split(sch.get_loops("Y")[0], [None, 7])\nsch.compute_at("B", i0)'
    ),
    "reverse_compute_at": ("matmul", TILE + 'sch.reverse_compute_at("D", j0)'),
    "cache": (
        "matmul",
        """
sch.cache_read("C", 0, "shared")
sch.cache_read("C", 1, "shared.dyn")
sch.cache_write("C", 0, "local")
""",
    ),
    "cache_output": ("matmul", 'sch.cache_write("D", 0, "global")'),
    "cache_then_at": (
        "matmul",
        TILE + 'w = sch.cache_write("C", 0, "local")\nsch.reverse_compute_at(w, j0)\n',
    ),
    "decompose": (
        "matmul", 'sch.decompose_reduction("C", sch.get_loops("C")[1])'
    ),
    "decompose_tile": ("matmul", TILE + 'sch.decompose_reduction("C", k0)'),
    "rfactor": (
        "matmul",
        'k0, k1 = sch.split(sch.get_loops("C")[2], [None, 4])\nsch.rfactor(k1, 0)',
    ),
    "rfactor_outer": (
        "matmul",
        'k0, k1 = sch.split(sch.get_loops("C")[2], [None, 4])\nsch.rfactor(k0, 2)',
    ),
    "blockize": ("matmul", TILE + "sch.blockize(i1)"),
    "blockize_inner": ("matmul", TILE + "sch.blockize(j1)"),
    "blockize_all_reduction": ("matmul", 'sch.blockize(sch.get_loops("C")[2])'),
    "blockize_elementwise": (
        "elementwise",
        'sch.blockize(sch.split(sch.get_loops("C")[1], [None, 6])[1])',
    ),
    "blockize_without_units": (
        "elementwise",
        'sch.blockize(sch.split(sch.get_loops("C")[1], [None, 6])[1], preserve_unit_iters=False)',
    ),
    "blockize_whole": ("elementwise", 'sch.blockize(sch.get_loops("C")[0])'),
    "reorder_iter_vars": ("matmul", 'sch.reorder_block_iter_var(sch.get_sblock("C"), [2, 0, 1])'),
    "reindex_read": ("matmul", 'sch.reindex("C", ("read", 0))'),
    "reindex_write": ("matmul", 'sch.reindex("C", ("write", 0))'),
    "reindex_stencil": ("elementwise", 'sch.reindex("C", ("read", 0))'),
    "layout_parameter": (
        "matmul", 'sch.transform_layout("C", ("read", 0), lambda i, j: (j // 8, i, j % 8))'
    ),
    "layout_transpose": (
        "matmul", 'sch.transform_layout("C", ("write", 0), lambda i, j: (j, i))'
    ),
    "layout_blocked": (
        "elementwise",
        'sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j // 6, i % 4, j % 6])',
    ),
    "pad_einsum": ("matmul", 'sch.pad_einsum("C", [5, 1, 3])'),
    "pad_einsum_reduction": ("matmul", 'sch.pad_einsum("C", [1, 1, 5])'),
    "block_layout_fuse": (
        "elementwise", 'sch.transform_block_layout("C", lambda i, j: (i * 30 + j,))'
    ),
    "block_layout_split": (
        "elementwise", 'sch.transform_block_layout("C", lambda i, j: (i // 4, j, i % 4))'
    ),
    "block_layout_reduction": (
        "matmul", 'sch.transform_block_layout("C", lambda i, j, k: (i * 32 + j, k))'
    ),
    "merge": ("elementwise", 'sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])'),
    "unsafe_set_dtype": ("elementwise", 'sch.unsafe_set_dtype("B", 0, "float16")'),
    "unit_loop": ("elementwise", 'sch.add_unit_loop(sch.get_sblock("C"))'),
    "set_scope": ("elementwise", 'sch.set_scope("B", 0, "shared")'),
    "storage_align": ("elementwise", 'sch.storage_align("B", 0, axis=0, factor=32, offset=1)'),
}  # fmt: skip

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
    assert normal(sch.mod.script()) == normal(theirs)


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
