// RUN: relax-opt %s --gpu-to-emulator --split-input-file --verify-diagnostics

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%n: index) kernel {
      // expected-error @+1 {{kernel k: memref.alloca: memref<?xf32> in a kernel needs a size that is known}}
      %a = memref.alloca(%n) : memref<?xf32>
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    func.func private @helper()
    gpu.func @k() kernel {
      // expected-error @+1 {{kernel k: func.call: the call of @helper must be inlined before}}
      func.call @helper() : () -> ()
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%a: f32) kernel {
      // expected-error @+1 {{kernel k: gpu.all_reduce: the emulator does not know this operation}}
      %s = gpu.all_reduce add %a uniform {} : (f32) -> (f32)
      gpu.return
    }
  }
}
