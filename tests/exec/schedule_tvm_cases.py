"""Programs and schedules that TVM and this project run alike: text, for both of them to execute."""

from pathlib import Path

INPUTS = Path(__file__).parents[1] / "lit" / "tir" / "schedule" / "Inputs"


def _module(source: str) -> str:
    """A file's module without its imports, which are this project's and not TVM's."""
    return source[source.index("@I.ir_module") :]


PROGRAMS = {path.stem: _module(path.read_text()) for path in sorted(INPUTS.glob("*.py"))}
"""The programs that the lit tests of single primitives name too."""

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
    # -- primitives beyond those above
    "partition": ("elementwise", 'sch.loop_partition(sch.get_loops("C")[1], [None, 6])'),
    "partition_rest": ("elementwise", 'sch.loop_partition(sch.get_loops("C")[0], [4, 6])'),
    "partition_spatial": ("matmul", 'sch.loop_partition(sch.get_loops("C")[0], [8, None])'),
    "reindex_cache_read": (
        "matmul", 'sch.reindex_cache_read("C", 0, "shared", lambda i, j, k: (k, i))'
    ),
    "reindex_cache_read_tiled": (
        "matmul", 'sch.reindex_cache_read("D", 0, "shared", lambda i, j: (i // 4, j, i % 4))'
    ),
    "reindex_cache_read_split": (
        "matmul",
        """
sch.split(sch.get_loops("C")[2], [None, 4])
sch.reindex_cache_read("C", 0, "shared", lambda i, j, k: (k // 4, i, k % 4))
""",
    ),
    "reindex_cache_write": (
        "matmul", 'sch.reindex_cache_write("D", 0, "shared", lambda i, j: (j, i))'
    ),
    "reindex_cache_write_reduction": (
        "matmul", 'sch.reindex_cache_write("C", 0, "shared", lambda i, j, k: (j, i))'
    ),
    "cache_inplace": ("inplace", 'sch.cache_inplace("B", 0, "local")'),
    "cache_index": ("resize", 'sch.cache_index("D", "global", 0)'),
    "decompose_padding": ("pad", 'sch.decompose_padding("D", sch.get_loops("D")[0])'),
    "decompose_padding_inner": ("pad", 'sch.decompose_padding("D", sch.get_loops("D")[1])'),
    "rolling": (
        "pool", 'sch.compute_at("C", sch.get_loops("D")[0])\nsch.rolling_buffer("C", 0)'
    ),
    "rolling_tiles": (
        "pool",
        """
i, j, c, a, b = sch.get_loops("D")
io, ii = sch.split(i, [None, 4])
jo, ji = sch.split(j, [None, 4])
sch.reorder(io, jo, ii, ji)
sch.compute_at("C", jo)
sch.rolling_buffer("C", 0)
""",
    ),
    "compute_at_pool": (
        "pool", 'io, ii = sch.split(sch.get_loops("D")[0], [None, 4])\nsch.compute_at("C", ii)'
    ),
    "hide_access": ("matmul", 'sch.unsafe_hide_buffer_access(sch.get_sblock("C"), "read", [0])'),
    "annotate_read": (
        "elementwise",
        """
sch.annotate_buffer_access(sch.get_sblock("C"), 0, "read",
                           lambda vi, vj: ((vi - 1, vi + 2), (vj, vj + 1)))
""",
    ),
    "annotate_write": (
        "elementwise",
        """
sch.annotate_buffer_access(sch.get_sblock("C"), 0, "write", lambda vi, vj: [vi, (vj - 1, vj + 1)])
""",
    ),
    "epilogue_bias": ("bias", 'sch.fuse_reduction_epilogue("C", "D")'),
    "read_at": (
        "matmul",
        """
i, j, k = sch.get_loops("C")
io, ii = sch.split(i, [None, 8])
sch.reorder(io, k, ii, j)
sch.read_at(io, sch.get_sblock("C"), 0, "shared")
""",
    ),
    "read_and_write_at": (
        "matmul",
        TILE.replace("[8, None]", "[None, 8]")
        + """
sch.read_at(k0, sch.get_sblock("C"), 0, "shared.dyn")
sch.write_at(j0, sch.get_sblock("C"), 0, "shared.dyn")
""",
    ),
    "rfactor_argmax": (
        "argmax",
        'k0, k1 = sch.split(sch.get_loops("argmax")[1], [None, 32])\nsch.rfactor(k0, 0)',
    ),
    "blockize_merged": (
        "elementwise",
        """
sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
sch.blockize([sch.get_sblock("B"), sch.get_sblock("C")])
""",
    ),
    "blockize_two": (
        "elementwise",
        """
b, c = sch.get_sblock("B"), sch.get_sblock("C")
sch.compute_at(b, sch.get_loops(c)[0])
sch.blockize([b, c])
""",
    ),
    "layout_padded": (
        "elementwise",
        """
sch.transform_layout("B", ("write", 0), lambda i, j: [i // 8, j, i % 8], pad_value=0.0)
""",
    ),
    "layout_padded_read": (
        "elementwise",
        """
sch.transform_layout("C", ("read", 0), lambda i, j: [i // 8, j, i % 8], pad_value=0.0)
""",
    ),
    "vectorize_init": (
        "matmul",
        """
i, j, k = sch.get_loops("C")
sch.reorder(i, k, j)
sch.vectorize(sch.get_loops(sch.decompose_reduction("C", k))[-1])
""",
    ),
    "reorder_update": (
        "matmul",
        """
sch.decompose_reduction("C", sch.get_loops("C")[0])
i, j, k = sch.get_loops("C_update")
sch.reorder(k, i, j)
""",
    ),
    # -- more of the common ones, on other programs
    "pool_split": ("pool", 'sch.split(sch.get_loops("C")[2], [None, 8])'),
    "pool_fuse": ("pool", 'sch.fuse(*sch.get_loops("C")[:2])'),
    "pool_reorder": ("pool", 'i, j, c, a, b = sch.get_loops("C")\nsch.reorder(a, b, c)'),
    "pool_cache_read": ("pool", 'sch.cache_read("D", 0, "shared")'),
    "pool_cache_write": ("pool", 'sch.cache_write("C", 0, "local")'),
    "pool_decompose": ("pool", 'sch.decompose_reduction("C", sch.get_loops("C")[3])'),
    "pool_decompose_outer": ("pool", 'sch.decompose_reduction("C", sch.get_loops("C")[0])'),
    "pool_compute_at": ("pool", 'sch.compute_at("C", sch.get_loops("D")[2])'),
    "pool_blockize": ("pool", 'sch.blockize(sch.get_loops("C")[2])'),
    "pool_reindex": ("pool", 'sch.reindex("C", ("write", 0))'),
    "pool_layout": (
        "pool", 'sch.transform_layout("C", ("write", 0), lambda i, j, c: (c // 4, i, j, c % 4))'
    ),
    "pool_kinds": (
        "pool",
        'i, j, c, a, b = sch.get_loops("C")\nsch.parallel(i)\nsch.vectorize(c)\nsch.unroll(b)',
    ),
    "resize_split": ("resize", 'sch.split(sch.get_loops("D")[2], [None, 3])'),
    "resize_fuse": ("resize", 'sch.fuse(*sch.get_loops("D")[2:])'),
    "resize_cache_read": ("resize", 'sch.cache_read("D", 0, "shared")'),
    "resize_reindex": ("resize", 'sch.reindex("D", ("read", 0))'),
    "pad_split": ("pad", 'sch.split(sch.get_loops("D")[1], [None, 4])'),
    "pad_vectorize": ("pad", 'sch.vectorize(sch.split(sch.get_loops("D")[1], [None, 4])[1])'),
    "pad_cache_write": ("pad", 'sch.cache_write("D", 0, "local")'),
    "bias_reverse_compute_at": ("bias", 'sch.reverse_compute_at("D", sch.get_loops("C")[0])'),
    "bias_reverse_units": ("bias", 'sch.reverse_compute_at("D", sch.get_loops("C")[1], True)'),
    "bias_cache_reads": (
        "bias", 'sch.cache_read("D", 1, "local")\nsch.cache_read("C", 1, "shared")'
    ),
    "bias_pad_einsum": ("bias", 'sch.pad_einsum("C", [7, 1, 1])'),
    "inplace_split": ("inplace", 'sch.split(sch.get_loops("D")[0], [None, 4])'),
    "inplace_unroll": ("inplace", 'sch.unroll(sch.get_loops("B")[1])'),
    "argmax_split": ("argmax", 'sch.split(sch.get_loops("argmax")[1], [None, 16])'),
    "argmax_parallel": ("argmax", 'sch.parallel(sch.get_loops("argmax")[0])'),
    "argmax_decompose": ("argmax", 'sch.decompose_reduction("argmax", sch.get_loops("argmax")[1])'),
    "sampled_tile": (
        "matmul",
        """
i = sch.get_loops("C")[0]
sch.split(i, sch.sample_perfect_tile(i, 3, decision=[2, 4, 4]))
""",
    ),
    "sampled_arithmetic": (
        "matmul",
        """
v = sch.sample_categorical([2, 4], [0.5, 0.5], decision=1)
sch.split(sch.get_loops("C")[0], [None, v * 2])
""",
    ),
    "blur_reverse": ("blur", 'sch.cache_read("Y", 0, "local")'),
    "blur_layout": (
        "blur", 'sch.transform_layout("B", ("write", 0), lambda i: (i // 4, i % 4))'
    ),
    "dynamic_fuse": ("dynamic", 'sch.fuse(*sch.get_loops("B"))'),
    "dynamic_cache": ("dynamic", 'sch.cache_read("B", 0, "shared")'),
}  # fmt: skip
