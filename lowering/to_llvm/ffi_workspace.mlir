// The workspace of host functions: the block that the last call used is kept for the next.
//
// Read by ffi_support.py, which puts declarations in front. The system clears the pages of a large
// block that is new, one fault a page: what a network of 38 MB of temporaries waited for in every
// call. Calls at the same time find nothing kept, and allocate.

// A block begins with the bytes that it has, in an area as large as its alignment.
llvm.mlir.global internal @ffi_kept_block() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}

// 64-byte aligned memory, null when there is none of that size.
func.func private @relax_ffi_take_workspace(%bytes: i64) -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %head = arith.constant 64 : i64
  %kept_at = llvm.mlir.addressof @ffi_kept_block : !llvm.ptr
  %kept = llvm.atomicrmw xchg %kept_at, %null acq_rel : !llvm.ptr, !llvm.ptr
  %none = llvm.icmp "eq" %kept, %null : !llvm.ptr
  cf.cond_br %none, ^allocate, ^compare
^compare:
  %room = llvm.load %kept : !llvm.ptr -> i64
  %fits = arith.cmpi uge, %room, %bytes : i64
  cf.cond_br %fits, ^found(%kept : !llvm.ptr), ^small
^small:
  llvm.call @free(%kept) : (!llvm.ptr) -> ()
  cf.br ^allocate
^allocate:
  // Sizes that overflowed are negative.
  %overflown = arith.cmpi slt, %bytes, %l0 : i64
  cf.cond_br %overflown, ^exhausted, ^ask
^ask:
  %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
  %size = arith.addi %bytes, %head : i64
  %status = llvm.call @posix_memalign(%slot, %head, %size) : (!llvm.ptr, i64, i64) -> i32
  %got = arith.cmpi eq, %status, %i0 : i32
  cf.cond_br %got, ^made, ^exhausted
^made:
  %block = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.store %bytes, %block : i64, !llvm.ptr
  cf.br ^found(%block : !llvm.ptr)
^exhausted:
  return %null : !llvm.ptr
^found(%taken: !llvm.ptr):
  %workspace = llvm.getelementptr %taken[64] : (!llvm.ptr) -> !llvm.ptr, i8
  return %workspace : !llvm.ptr
}

// Keeps what was taken, which may be null, in place of what was kept.
func.func private @relax_ffi_give_workspace(%workspace: !llvm.ptr) {
  %null = llvm.mlir.zero : !llvm.ptr
  %none = llvm.icmp "eq" %workspace, %null : !llvm.ptr
  cf.cond_br %none, ^done, ^keep
^keep:
  %block = llvm.getelementptr %workspace[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  %kept_at = llvm.mlir.addressof @ffi_kept_block : !llvm.ptr
  %kept = llvm.atomicrmw xchg %kept_at, %block acq_rel : !llvm.ptr, !llvm.ptr
  llvm.call @free(%kept) : (!llvm.ptr) -> ()
  cf.br ^done
^done:
  return
}
