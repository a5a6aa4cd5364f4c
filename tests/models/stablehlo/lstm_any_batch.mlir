module @lstm_any_batch {
  func.func public @main(%arg0: tensor<5x?x4xf32>, %arg1: tensor<4x24xf32>, %arg2: tensor<6x24xf32>) -> (tensor<5x?x6xf32>, tensor<?x6xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<5x?x4xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. ", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2:2 = call @_wrapped_jax_export_main(%0, %arg0, %arg1, %arg2) : (tensor<i32>, tensor<5x?x4xf32>, tensor<4x24xf32>, tensor<6x24xf32>) -> (tensor<5x?x6xf32>, tensor<?x6xf32>)
    return %2#0, %2#1 : tensor<5x?x6xf32>, tensor<?x6xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<5x?x4xf32>, %arg2: tensor<4x24xf32>, %arg3: tensor<6x24xf32>) -> (tensor<5x?x6xf32>, tensor<?x6xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<5> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<5> : tensor<i32>
    %c_3 = stablehlo.constant dense<6> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %0, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %cst, %1, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %c_1, %3, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %5 = stablehlo.dynamic_broadcast_in_dim %cst, %4, dims = [] : (tensor<f32>, tensor<3xi32>) -> tensor<5x?x6xf32>
    %6:7 = stablehlo.while(%iterArg = %arg1, %iterArg_4 = %arg2, %iterArg_5 = %arg3, %iterArg_6 = %c_0, %iterArg_7 = %2, %iterArg_8 = %2, %iterArg_9 = %5) : tensor<5x?x4xf32>, tensor<4x24xf32>, tensor<6x24xf32>, tensor<i32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<5x?x6xf32>
    cond {
      %7 = stablehlo.compare LT, %iterArg_6, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = func.call @dynamic_index_in_dim(%arg0, %iterArg, %iterArg_6) : (tensor<i32>, tensor<5x?x4xf32>, tensor<i32>) -> tensor<?x4xf32>
      %8:3 = func.call @closed_call(%arg0, %iterArg_4, %iterArg_5, %iterArg_7, %iterArg_8, %7) : (tensor<i32>, tensor<4x24xf32>, tensor<6x24xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x4xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
      %9 = func.call @dynamic_update_index_in_dim(%arg0, %iterArg_9, %8#2, %iterArg_6) : (tensor<i32>, tensor<5x?x6xf32>, tensor<?x6xf32>, tensor<i32>) -> tensor<5x?x6xf32>
      %10 = stablehlo.add %iterArg_6, %c : tensor<i32>
      stablehlo.return %iterArg, %iterArg_4, %iterArg_5, %10, %8#0, %8#1, %9 : tensor<5x?x4xf32>, tensor<4x24xf32>, tensor<6x24xf32>, tensor<i32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<5x?x6xf32>
    }
    return %6#6, %6#4 : tensor<5x?x6xf32>, tensor<?x6xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<5x?x4xf32>, %arg2: tensor<i32>) -> tensor<?x4xf32> {
    %c = stablehlo.constant dense<5> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %c_3, %0, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %2 = stablehlo.concatenate %c_0, %c_0, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %3 = stablehlo.reshape %arg2 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %c_2 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.reshape %c_2 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.concatenate %3, %4, %5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %7 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.concatenate %c, %7, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %9 = stablehlo.subtract %8, %1 : tensor<3xi32>
    %10 = stablehlo.clamp %2, %6, %9 : tensor<3xi32>
    %11 = stablehlo.add %10, %1 : tensor<3xi32>
    %12 = stablehlo.concatenate %c_3, %c_3, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %13 = stablehlo.real_dynamic_slice %arg1, %10, %11, %12 : (tensor<5x?x4xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<1x?x4xf32>
    %14 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %15 = stablehlo.concatenate %14, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %16 = stablehlo.dynamic_reshape %13, %15 : (tensor<1x?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    return %16 : tensor<?x4xf32>
  }
  func.func private @closed_call(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<4x24xf32>, %arg2: tensor<6x24xf32>, %arg3: tensor<?x6xf32>, %arg4: tensor<?x6xf32>, %arg5: tensor<?x4xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<24> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<18> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<12> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_3 = stablehlo.constant dense<6> : tensor<1xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<1xi32>
    %0 = stablehlo.dot_general %arg5, %arg1, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x24xf32>) -> tensor<?x24xf32>
    %1 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [1] x [0] : (tensor<?x6xf32>, tensor<6x24xf32>) -> tensor<?x24xf32>
    %2 = stablehlo.add %0, %1 : tensor<?x24xf32>
    %3 = stablehlo.concatenate %c_4, %c_4, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.concatenate %4, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %6 = stablehlo.concatenate %c_2, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %7 = stablehlo.real_dynamic_slice %2, %3, %5, %6 : (tensor<?x24xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
    %8 = stablehlo.concatenate %c_4, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %9 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %10 = stablehlo.concatenate %9, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %11 = stablehlo.concatenate %c_2, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %12 = stablehlo.real_dynamic_slice %2, %8, %10, %11 : (tensor<?x24xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
    %13 = stablehlo.concatenate %c_4, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %14 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %15 = stablehlo.concatenate %14, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %16 = stablehlo.concatenate %c_2, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %17 = stablehlo.real_dynamic_slice %2, %13, %15, %16 : (tensor<?x24xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
    %18 = stablehlo.concatenate %c_4, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %19 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %20 = stablehlo.concatenate %19, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %21 = stablehlo.concatenate %c_2, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %22 = stablehlo.real_dynamic_slice %2, %18, %20, %21 : (tensor<?x24xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
    %23 = stablehlo.negate %12 : tensor<?x6xf32>
    %24 = stablehlo.exponential %23 : tensor<?x6xf32>
    %25 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %26 = stablehlo.concatenate %25, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %27 = stablehlo.dynamic_broadcast_in_dim %cst, %26, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %28 = stablehlo.add %27, %24 : tensor<?x6xf32>
    %29 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %30 = stablehlo.concatenate %29, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %31 = stablehlo.dynamic_broadcast_in_dim %cst, %30, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %32 = stablehlo.divide %31, %28 : tensor<?x6xf32>
    %33 = stablehlo.multiply %32, %arg4 : tensor<?x6xf32>
    %34 = stablehlo.negate %7 : tensor<?x6xf32>
    %35 = stablehlo.exponential %34 : tensor<?x6xf32>
    %36 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %37 = stablehlo.concatenate %36, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %38 = stablehlo.dynamic_broadcast_in_dim %cst, %37, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %39 = stablehlo.add %38, %35 : tensor<?x6xf32>
    %40 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %41 = stablehlo.concatenate %40, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %42 = stablehlo.dynamic_broadcast_in_dim %cst, %41, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %43 = stablehlo.divide %42, %39 : tensor<?x6xf32>
    %44 = stablehlo.tanh %17 : tensor<?x6xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<?x6xf32>
    %46 = stablehlo.add %33, %45 : tensor<?x6xf32>
    %47 = stablehlo.negate %22 : tensor<?x6xf32>
    %48 = stablehlo.exponential %47 : tensor<?x6xf32>
    %49 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %50 = stablehlo.concatenate %49, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %51 = stablehlo.dynamic_broadcast_in_dim %cst, %50, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %52 = stablehlo.add %51, %48 : tensor<?x6xf32>
    %53 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %54 = stablehlo.concatenate %53, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %55 = stablehlo.dynamic_broadcast_in_dim %cst, %54, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x6xf32>
    %56 = stablehlo.divide %55, %52 : tensor<?x6xf32>
    %57 = stablehlo.tanh %46 : tensor<?x6xf32>
    %58 = stablehlo.multiply %56, %57 : tensor<?x6xf32>
    return %58, %46, %58 : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<5x?x6xf32>, %arg2: tensor<?x6xf32>, %arg3: tensor<i32>) -> tensor<5x?x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<6> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %c_1, %0, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %arg2, %1, dims = [1, 2] : (tensor<?x6xf32>, tensor<3xi32>) -> tensor<1x?x6xf32>
    %3 = stablehlo.dynamic_update_slice %arg1, %2, %arg3, %c, %c : (tensor<5x?x6xf32>, tensor<1x?x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x?x6xf32>
    return %3 : tensor<5x?x6xf32>
  }
}
