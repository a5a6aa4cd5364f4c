"""The programs of a reader's notes on machine-learning compilation (seed document 001)."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, te
from relax_mlir.ir.module import IRModule
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.testing import assert_allclose


def close(actual, desired) -> None:
    """float32 sums of up to 784 products: errors up to a few parts in 10^5."""
    assert_allclose(actual, desired, rtol=1e-5, atol=2e-5)


# -- building an IRModule ---------------------------------------------------------------------


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    assert A.shape[1] == B.shape[0]
    n = A.shape[0]
    m = B.shape[1]
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda *i: te.max(A(*i), tvm.tir.const(0, "float32")), name="relu")


@T.prim_func
def matmul_as_printed(
    A: T.Buffer[(128, 128), "float32"],
    B: T.Buffer[(128, 128), "float32"],
    matmul: T.Buffer[(128, 128), "float32"],
) -> None:
    # function attr dict
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    # body
    # with T.block("root")
    for i0, i1, i2 in T.grid(128, 128, 128):
        with T.block("matmul"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            T.reads(A[i, k], B[k, j])
            T.writes(matmul[i, j])
            with T.init():
                matmul[i, j] = T.float32(0)
            matmul[i, j] = matmul[i, j] + A[i, k] * B[k, j]


def run_prim_func(function, *arrays: np.ndarray) -> None:
    built = tvm.build(IRModule.from_expr(function), target="llvm")
    tensors = [tvm.nd.array(a) for a in arrays]
    built(*tensors)
    arrays[-1][...] = tensors[-1].numpy()


def test_tensor_expression_becomes_tensorir() -> None:
    A = te.placeholder((128, 128), name="A", dtype="float32")
    B = te.placeholder((128, 128), name="B", dtype="float32")
    assert type(A).__name__ == "Tensor"
    assert str(A.shape) == "[128, 128]"
    C = te_matmul(A, B)
    function = te.create_prim_func([A, B, C])
    function.show()
    text = function.script()
    assert 'T.block("matmul")' in text
    assert "for i, j, k in T.grid(128, 128, 128):" in text or "T.grid(128, 128, 128)" in text
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((128, 128), dtype=np.float32) for _ in range(2))
    for candidate in (function, matmul_as_printed):
        c = np.empty((128, 128), np.float32)
        run_prim_func(candidate, a, b, c)
        close(c, a @ b)


def test_block_builder_joins_tensor_functions() -> None:
    A = relax.Var("A", (128, 128), relax.DynTensorType(2, "float32"))
    B = relax.Var("B", (128, 128), relax.DynTensorType(2, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            C = bb.emit_te(te_matmul, A, B)
            D = bb.emit_te(te_relu, C)
            out = bb.emit_output(D)
        bb.emit_func_output(out, params=[A, B])
    module = bb.get()
    module.show()
    assert {v.name_hint for v in module.get_global_vars()} == {"main", "te_matmul", "te_relu"}
    assert tvm.script.from_source(module.script()) == module
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((128, 128), dtype=np.float32) for _ in range(2))
    vm = relax.VirtualMachine(relax.vm.build(module, target="llvm"), tvm.cpu())
    result = vm["main"](tvm.nd.array(a), tvm.nd.array(b))
    close(result.numpy(), np.maximum(a @ b, 0))


# -- importing from PyTorch with the notes' own importer --------------------------------------


def map_param(param):
    ndim = len(param.data.shape)
    return relax.const(param.data.cpu().numpy(), relax.DynTensorType(ndim, "float32"))


def fetch_attr(fx_mod, target: str):
    """Helper function to fetch an attr"""
    target_atoms = target.split(".")
    attr_itr = fx_mod
    for i, atom in enumerate(target_atoms):
        if not hasattr(attr_itr, atom):
            raise RuntimeError(f"Node referenced nonexistant target {'.'.join(target_atoms[:i])}")
        attr_itr = getattr(attr_itr, atom)
    return attr_itr


def from_fx(fx_mod, input_shapes, call_function_map, call_module_map):
    input_index = 0
    node_map = {}
    named_modules = dict(fx_mod.named_modules())
    bb = relax.BlockBuilder()
    fn_inputs = []
    fn_output = None
    with bb.function("main"):
        with bb.dataflow():
            for node in fx_mod.graph.nodes:
                if node.op == "placeholder":
                    # create input placeholder
                    shape = input_shapes[input_index]
                    input_index += 1
                    input_var = relax.Var(
                        node.target, shape, relax.DynTensorType(len(shape), "float32")
                    )
                    fn_inputs.append(input_var)
                    node_map[node] = input_var
                elif node.op == "get_attr":
                    node_map[node] = map_param(fetch_attr(fx_mod, node.target))
                elif node.op == "call_function":
                    node_map[node] = call_function_map[node.target](bb, node_map, node)
                elif node.op == "call_module":
                    named_module = named_modules[node.target]
                    node_map[node] = call_module_map[type(named_module)](
                        bb, node_map, node, named_module
                    )
                elif node.op == "output":
                    output = node_map[node.args[0]]
                    assert fn_output is None
                    fn_output = bb.emit_output(output)
        # output and finalize the function
        bb.emit_func_output(output, fn_inputs)
    return bb.get()


@pytest.mark.torch
def test_from_fx_with_tensor_functions() -> None:
    torch = pytest.importorskip("torch")
    from torch import fx, nn

    class MyModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(128, 128))

        def forward(self, x):
            x = torch.matmul(x, self.weight)
            x = torch.relu(x)
            return x

    def map_matmul(bb, node_map, node: fx.Node):
        A = node_map[node.args[0]]
        B = node_map[node.args[1]]
        return bb.emit_te(te_matmul, A, B)

    def map_relu(bb, node_map, node: fx.Node):
        A = node_map[node.args[0]]
        return bb.emit_te(te_relu, A)

    torch.manual_seed(0)
    model = MyModel()
    module = from_fx(
        fx.symbolic_trace(model),
        input_shapes=[(1, 128)],
        call_function_map={torch.matmul: map_matmul, torch.relu: map_relu},
        call_module_map={},
    )
    module.show()
    x = torch.randn(1, 128)
    vm = relax.VirtualMachine(relax.vm.build(module, target="llvm"), tvm.cpu())
    with torch.no_grad():
        close(vm["main"](tvm.nd.array(x.numpy())).numpy(), model(x).numpy())
        close(vm["main"](x).numpy(), model(x).numpy())


@pytest.mark.torch
def test_from_fx_with_operators() -> None:
    torch = pytest.importorskip("torch")
    from torch import fx, nn

    torch.manual_seed(1)
    mlp_model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))

    def map_nn_relu_op(bb, node_map, node, nn_mod):
        A = node_map[node.args[0]]
        return bb.emit(relax.op.relu(A))

    def map_nn_linear_op(bb, node_map, node, nn_mod):
        x = node_map[node.args[0]]
        w = map_param(nn_mod.weight)
        if nn_mod.bias is not None:
            b = map_param(nn_mod.bias)
        y = bb.emit(relax.op.dense(x, w))
        return bb.emit(relax.op.add(y, b))

    module = from_fx(
        fx.symbolic_trace(mlp_model),
        input_shapes=[(1, 784)],
        call_function_map={},
        call_module_map={nn.Linear: map_nn_linear_op, nn.ReLU: map_nn_relu_op},
    )
    module.show()
    x = torch.randn(1, 784)
    vm = relax.VirtualMachine(relax.vm.build(module, target="llvm"), tvm.cpu())
    with torch.no_grad():
        close(vm["main"](x.numpy()).numpy(), mlp_model(x).numpy())


# -- end to end: tensor functions, library functions, and both --------------------------------


@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def relu0(X: T.Buffer[(1, 128), "float32"], Y: T.Buffer[(1, 128), "float32"]):
        # function attr dict
        T.func_attr({"global_symbol": "relu0", "tir.noalias": True})
        for i, j in T.grid(1, 128):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func
    def linear0(
        X: T.Buffer[(1, 784), "float32"],
        W: T.Buffer[(128, 784), "float32"],
        B: T.Buffer[(128,), "float32"],
        Z: T.Buffer[(1, 128), "float32"],
    ):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        Y = T.alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @T.prim_func
    def linear1(
        X: T.Buffer[(1, 128), "float32"],
        W: T.Buffer[(10, 128), "float32"],
        B: T.Buffer[(10,), "float32"],
        Z: T.Buffer[(1, 10), "float32"],
    ):
        T.func_attr({"global_symbol": "linear1", "tir.noalias": True})
        Y = T.alloc_buffer((1, 10), "float32")
        for i, j, k in T.grid(1, 10, 128):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 10):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: Tensor((1, 784), "float32"),
        w0: Tensor((128, 784), "float32"),
        b0: Tensor((128,), "float32"),
        w1: Tensor((10, 128), "float32"),
        b1: Tensor((10,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir(relu0, (lv0,), (1, 128), dtype="float32")
            out = R.call_tir(linear1, (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


@tvm.script.ir_module
class MyModuleWithExternCall:
    @R.function
    def main(
        x: Tensor((1, 784), "float32"),
        w0: Tensor((128, 784), "float32"),
        b0: Tensor((128,), "float32"),
        w1: Tensor((10, 128), "float32"),
        b1: Tensor((10,), "float32"),
    ):
        # block 0
        with R.dataflow():
            lv0 = R.call_tir("env.linear", (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir("env.relu", (lv0,), (1, 128), dtype="float32")
            out = R.call_tir("env.linear", (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


@tvm.script.ir_module
class MyModuleMixture:
    @T.prim_func
    def linear0(
        X: T.Buffer[(1, 784), "float32"],
        W: T.Buffer[(128, 784), "float32"],
        B: T.Buffer[(128,), "float32"],
        Z: T.Buffer[(1, 128), "float32"],
    ):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        Y = T.alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: Tensor((1, 784), "float32"),
        w0: Tensor((128, 784), "float32"),
        b0: Tensor((128,), "float32"),
        w1: Tensor((10, 128), "float32"),
        b1: Tensor((10,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir("env.relu", (lv0,), (1, 128), dtype="float32")
            out = R.call_tir("env.linear", (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


@pytest.fixture
def library() -> None:
    @tvm.register_func("env.linear", override=True)
    def library_linear(
        x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray
    ):
        out.copyfrom(x.numpy() @ w.numpy().T + b.numpy())

    @tvm.register_func("env.relu", override=True)
    def lnumpy_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(out))


@pytest.fixture
def torch_library() -> None:
    torch = pytest.importorskip("torch")

    @tvm.register_func("env.linear", override=True)
    def torch_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
        x_torch = torch.from_dlpack(x)
        w_torch = torch.from_dlpack(w)
        b_torch = torch.from_dlpack(b)
        out_torch = torch.from_dlpack(out)
        torch.mm(x_torch, w_torch.T, out=out_torch)
        torch.add(out_torch, b_torch, out=out_torch)

    @tvm.register_func("env.relu", override=True)
    def torch_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        torch.maximum(torch.from_dlpack(x), torch.Tensor([0.0]), out=torch.from_dlpack(out))


def mlp_data(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    params = {
        name: rng.standard_normal(shape, dtype=np.float32) * np.float32(0.05)
        for name, shape in shapes.items()
    }
    x = rng.standard_normal((1, 784), dtype=np.float32)
    hidden = np.maximum(x @ params["w0"].T + params["b0"], 0)
    return x, params, hidden @ params["w1"].T + params["b1"]


def test_build_and_run() -> None:
    x, params, expected = mlp_data(2)
    nd_params = {k: tvm.nd.array(v) for k, v in params.items()}
    ex = relax.vm.build(MyModule, target="llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    nd_res = vm["main"](
        tvm.nd.array(x), nd_params["w0"], nd_params["b0"], nd_params["w1"], nd_params["b1"]
    )
    close(nd_res.numpy(), expected)


@pytest.mark.parametrize("module", [MyModuleWithExternCall, MyModuleMixture], ids=["env", "both"])
def test_library_functions(module: IRModule, library: None) -> None:
    x, params, expected = mlp_data(3)
    vm = relax.VirtualMachine(relax.vm.build(module, target="llvm"), tvm.cpu())
    result = vm["main"](tvm.nd.array(x), *(tvm.nd.array(v) for v in params.values()))
    close(result.numpy(), expected)


@pytest.mark.torch
def test_library_functions_in_torch(torch_library: None) -> None:
    x, params, expected = mlp_data(4)
    vm = relax.VirtualMachine(relax.vm.build(MyModuleMixture, target="llvm"), tvm.cpu())
    result = vm["main"](tvm.nd.array(x), *(tvm.nd.array(v) for v in params.values()))
    close(result.numpy(), expected)


def test_bind_params_and_time(library: None) -> None:
    x, params, expected = mlp_data(5)
    nd_params = {k: tvm.nd.array(v) for k, v in params.items()}
    MyModuleWithParams = relax.transform.BindParams("main", nd_params)(MyModuleMixture)
    ex = relax.vm.build(MyModuleWithParams, target="llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    data_nd = tvm.nd.array(x)
    close(vm["main"](data_nd).numpy(), expected)
    vm.set_input("main", data_nd)
    ftimer = vm.module.time_evaluator("main", tvm.cpu(), number=10)
    assert ftimer(data_nd).mean > 0


def test_take_one_function_out_and_put_it_back(library: None) -> None:
    x, params, expected = mlp_data(6)
    nd_params = {k: tvm.nd.array(v) for k, v in params.items()}
    mod_linear = tvm.IRModule.from_expr(
        MyModuleMixture["linear0"].with_attr("global_symbol", "main")
    )
    assert "def main(" in mod_linear.script()
    sch = tvm.tir.Schedule(mod_linear)
    _, j, _ = sch.get_loops(sch.get_block("Y"))
    sch.split(j, factors=[None, 32])
    module = relax.transform.BindParams("main", nd_params)(MyModuleMixture)
    new_func = sch.mod["main"].with_attr("global_symbol", "linear0")
    gv = module.get_global_var("linear0")
    module.update_func(gv, new_func)
    assert "T.grid(1, 4, 32, 784)" in module.script()
    vm = relax.VirtualMachine(relax.vm.build(module, target="llvm"), tvm.cpu())
    close(vm["main"](tvm.nd.array(x)).numpy(), expected)


# -- TensorIR ---------------------------------------------------------------------------------


@tvm.script.ir_module
class MatmulRelu:
    @T.prim_func
    def mm_relu(
        A: T.Buffer[(128, 128), "float32"],
        B: T.Buffer[(128, 128), "float32"],
        C: T.Buffer[(128, 128), "float32"],
    ):
        T.func_attr({"global_symbol": "mm_relu", "tir.noalias": True})
        Y = T.alloc_buffer((128, 128), dtype="float32")
        for i, j, k in T.grid(128, 128, 128):
            with T.block("Y"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                vk = T.axis.reduce(128, k)
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


def test_matmul_relu_by_name() -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.random((128, 128), dtype=np.float32) for _ in range(2))
    built = tvm.build(MatmulRelu, target="llvm")
    c = tvm.nd.array(np.empty((128, 128), np.float32))
    built["mm_relu"](tvm.nd.array(a), tvm.nd.array(b), c)
    close(c.numpy(), np.maximum(a @ b, 0))


@pytest.mark.parametrize(
    "module",
    [MyModule, MyModuleWithExternCall, MyModuleMixture, MatmulRelu],
    ids=["tir", "env", "both", "mm_relu"],
)
def test_both_texts_round_trip(module: IRModule) -> None:
    assert IRModule.parse(module.mlir()) == module
    again = tvm.script.from_source(module.script())
    assert again == module
    assert again.script() == module.script()
