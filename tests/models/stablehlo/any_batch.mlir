module @any_batch {
  func.func public @main(%arg0: tensor<?x4xf32>, %arg1: tensor<4x5xf32>) -> (tensor<?x5xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. for dimension variable b", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2 = call @_wrapped_jax_export_main(%0, %arg0, %arg1) : (tensor<i32>, tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
    return %2 : tensor<?x5xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?x4xf32>, %arg2: tensor<4x5xf32>) -> (tensor<?x5xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_0 = stablehlo.constant dense<5> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %c_3 = stablehlo.constant dense<2> : tensor<i32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
    %1 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    %3 = stablehlo.reduce(%2 init: %cst_4) applies stablehlo.maximum across dimensions = [1] : (tensor<?x5xf32>, tensor<f32>) -> tensor<?xf32>
    %4 = stablehlo.convert %arg0 : tensor<i32>
    %5 = stablehlo.multiply %4, %c_3 : tensor<i32>
    %6 = stablehlo.reshape %5 : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.dynamic_broadcast_in_dim %cst_4, %6, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %8 = stablehlo.maximum %7, %3 : tensor<?xf32>
    %9 = stablehlo.convert %arg0 : tensor<i32>
    %10 = stablehlo.multiply %9, %c_3 : tensor<i32>
    %11 = stablehlo.reshape %10 : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.concatenate %11, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %13 = stablehlo.dynamic_broadcast_in_dim %8, %12, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %14 = stablehlo.convert %arg0 : tensor<i32>
    %15 = stablehlo.multiply %14, %c_3 : tensor<i32>
    %16 = stablehlo.reshape %15 : (tensor<i32>) -> tensor<1xi32>
    %17 = stablehlo.concatenate %16, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %18 = stablehlo.dynamic_broadcast_in_dim %13, %17, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x5xf32>
    %19 = stablehlo.subtract %2, %18 : tensor<?x5xf32>
    %20 = stablehlo.exponential %19 : tensor<?x5xf32>
    %21 = stablehlo.reduce(%20 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x5xf32>, tensor<f32>) -> tensor<?xf32>
    %22 = stablehlo.convert %arg0 : tensor<i32>
    %23 = stablehlo.multiply %22, %c_3 : tensor<i32>
    %24 = stablehlo.reshape %23 : (tensor<i32>) -> tensor<1xi32>
    %25 = stablehlo.concatenate %24, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %26 = stablehlo.dynamic_broadcast_in_dim %21, %25, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %27 = stablehlo.convert %arg0 : tensor<i32>
    %28 = stablehlo.multiply %27, %c_3 : tensor<i32>
    %29 = stablehlo.reshape %28 : (tensor<i32>) -> tensor<1xi32>
    %30 = stablehlo.concatenate %29, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %31 = stablehlo.dynamic_broadcast_in_dim %26, %30, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x5xf32>
    %32 = stablehlo.divide %20, %31 : tensor<?x5xf32>
    %33 = stablehlo.convert %arg0 : tensor<i32>
    %34 = stablehlo.multiply %33, %c_3 : tensor<i32>
    %35 = stablehlo.reshape %34 : (tensor<i32>) -> tensor<1xi32>
    %36 = stablehlo.dynamic_iota %35, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    %37 = stablehlo.convert %arg0 : tensor<i32>
    %38 = stablehlo.multiply %37, %c_3 : tensor<i32>
    %39 = stablehlo.reshape %38 : (tensor<i32>) -> tensor<1xi32>
    %40 = stablehlo.dynamic_broadcast_in_dim %c_2, %39, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
    %41 = stablehlo.multiply %40, %36 : tensor<?xi32>
    %42 = stablehlo.convert %arg0 : tensor<i32>
    %43 = stablehlo.multiply %42, %c_3 : tensor<i32>
    %44 = stablehlo.reshape %43 : (tensor<i32>) -> tensor<1xi32>
    %45 = stablehlo.dynamic_broadcast_in_dim %c, %44, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
    %46 = stablehlo.add %45, %41 : tensor<?xi32>
    %47 = stablehlo.convert %arg0 : tensor<i32>
    %48 = stablehlo.multiply %47, %c_3 : tensor<i32>
    %49 = stablehlo.reshape %48 : (tensor<i32>) -> tensor<1xi32>
    %50 = stablehlo.concatenate %49, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %51 = stablehlo.dynamic_broadcast_in_dim %46, %50, dims = [0] : (tensor<?xi32>, tensor<2xi32>) -> tensor<?x1xi32>
    %52 = stablehlo.convert %51 : (tensor<?x1xi32>) -> tensor<?x1xf32>
    %53 = stablehlo.convert %arg0 : tensor<i32>
    %54 = stablehlo.multiply %53, %c_3 : tensor<i32>
    %55 = stablehlo.reshape %54 : (tensor<i32>) -> tensor<1xi32>
    %56 = stablehlo.concatenate %55, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %57 = stablehlo.dynamic_broadcast_in_dim %52, %56, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x5xf32>
    %58 = stablehlo.add %32, %57 : tensor<?x5xf32>
    return %58 : tensor<?x5xf32>
  }
}
