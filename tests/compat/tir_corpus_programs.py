"""TensorIR as people wrote it: a program for each construct that collected programs use."""

from __future__ import annotations

PROGRAMS = {
    "strides of the last dimensions only": """
@T.prim_func
def func(B: T.Buffer((3, 4), "int32")):
    index = T.alloc_buffer([3, 4], dtype="int32", strides=[1])
    for i, j in T.grid(3, 4):
        with T.block("index"):
            vi, vj = T.axis.remap("SS", [i, j])
            index[vi, vj] = vi // 4 + vj // 4
    for i, j in T.grid(3, 4):
        with T.block("use"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = index[vi, vj]
""",
    "terms of an index in the order of the map": """
@T.prim_func
def func(A: T.Buffer((64,), "float32"), B: T.Buffer((8,), "int32"), n: T.int64):
    x = T.float32()
    for i in range(8):
        A[B[i] * 2 + (T.Cast("int32", n) - i) * 8 + B[i + 1]] = T.Let(
            5.0 * x + T.cast(i, "float32"), where={x: T.cast(B[i], "float32")}
        )
""",
    "values cast to vectors of integers": """
@T.prim_func
def func(A: T.Buffer((25,), "int32"), B: T.Buffer((25,), "float32"), C: T.Buffer((8,), "uint8")):
    A[T.Ramp(0, 1, 4)] = T.Cast("int32x4", B[T.Ramp(0, 1, 4)])
    D = T.alloc_buffer((2,), "float4_e2m1fn")
    D[0] = T.reinterpret("float4_e2m1fn", C[0])
    C[1] = T.reinterpret("uint8", D[0])
""",
    "elements of addresses and of storage counted through": """
@T.prim_func
def func(a: T.handle, n: T.int32) -> None:
    A = T.match_buffer(a, (14,), "int16")
    stack: T.handle = T.tvm_stack_alloca("codes", 10, dtype="handle")
    stack[0] = 0
    stack[n + 1] = T.load("int32", stack, 0) + n
    padded = T.allocate([4, 8], "int16", "global")
    for i, j in T.grid(4, 8):
        padded[i * 8 + j] = A[i]
    with T.allocate([2, 2, 2], "int32", "global") as sums:
        sums[n] = T.load("int16", padded, n + 3).astype("int32")
""",
    "vectors as long as the machine's": """
@T.prim_func
def func(a: T.handle, B: T.Buffer((64, 64), "int32"), c: T.handle, n: T.int32):
    C = T.match_buffer(c, (8,), "float32xvscalex2")
    A = T.match_buffer(a, (128,), "float32")
    A[T.Ramp(5, 3, 4 * T.vscale())] = T.Broadcast(2, 4 * T.vscale())
    A[T.ramp(0, 1, 4 * T.vscale())] = T.exp(A[T.ramp(n, 1, 4 * T.vscale())]) + 1.0
    A[T.ramp(0, 1, 4 * T.vscale())] = A[T.ramp(3, 5, 4 * T.vscale())]
    B[n, 5 : 5 + T.vscale() * 8] = T.Ramp(n, 3, T.vscale() * 8) + 7
    mask = T.meta_var(T.get_active_lane_mask("uint1xvscalex4", 0, n))
    loaded = T.meta_var(B.vload([0, T.Ramp(0, 4, T.vscale() * 4)], predicate=mask))
    B.vstore([0, T.Ramp(0, 2, T.vscale() * 4)], loaded, predicate=mask)
    C[3] = T.Broadcast(T.float32(1), T.vscale() * 2)
    for j in T.vectorized(T.vscale() * 4):
        A[j] = A[j + n]
    A[0 : T.vscale() * 4] = A.vload([T.Ramp(0, 1, T.vscale() * 4)], dtype="float32xvscalex4")
""",
    "lanes of vectors": """
@T.prim_func
def func(
    x: T.int32, y: T.int32, A: T.Buffer((8,), "float32x4"), B: T.Buffer((8,), "float32"),
    C: T.Buffer((8,), "float32x8"), D: T.Buffer((8,), "float32x2"), E: T.Buffer((1,), "int32x2"),
):
    E[0] = T.Shuffle([x, y], [0, 1])
    B[0] = T.Shuffle([A[0]], [3]) + T.Shuffle([A[1]], indices=[x % 4])
    A[0] = T.Shuffle([A[0]], [3, 2, 1, 0])
    A[1] = T.Shuffle([A[0], A[2]], [3, 4, 5, 0])
    C[1] = T.Shuffle([D[0], D[1], A[0]], [7, 1, 2, 3, 4, 5, 6, 0])
    D[3] = T.Shuffle([B[x], B[y]], [0, 1])
""",
    "kernels as source": """
@T.prim_func
def func(x: T.handle, n: T.int32):
    A = T.match_buffer(x, (n,), "float32")
    T.call_kernel(
        "extern \\"C\\" __global__ void add(float* a, int n) {\\n\\ta[0] += n;\\n}",
        ((T.ceildiv(n, 64),), (64, 2)), A.data, n, kernel_name="add",
    )
""",
    "views of one element": """
@T.prim_func
def func(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 16))
    C = T.match_buffer(c, (16, 16))
    for i, j in T.grid(16, 16):
        with T.block():
            A1 = T.match_buffer(A[i, j], ())
            C1 = T.match_buffer(C[i, j], ())
            C1[()] = A1[()] + 1.0
""",
    "strides of views as text": """
@T.prim_func
def func(A: T.Buffer((16, 16), "float32")):
    for i in range(2):
        with T.block("first"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 8 : vi * 8 + 8, 0:16])
            T.writes()
            B = T.match_buffer(A[vi * 8 : vi * 8 + 8, 0:16], (8, 16), strides=("s0", "s1"))
            T.evaluate(T.call_extern("int32", "f", B.data, B.strides[0]))
        with T.block("second"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 8 : vi * 8 + 8, 0:16])
            T.writes()
            B = T.match_buffer(A[vi * 8 : vi * 8 + 8, 0:16], (8, 16), strides=("s0", "s1"))
            T.evaluate(T.call_extern("int32", "f", B.data, B.strides[0]))
""",
    "reducers of several dtypes": """
@T.prim_func
def func(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "int32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            T.reads(A[t])
            T.writes(B[0], C[0])
            T.attr(
                T.comm_reducer(
                    lambda x0, x1, y0, y1: (
                        T.Select(x1 <= y1, x0, y0), T.Select(x1 <= y1, x1, y1)
                    ),
                    [-1, T.float32(3.0)],
                ),
                "reduce_scope",
                T.reinterpret("handle", T.uint64(0)),
            )
            T.tvm_thread_allreduce(T.uint32(2), t, A[t], True, C.data, B.data, t, dtype="handle")
""",
    "calls by operator": """
@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    T.Call("void", tvm.ir.Op.get("tir.tvm_call_packed"), ["f", A.data])
    T.Call("int32", tvm.ir.Op.get("tirx.tvm_call_packed"), ["g", A.data])
    T.Call(tvm.ir.Op.get("tirx.call_extern"), ["h"], ret_ty="void")
""",
    "values before reads": """
@T.prim_func
def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            row, column = T.meta_var((vj // 2 * 2 + vi % 2, vi // 2 * 2 + vj % 2))
            T.reads(A[row, column])
            T.writes(B[vi, vj])
            B[vi, vj] = A[row, column]
""",
    "values in declarations": """
@T.prim_func
def func(a: T.handle):
    m = T.int32()
    n = T.meta_var(100)
    k = T.SizeVar("k", "int32")
    A = T.match_buffer(a, (n, m, k))
    for i, j, l in T.grid(n, m, k):
        A[i, j, l] = 0.0
""",
    "buffers and handles in attributes": """
@T.prim_func
def func(a: T.handle, b: T.handle):
    T.func_attr({"input_vars": [a], "output_vars": [b], "devices": []})
    A = T.match_buffer(a, (16, 16), "float32")
    B = T.match_buffer(b, (16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"layout_free_placeholders": [A]})
            B[vi, vj] = A[vi, vj]
""",
    "values of other functions": """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(a: T.int32, b: T.int32) -> T.int32:
        return a + b

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        length: T.int32 = Module.add(1, 2)
        for i in range(4):
            A[i] = Module.add(A[i], length)
""",
    "several axes under one name": """
@T.prim_func
def func(A: T.Buffer((4, 2, 3), "float32"), B: T.Buffer((4, 2, 3), "float32")):
    for i in range(4):
        for j in T.grid(2, 3):
            with T.block("copy"):
                vi, *vj = T.axis.remap("SSS", [i, *j])
                T.buffer_store(B, T.BufferLoad(A, [vi, *vj]), [vi, *vj])
""",
    "one element in all lanes": """
@T.prim_func
def func(A: T.Buffer((8,), "int32"), B: T.Buffer((4, 8), "int32")):
    B[1, T.Ramp(0, 1, 4)] = A[T.Broadcast(3, 4)]
    B[T.Broadcast(2, 4), T.Ramp(4, 1, 4)] = A[T.Ramp(0, 1, 4)]
""",
    "vectors of views": """
@T.prim_func
def func(a: T.Buffer((8, 8), "uint8"), c: T.Buffer((8, 8), "int32")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            T.reads(a[vi, 0:4])
            T.writes(c[vi, 0:4])
            A = T.match_buffer(a[vi, 0:4], [4], "uint8", offset_factor=1)
            C = T.match_buffer(c[vi, 0:4], [4], "int32", offset_factor=1)
            A_u8x4: T.uint8x4 = A.vload([0], "uint8x4")
            A_i32: T.int32 = T.reinterpret(A_u8x4, dtype="int32")
            C[T.ramp(0, 1, 4)] = T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
                T.uint32(3), C[T.ramp(0, 1, 4)], T.broadcast(A_i32, 4), dtype="int32x4",
            )
""",
    "variables that nothing defines": """
@T.prim_func(check_well_formed=False)
def func(a: T.handle):
    n = T.int64()
    k = T.uint8()
    p = T.handle()
    A = T.match_buffer(a, (n * 32,), "float32")
    for i in range(T.Cast("int32", k)):
        A[T.min(T.int64(0), n)] = T.float32(0)
    T.evaluate(T.call_extern("int32", "f", p))
""",
    "declared by the first TVMScript": """
@T.prim_func
def func():
    A = T.var("handle")
    T.evaluate(T.tvm_call_cpacked("f", A, dtype="int32"))
""",
    "vectors under a predicate": """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(2):
        load_a = T.meta_var(
            A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.get_active_lane_mask("uint1x4", i * 4, 14))
        )
        B.vstore([T.Ramp(i * 4, 1, 4)], load_a, predicate=T.Broadcast(T.bool(True), 4))
        B.vstore(
            [T.Ramp(i, 2, 4)],
            A.vload([T.Ramp(i, 3, 4)], predicate=T.Ramp(i, 1, 4) < T.Broadcast(3, 4)),
        )
""",
    "buffers that are only named": """
@T.prim_func
def func(A: T.Buffer((16, 16), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            B = T.match_buffer(A[vi * 4 : vi * 4 + 4, 0:16], (4, 16))
            T.evaluate(B.data)
""",
    "notes on allocations": """
@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), annotations={"tirx.volatile": True})
    C = T.alloc_local([4], "float32")
    for i in range(4):
        B[i] = A[i]
        C[i] = B[i]
""",
    "steps that are variables": """
@T.prim_func
def func(A: T.Buffer((128,), "float32"), n: T.int32, v: T.int32):
    for i in T.serial(n, 128, step=v):
        A[i] = 0.0
""",
    "signed numbers from unsigned bits": """
@T.prim_func
def func(A: T.Buffer((4,), "uint16"), B: T.Buffer((4,), "float16")):
    for i in range(4):
        B[i] = T.Cast("float16", T.Cast("int16", T.bitwise_and(A[i], T.uint16(7))) - T.int16(3))
""",
    "symbols beside plain sizes": """
@T.prim_func
def func(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (1, n, 4096), "float16")
    for i in T.thread_binding((n + 7) // 8, thread="blockIdx.y"):
        A[0, i, 0] = T.float16(0)
""",
    "blocks of the first TVMScript": """
@T.prim_func
def func(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (128,))
    B = T.match_buffer(b, (128,))
    for i in range(0, 63):
        with T.block([63], "A_0") as vi:
            A[vi] = vi + 1
    with T.block([128], "B") as vi:
        B[vi] = A[vi] * 2.0
""",
    "strides as text": """
@T.prim_func
def func(a: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), strides=("A_s0", "A_s1"), buffer_type="auto")
    for i in range(m):
        B = T.Buffer((A.strides[0] * m,), data=A.data, strides=("B_s0",), buffer_type="auto")
        B[i * A.strides[0]] = 0.0
""",
    "offsets that are parameters": """
@T.prim_func
def func(p: T.handle("float32"), A_offset: T.int32, A_stride: T.int32):
    A = T.decl_buffer(1, "float32", data=p, elem_offset=A_offset, strides=[A_stride])
    A[0] = 42.0
""",
    "one lane is an element": """
@T.prim_func
def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        A[i : i + 1 : 1] = i
        B[i * 4 : i * 4 + 4] = -A[i * 4 : i * 4 + 4]
""",
    "what always fails": """
@T.prim_func
def func(A: T.Buffer((16,), "float32")):
    assert 1 == 0, "some numbers"
    T.evaluate("text")
    T.print_buffer(A.data, A.dtype, False, False, 2, (4, 4))
""",
    "operators on constants that are not computed": """
@T.prim_func
def func(A: T.Buffer((25,), "bool"), B: T.Buffer((25,), "bool"), C: T.Buffer((25,), "int32")):
    for j in T.vectorized(25):
        A[j] = T.And(T.bool(1), B[j])
        C[T.Div(T.Mul(2, 4), 4)] = T.if_then_else(T.LT(0, 1) and j < 5, T.Add(32, 64), T.Sub(j, 0))
        C[j] = T.FloorMod(3, 2) + T.Max(3, 2)
""",
    "loops that count in other dtypes than their bounds": """
@T.prim_func
def func(A: T.Buffer((128,), "float32"), n: T.int32):
    for i in T.serial(128, dtype="uint32"):
        A[i] = T.float32(1)
    for i in T.serial(n, dtype="uint32"):
        for j in range(4):
            A[j] = T.float32(2)
    for i in range(T.Cast("int32", T.Cast("int64", T.ceil(T.log2(T.Cast("float32", n)))))):
        A[i] = T.float32(3)
""",
    "axis separators": """
@T.prim_func
def func(A: T.Buffer((16, 16), "float32", axis_separators=[1]), d: T.handle):
    n = T.int32()
    D = T.match_buffer(d, (16, n), axis_separators=[1])
    B = T.alloc_buffer((16, 16), axis_separators=[1])
    data = T.allocate([256], "float32")
    C = T.decl_buffer((16, 16), data=data, axis_separators=[1])
    E = T.decl_buffer((16, 16), data=C.data, axis_separators=[1])
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 16):
        C[i, j] = B[i, j]
        D[i, j] = E[i, j]
""",
    "the remainder of what is counted up and down again": """
@T.prim_func
def func(a: T.handle, b: T.handle):
    m, n = T.int64(), T.int64()
    A = T.match_buffer(a, (m, n))
    B = T.match_buffer(b, (n,))
    for k in range(m - T.int64(1)):
        B[(k + T.int64(1) - T.int64(1)) * m % n] = A[k, 0]
""",
    "the indices of a vector under a name": """
@T.prim_func
def func(A: T.Buffer((64,), "float32"), B: T.Buffer(32, "float32x2"), C: T.Buffer(1, "int32")):
    for i in range(32):
        backwards = T.ramp((i + 1) * 2 - 1, -1, 2)
        B[i] = A[backwards]
        A[backwards] = B[i]
        kept = T.ramp(C[0], 1, 4)
        C[0] = C[0] + 1
        T.evaluate(T.call_extern("int32", "use", kept))
""",
    "a thread that is named before it is launched": """
@T.prim_func
def func(A: T.Buffer((32,), "float32")):
    tx = T.env_thread("threadIdx.x")
    for i in range(4):
        place = T.meta_var(tx % 4 * 8 + tx // 4 * 4 + i)
        T.launch_thread(tx, 8)
        A[place] = A[place] + T.Cast("float32", tx)
""",
    "a function called by its name in the module": """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        tvm.tir.call_tir(Module.fill, A.data)
        Module.fill(A.data)

    @T.prim_func
    def fill(data: T.handle("float32")):
        T.evaluate(0)
""",
    "fragments": """
@T.prim_func
def func(A: T.Buffer((8, 8), "float32", scope="metal.simdgroup"), B: T.Buffer((8, 8), "float32")):
    T.make_filled_simdgroup_matrix(A.data, index=0, value=T.float32(0), col=8, row=8)
    T.simdgroup_load(
        A.data, index=0, ptr=B.access_ptr("r"), stride=8, col=8, row=8, transpose_matrix=True
    )
""",
}
