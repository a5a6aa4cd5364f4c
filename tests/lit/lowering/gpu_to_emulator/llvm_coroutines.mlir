// RUN: relax-opt %s --llvm-coroutines | FileCheck %s

llvm.func @emu_yield(i64)
llvm.func @emu_check_access(i64, i64, i64, i64, i64) -> i64

// CHECK-NOT: @emu_yield
// CHECK-LABEL: llvm.func @thread(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[STATE:.*]]: !llvm.ptr
// CHECK-SAME: passthrough = ["presplitcoroutine", "noinline"]
// The frame, and the stop before the first instruction.
// CHECK: %[[ID:.*]] = llvm.intr.coro.id
// CHECK: llvm.call @aligned_alloc
// CHECK: %[[HANDLE:.*]] = llvm.intr.coro.begin %[[ID]]
// CHECK: llvm.intr.coro.suspend
llvm.func @thread(%args: !llvm.ptr, %state: !llvm.ptr, %thread: i64) -> !llvm.ptr attributes {emulator.shared_bytes = 0 : i64} {
  %c = llvm.mlir.constant(257 : i64) : i64
  // A refused access ends the thread.
  // CHECK: %[[FINE:.*]] = llvm.call @emu_check_access
  // CHECK: %[[GOOD:.*]] = llvm.icmp "ne" %[[FINE]]
  // CHECK: llvm.cond_br %[[GOOD]], ^{{.*}}, ^[[FAULT:.*]]
  %ok = llvm.call @emu_check_access(%c, %c, %c, %c, %c) : (i64, i64, i64, i64, i64) -> i64
  // A yield reports its event and stops.
  // CHECK: llvm.store %{{.*}}, %[[STATE]] : i64, !llvm.ptr
  // CHECK: llvm.intr.coro.suspend
  llvm.call @emu_yield(%c) : (i64) -> ()
  // CHECK: llvm.intr.coro.free
  // CHECK: llvm.call @free
  // CHECK: llvm.intr.coro.end
  // CHECK: ^[[FAULT]]:
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
