// Tensors on the device that a module was loaded on: see device_objects.py. Words of the table beyond
// those of host_device.mlir: 4 is the deleter of tensors, 5 copies to the host, 9 on the device.
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @TVMFFITensorFromDLPackVersioned(!llvm.ptr, i32, i32, !llvm.ptr) -> i32

// One block of malloc holds DLManagedTensorVersioned (80 bytes), sizes and strides.
llvm.func internal @relax_device_new_tensor(%ndim: i32, %shape: !llvm.ptr, %dtype: i32, %bytes: i64, %out: !llvm.ptr) -> i32 {
  %i0 = llvm.mlir.constant(0 : i32) : i32
  %i1 = llvm.mlir.constant(1 : i32) : i32
  %fail = llvm.mlir.constant(-1 : i32) : i32
  %tensor_kind = llvm.mlir.constant(70 : i32) : i32
  %l0 = llvm.mlir.constant(0 : i64) : i64
  %l1 = llvm.mlir.constant(1 : i64) : i64
  %l4 = llvm.mlir.constant(4 : i64) : i64
  %l16 = llvm.mlir.constant(16 : i64) : i64
  %l80 = llvm.mlir.constant(80 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %negative = llvm.icmp "slt" %bytes, %l0 : i64
  llvm.cond_br %negative, ^negative, ^allocate
^negative:
  %kind = llvm.mlir.addressof @relax_device_value_error : !llvm.ptr
  %message = llvm.mlir.addressof @relax_device_negative : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %fail : i32
^allocate:
  %data = llvm.call @relax_device_alloc(%bytes) : (i64) -> !llvm.ptr
  %none = llvm.icmp "eq" %data, %null : !llvm.ptr
  llvm.cond_br %none, ^failed, ^fill
^failed:
  llvm.return %fail : i32
^fill:
  %rank = llvm.sext %ndim : i32 to i64
  %dims = llvm.mul %rank, %l16 : i64
  %size = llvm.add %dims, %l80 : i64
  %block = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %sizes = llvm.getelementptr %block[80] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.getelementptr %sizes[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.br ^axis(%rank, %l1 : i64, i64)
^axis(%left: i64, %step: i64):
  %done = llvm.icmp "eq" %left, %l0 : i64
  llvm.cond_br %done, ^head, ^one
^one:
  %number = llvm.sub %left, %l1 : i64
  %from = llvm.getelementptr %shape[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %from : !llvm.ptr -> i64
  %size_at = llvm.getelementptr %sizes[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %extent, %size_at : i64, !llvm.ptr
  %stride_at = llvm.getelementptr %strides[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %step, %stride_at : i64, !llvm.ptr
  %wider = llvm.mul %step, %extent : i64
  llvm.br ^axis(%number, %wider : i64, i64)
^head:
  llvm.store %i1, %block : i32, !llvm.ptr
  %minor = llvm.getelementptr %block[4] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %i0, %minor : i32, !llvm.ptr
  %context = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %block, %context : !llvm.ptr, !llvm.ptr
  %delete = llvm.call @relax_device_function(%l4) : (i64) -> !llvm.ptr
  %deleter = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %delete, %deleter : !llvm.ptr, !llvm.ptr
  %flags = llvm.getelementptr %block[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %l0, %flags : i64, !llvm.ptr
  %data_at = llvm.getelementptr %block[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %data, %data_at : !llvm.ptr, !llvm.ptr
  %own = llvm.mlir.addressof @relax_device : !llvm.ptr
  %device = llvm.load %own : !llvm.ptr -> i64
  %device_at = llvm.getelementptr %block[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %device, %device_at : i64, !llvm.ptr
  %ndim_at = llvm.getelementptr %block[48] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %ndim, %ndim_at : i32, !llvm.ptr
  %dtype_at = llvm.getelementptr %block[52] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dtype, %dtype_at : i32, !llvm.ptr
  %shape_at = llvm.getelementptr %block[56] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %sizes, %shape_at : !llvm.ptr, !llvm.ptr
  %strides_at = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %strides, %strides_at : !llvm.ptr, !llvm.ptr
  %offset_at = llvm.getelementptr %block[72] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %l0, %offset_at : i64, !llvm.ptr
  %handle = llvm.getelementptr %out[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %made = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %i0, %i0, %handle) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %ok = llvm.icmp "eq" %made, %i0 : i32
  llvm.cond_br %ok, ^give, ^refused
^refused:
  llvm.call %delete(%block) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.return %fail : i32
^give:
  llvm.store %tensor_kind, %out : i32, !llvm.ptr
  llvm.return %i0 : i32
}

llvm.func internal @relax_device_to_host(%to: !llvm.ptr, %from: !llvm.ptr, %bytes: i64) -> i32 {
  %l5 = llvm.mlir.constant(5 : i64) : i64
  %fail = llvm.mlir.constant(-1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %function = llvm.call @relax_device_function(%l5) : (i64) -> !llvm.ptr
  %absent = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %absent, ^none, ^call
^none:
  llvm.return %fail : i32
^call:
  %status = llvm.call %function(%to, %from, %bytes) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> i32
  llvm.return %status : i32
}

llvm.func internal @relax_device_copy(%to: !llvm.ptr, %from: !llvm.ptr, %bytes: i64) -> i32 {
  %l9 = llvm.mlir.constant(9 : i64) : i64
  %fail = llvm.mlir.constant(-1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %function = llvm.call @relax_device_function(%l9) : (i64) -> !llvm.ptr
  %absent = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %absent, ^none, ^call
^none:
  llvm.return %fail : i32
^call:
  %status = llvm.call %function(%to, %from, %bytes) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> i32
  llvm.return %status : i32
}

llvm.mlir.global internal constant @relax_device_value_error("ValueError\00") {addr_space = 0 : i32}
llvm.mlir.global internal constant @relax_device_negative("cannot allocate a tensor: a size is negative\00") {addr_space = 0 : i32}
