"""Kernels written by hand, as the lowering makes them; named parts can be left out by a test.

A line that starts with `@name` is part of the kernel unless the test leaves `name` out.
"""

from __future__ import annotations

WG = "#gpu.address_space<workgroup>"


def module(body: str, signature: str, *, shared: str = "", leave_out: tuple[str, ...] = ()) -> str:
    """A module with the kernel @k of the given signature; `shared` are its workgroup buffers."""
    lines = []
    for line in body.strip("\n").splitlines():
        head, _, rest = line.strip().partition(" ")
        if head.startswith("@") and head[1:] not in leave_out:
            lines.append(f"  {rest}")
        elif not head.startswith("@"):
            lines.append(f"  {line.strip()}")
    workgroup = f"workgroup({shared})" if shared else ""
    constants = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 4, 8, 16, 32))
    text = "\n".join(lines)
    return (
        "module attributes {gpu.container_module} {\n gpu.module @kernels {\n"
        f"  gpu.func @k({signature}) {workgroup} kernel {{\n{constants}{text}\n"
        "  gpu.return\n }\n}}\n"
    )


# Every thread reads what its left neighbour has written to shared memory.
NEIGHBOUR = """
%t = gpu.thread_id x
%v = memref.load %x[%t] : memref<64xf32>
memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
@barrier gpu.barrier
%n = arith.constant 63 : index
%q = arith.addi %t, %n : index
%m = arith.constant 64 : index
%r = arith.remui %q, %m : index
%w = memref.load %s[%r] : memref<64xf32, #gpu.address_space<workgroup>>
memref.store %w, %y[%t] : memref<64xf32>
"""
NEIGHBOUR_SIGNATURE = "%x: memref<64xf32>, %y: memref<64xf32>"
NEIGHBOUR_SHARED = f'%s: memref<64xf32, {WG}> loc("x_shared")'

# c = a @ b for 32x32 matrices, in tiles of 16x16 that lie in shared memory.
MATMUL = """
%tx = gpu.thread_id x
%ty = gpu.thread_id y
%bx = gpu.block_id x
%by = gpu.block_id y
%r0 = arith.muli %by, %c16 : index
%row = arith.addi %r0, %ty : index
%q0 = arith.muli %bx, %c16 : index
%col = arith.addi %q0, %tx : index
%z = arith.constant 0.0 : f32
%sum = scf.for %k0 = %c0 to %c32 step %c16 iter_args(%acc = %z) -> (f32) {
%ka = arith.addi %k0, %tx : index
%kb = arith.addi %k0, %ty : index
%va = memref.load %a[%row, %ka] : memref<32x32xf32>
%vb = memref.load %b[%kb, %col] : memref<32x32xf32>
memref.store %va, %sa[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
memref.store %vb, %sb[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
@first gpu.barrier
%inner = scf.for %k = %c0 to %c16 step %c1 iter_args(%s = %acc) -> (f32) {
%p = memref.load %sa[%ty, %k] : memref<16x16xf32, #gpu.address_space<workgroup>>
%q = memref.load %sb[%k, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
%pq = arith.mulf %p, %q : f32
%s2 = arith.addf %s, %pq : f32
scf.yield %s2 : f32
}
@second gpu.barrier
scf.yield %inner : f32
}
memref.store %sum, %c[%row, %col] : memref<32x32xf32>
"""
MATMUL_SIGNATURE = "%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>"
MATMUL_SHARED = f'%sa: memref<16x16xf32, {WG}> loc("A_shared"), %sb: memref<16x16xf32, {WG}>'
