// Functions that are values: closures, and calls of them.
//
// Read by ffi_support.py, which puts type aliases and declarations in front. A closure's context is
// one block: {code, count of captured values, captured Anys}.

llvm.mlir.global internal constant @ffi_function("a function\00")

func.func private @relax_ffi_make_closure(%code: !llvm.ptr, %captured: !llvm.ptr, %count: i32, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l16 = arith.constant 16 : i64
  %fail = arith.constant -1 : i32
  %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
  %wide = arith.extsi %count : i32 to i64
  %anys = arith.muli %wide, %l16 : i64
  %size = arith.addi %anys, %l16 : i64
  %status = llvm.call @posix_memalign(%slot, %l16, %size) : (!llvm.ptr, i64, i64) -> i32
  %got = arith.cmpi eq, %status, %i0 : i32
  cf.cond_br %got, ^fill, ^exhausted
^exhausted:
  %memory_error = llvm.mlir.addressof @ffi_memory_error : !llvm.ptr
  %memory_text = llvm.mlir.addressof @ffi_no_memory : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %memory_text) : (!llvm.ptr, !llvm.ptr) -> ()
  return %fail : i32
^fill:
  %block = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.store %code, %block : !llvm.ptr, !llvm.ptr
  %count_at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %i0, %count_at : i32, !llvm.ptr
  %values = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  // A value that cannot be owned ends the filling; those before it are given up again.
  %owned = scf.for %i = %i0 to %count step %i1 iter_args(%before = %i0) -> (i32) : i32 {
    %from = llvm.getelementptr %captured[%i] : (!llvm.ptr, i32) -> !llvm.ptr, !any
    %to = llvm.getelementptr %values[%i] : (!llvm.ptr, i32) -> !llvm.ptr, !any
    %good = arith.cmpi eq, %before, %i0 : i32
    %after = scf.if %good -> (i32) {
      %kept = func.call @relax_ffi_own(%from, %to) : (!llvm.ptr, !llvm.ptr) -> i32
      %fine = arith.cmpi eq, %kept, %i0 : i32
      scf.if %fine {
        %number = arith.addi %i, %i1 : i32
        llvm.store %number, %count_at : i32, !llvm.ptr
      }
      scf.yield %kept : i32
    } else {
      scf.yield %before : i32
    }
    scf.yield %after : i32
  }
  %all = arith.cmpi eq, %owned, %i0 : i32
  cf.cond_br %all, ^create, ^refused
^create:
  %call_code = func.constant @ffi_closure_call : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  %call = builtin.unrealized_conversion_cast %call_code : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32 to !llvm.ptr
  %delete_code = func.constant @ffi_closure_delete : (!llvm.ptr) -> ()
  %delete = builtin.unrealized_conversion_cast %delete_code : (!llvm.ptr) -> () to !llvm.ptr
  %handle = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %made = llvm.call @TVMFFIFunctionCreate(%block, %call, %delete, %handle) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %ok = arith.cmpi eq, %made, %i0 : i32
  cf.cond_br %ok, ^done, ^refused
^refused:
  func.call @ffi_closure_delete(%block) : (!llvm.ptr) -> ()
  return %fail : i32
^done:
  %function_kind = arith.constant 68 : i32
  llvm.store %function_kind, %out : i32, !llvm.ptr
  return %i0 : i32
}

func.func private @ffi_closure_delete(%block: !llvm.ptr) {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %count_at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %count = llvm.load %count_at : !llvm.ptr -> i32
  %values = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  scf.for %i = %i0 to %count step %i1 : i32 {
    %value = llvm.getelementptr %values[%i] : (!llvm.ptr, i32) -> !llvm.ptr, !any
    func.call @relax_ffi_release(%value) : (!llvm.ptr) -> ()
  }
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  return
}

func.func private @ffi_closure_call(%block: !llvm.ptr, %args: !llvm.ptr, %given: i32, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %code = llvm.load %block : !llvm.ptr -> !llvm.ptr
  %count_at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %captured = llvm.load %count_at : !llvm.ptr -> i32
  %values = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %total = arith.addi %given, %captured : i32
  %all = llvm.alloca %total x !any : (i32) -> !llvm.ptr
  scf.for %i = %i0 to %total step %i1 : i32 {
    %own = arith.cmpi slt, %i, %given : i32
    %behind = arith.subi %i, %given : i32
    %base = arith.select %own, %args, %values : !llvm.ptr
    %index = arith.select %own, %i, %behind : i32
    %from = llvm.getelementptr %base[%index] : (!llvm.ptr, i32) -> !llvm.ptr, !any
    %to = llvm.getelementptr %all[%i] : (!llvm.ptr, i32) -> !llvm.ptr, !any
    %value = llvm.load %from : !llvm.ptr -> !any
    llvm.store %value, %to : !any, !llvm.ptr
  }
  %status = llvm.call %code(%null, %all, %total, %out) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  return %status : i32
}

func.func private @relax_ffi_call_value(%callee: !llvm.ptr, %args: !llvm.ptr, %count: i32, %prefix: !llvm.ptr, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %function_kind = arith.constant 68 : i32
  %kind = llvm.load %callee : !llvm.ptr -> i32
  %is_function = arith.cmpi eq, %kind, %function_kind : i32
  cf.cond_br %is_function, ^call, ^other
^other:
  %fail = arith.constant -1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %l0 = arith.constant 0 : i64
  %error = llvm.mlir.addressof @ffi_type_error : !llvm.ptr
  %wanted = llvm.mlir.addressof @ffi_function : !llvm.ptr
  func.call @relax_ffi_argument_error(%error, %prefix, %wanted, %null, %l0, %callee) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  return %fail : i32
^call:
  %payload_at = llvm.getelementptr %callee[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %function = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  llvm.store %i0, %out : i32, !llvm.ptr
  %status = llvm.call @TVMFFIFunctionCall(%function, %args, %count, %out) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  return %status : i32
}
