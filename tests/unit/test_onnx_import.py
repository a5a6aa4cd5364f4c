"""`from_onnx`: signature, names, shapes over symbols, weights, functions, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax.frontend import detach_params
from relax_mlir.relax.frontend.onnx import (
    ConstantNeededError,
    OnnxError,
    UnsupportedOnnxOperatorError,
    from_onnx,
)

onnx = pytest.importorskip("onnx")
TensorProto, helper = onnx.TensorProto, onnx.helper

pytestmark = [pytest.mark.onnx, pytest.mark.filterwarnings("ignore:Field 'shape' of 'type'")]

F = TensorProto.FLOAT
I64 = TensorProto.INT64


def make_model(nodes, inputs, outputs, initializers=(), opset=20, **keywords):
    """A model from nodes; inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in initializers],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **keywords)


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def run(model, *inputs, **options):
    module = from_onnx(model, **options)
    program = relax.VirtualMachine(relax_mlir.compile(module), relax_mlir.cpu())
    result = program["main"](*inputs)
    return result.numpy() if hasattr(result, "numpy") else [r.numpy() for r in result]


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


# -- shapes over symbols ---------------------------------------------------------------------


def head_split_model():
    """What exporters write for x.view(batch, length, heads, -1).transpose(1, 2)."""
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "batch", axis=0),
        node("Gather", "shape one", "length", axis=0),
        node("Unsqueeze", "batch axes", "batch1"),
        node("Unsqueeze", "length axes", "length1"),
        node("Concat", "batch1 length1 heads rest", "target", axis=0),
        node("Reshape", "x target", "split"),
        node("Transpose", "split", "y", perm=[0, 2, 1, 3]),
    ]
    numbers = [("zero", 0), ("one", 1)]
    initializers = [(name, np.array(value)) for name, value in numbers]
    initializers += [(n, np.array([v])) for n, v in (("axes", 0), ("heads", 4), ("rest", -1))]
    shape = ["batch", "length", 32]
    return make_model(nodes, [("x", F, shape)], [("y", F, None)], initializers)


def test_shape_arithmetic_leaves_nothing_to_run():
    module = from_onnx(head_split_model())
    text = module.mlir()
    assert "shape_of" not in text and "shape_to_tensor" not in text and "take" not in text
    assert '["batch", 4, "length", 8]' in text


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (2, 7), (3, 0)])
def test_symbols_take_any_size(batch, length):
    x = random(batch, length, 32)
    y = run(head_split_model(), x)
    np.testing.assert_array_equal(y, x.reshape(batch, length, 4, 8).transpose(0, 2, 1, 3))


def test_shape_dict_overrides_the_model():
    module = from_onnx(head_split_model(), {"x": [2, 3, 32]})
    assert module["main"].params[0].struct_info.shape == [2, 3, 32]


def test_equal_names_are_one_symbol():
    model = make_model(
        [node("Add", "a b", "y")], [("a", F, ["n", 2]), ("b", F, ["n", 2])], [("y", F, None)]
    )
    a, b = random(5, 2), random(5, 2, seed=1)
    np.testing.assert_array_equal(run(model, a, b), a + b)
    with pytest.raises(Exception, match="n"):
        run(model, a, random(4, 2))


@pytest.mark.parametrize(
    ("starts", "ends", "expected"),
    [
        ([1], [3], lambda x: x[1:3]),
        ([-2], [1 << 62], lambda x: x[-2:]),
        ([0], [-1], lambda x: x[:-1]),
        ([4], [100], lambda x: x[4:100]),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 6])
def test_slices_of_symbolic_sizes_are_cut(starts, ends, expected, size):
    model = make_model(
        [node("Slice", "x s e", "y")],
        [("x", F, ["n"])],
        [("y", F, None)],
        [("s", np.array(starts)), ("e", np.array(ends))],
    )
    x = random(size)
    np.testing.assert_array_equal(run(model, x), expected(x))


def test_expand_with_minus_one_replaced():
    """expand(-1, n): torch writes Where(Equal(shape, -1), ones, shape)."""
    nodes = [
        node("Shape", "x", "n"),
        node("Concat", "two n", "shape", axis=0),
        node("Equal", "shape minus", "is_minus"),
        node("Where", "is_minus ones shape", "final"),
        node("Expand", "x final", "y"),
    ]
    initializers = [
        ("two", np.array([2])),
        ("minus", np.array([-1, -1])),
        ("ones", np.array([1, 1])),
    ]
    model = make_model(nodes, [("x", F, ["n"])], [("y", F, None)], initializers)
    x = random(5)
    np.testing.assert_array_equal(run(model, x), np.broadcast_to(x, (2, 5)))


# -- weights and names -----------------------------------------------------------------------


def linear_model():
    return make_model(
        [node("Gemm", "x w b", "y", transB=1)],
        [("x", F, ["n", 3])],
        [("y", F, None)],
        [("w", random(4, 3)), ("onnx::b", random(4, seed=1))],
    )


def test_initializers_are_constants_or_parameters():
    model = linear_model()
    model.graph.node[0].input[2] = "onnx::b"
    x = random(2, 3, seed=2)
    expected = x @ random(4, 3).T + random(4, seed=1)
    np.testing.assert_allclose(run(model, x), expected, rtol=1e-5, atol=1e-5)
    module, params = detach_params(from_onnx(model, keep_params_in_input=True))
    assert [p.name_hint for p in module["main"].params] == ["x", "w", "b"]
    assert module["main"].attrs["num_input"] == 1
    program = relax.VirtualMachine(relax_mlir.compile(module), relax_mlir.cpu())
    result = program["main"](x, *params["main"]).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_kept_parameters_still_serve_as_shapes():
    model = make_model(
        [node("Reshape", "x s", "y")],
        [("x", F, [2, 6])],
        [("y", F, None)],
        [("s", np.array([3, 4]))],
    )
    module = from_onnx(model, keep_params_in_input=True)
    assert module["main"].struct_info.ret.shape == [3, 4]


def test_names_become_identifiers_with_a_warning():
    model = make_model([node("Relu", "a.b/0", "y")], [("a.b/0", F, [2])], [("y", F, None)])
    with pytest.warns(UserWarning, match="Renaming name"):
        module = from_onnx(model)
    assert module["main"].params[0].name_hint == "a_b_0"


def test_external_data_is_read_beside_the_model(tmp_path):
    model = make_model(
        [node("Add", "x w", "y")], [("x", F, [300])], [("y", F, None)], [("w", random(300))]
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=16)
    x = random(300, seed=3)
    np.testing.assert_array_equal(run(path, x), x + random(300))
    (tmp_path / "w.bin").unlink()
    with pytest.raises(OnnxError, match="'w' cannot be read"):
        from_onnx(path)


# -- operator sets ---------------------------------------------------------------------------


def test_softmax_changed_its_meaning_with_version_13():
    x = random(2, 3, 4)
    for opset, axes in ((11, (1, 2)), (13, (1,))):
        model = make_model(
            [node("Softmax", "x", "y", axis=1)],
            [("x", F, [2, 3, 4])],
            [("y", F, None)],
            opset=opset,
        )
        e = np.exp(x)
        np.testing.assert_allclose(run(model, x), e / e.sum(axes, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("opset", range(7, onnx.defs.onnx_opset_version() + 1))
def test_operators_whose_attributes_became_inputs(opset):
    """Every operator set from 7 on: slices (10), bounds and padding (11), axes (13) and the axes
    of reductions (18) moved from attributes to inputs."""
    constants = []

    def moved(operator, since, source, result, **values):
        """A node that takes `values` as inputs from version `since` on."""
        if opset < since:
            return node(operator, source, result, **values)
        names = []
        for name, value in values.items():
            dtype = "float32" if operator == "Clip" else "int64"
            constants.append((f"{operator}_{name}", np.array(value, dtype)))
            names.append(f"{operator}_{name}")
        return node(operator, " ".join([source, *names]), result)

    nodes = [
        moved("Slice", 10, "x", "a", starts=[1], ends=[3], axes=[1]),
        moved("Clip", 11, "a", "b", min=-0.5, max=0.7),
        moved("Pad", 11, "b", "c", pads=[0, 1, 0, 0]),
        moved("Unsqueeze", 13, "c", "d", axes=[0]),
        moved("ReduceSum", 13, "d", "e", axes=[2]),
        moved("ReduceMax", 18, "e", "f", axes=[0]),
        moved("Squeeze", 13, "f", "y", axes=[0]),
    ]
    model = make_model(nodes, [("x", F, [4, 5])], [("y", F, None)], constants, opset=opset)
    x = random(4, 5)
    expected = np.clip(x[:, 1:3], -0.5, 0.7).sum(1)[None].max(0)
    np.testing.assert_allclose(run(model, x).reshape(-1), expected, rtol=1e-5)


def test_opset_argument_overrides_the_model():
    model = make_model(
        [node("Softmax", "x", "y", axis=1)], [("x", F, [2, 3, 4])], [("y", F, None)], opset=13
    )
    x = random(2, 3, 4)
    e = np.exp(x)
    with pytest.warns(UserWarning, match="older than the model's"):
        y = run(model, x, opset=11)
    np.testing.assert_allclose(y, e / e.sum((1, 2), keepdims=True), rtol=1e-5)


def test_functions_of_the_model_are_inlined():
    body = helper.make_function(
        "my", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], [helper.make_opsetid("", 20)]
    )
    call = helper.make_node("Twice", ["x"], ["y"], domain="my")
    model = make_model([call], [("x", F, [3])], [("y", F, None)], functions=[body])
    model.opset_import.append(helper.make_opsetid("my", 1))
    x = random(3)
    np.testing.assert_array_equal(run(model, x), 2 * x)


def test_custom_converter():
    model = make_model([node("NotThere", "x", "y")], [("x", F, [3])], [("y", F, None)])
    converters = {"NotThere": lambda n: n.ops.exp(n.tensor(0))}
    x = random(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = run(model, x, custom_convert_map=converters)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


# -- control flow ----------------------------------------------------------------------------


def branch(op_type, name):
    return helper.make_graph(
        [node(op_type, "x", name)], name, [], [helper.make_tensor_value_info(name, F, None)]
    )


def if_model(condition_is_input):
    inputs = [("x", F, [3])] + ([("c", TensorProto.BOOL, [])] if condition_is_input else [])
    nodes = [node("If", "c", "y", then_branch=branch("Exp", "t"), else_branch=branch("Neg", "e"))]
    initializers = [] if condition_is_input else [("c", np.array(False))]
    return make_model(nodes, inputs, [("y", F, None)], initializers)


def test_if_decided_by_the_program():
    x = random(3)
    for condition, expected in ((True, np.exp(x)), (False, -x)):
        result = run(if_model(True), x, np.array(condition))
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_if_decided_while_importing_leaves_one_branch():
    module = from_onnx(if_model(False))
    assert "relax.if" not in module.mlir() and "relax.negative" in module.mlir()


def loop_model(body_condition):
    """y = x doubled until the trip count or the condition stops it."""
    body = helper.make_graph(
        [
            node("Add", "v v", "v_out"),
            node("ReduceSum", "v_out", "total", keepdims=0),
            node("Less", "total limit", "c_out")
            if body_condition
            else node("Identity", "c", "c_out"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", I64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", F, [2]),
        ],
        [
            helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v_out", F, [2]),
        ],
    )
    initializers = [
        ("trips", np.array(5)),
        ("start", np.array(True)),
        ("limit", np.array(10, "float32")),
    ]
    loop = node("Loop", "trips start x", "y", body=body)
    return make_model([loop], [("x", F, [2])], [("y", F, None)], initializers)


@pytest.mark.parametrize(("body_condition", "expected"), [(False, 32.0), (True, 8.0)])
def test_loop_by_count_and_by_condition(body_condition, expected):
    x = np.ones(2, "float32")
    np.testing.assert_array_equal(run(loop_model(body_condition), x), expected * x)


# -- errors ----------------------------------------------------------------------------------


def test_all_unknown_operators_are_named_at_once():
    model = make_model(
        [
            node("Foo", "x", "a"),
            node("Foo", "a", "b"),
            helper.make_node("Bar", ["b"], ["y"], domain="com.microsoft", name="last"),
        ],
        [("x", F, [3])],
        [("y", F, None)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UnsupportedOnnxOperatorError) as caught:
            from_onnx(model)
    text = str(caught.value)
    assert "Foo (2 times, first at 'a')" in text
    assert "com.microsoft.Bar (1 times, first at 'last')" in text
    assert "custom_convert_map" in text


def test_a_value_needed_while_importing_is_named():
    model = make_model(
        [node("ReduceSum", "x axes", "y")],
        [("x", F, [2, 3]), ("axes", I64, [1])],
        [("y", F, None)],
    )
    with pytest.raises(ConstantNeededError, match=r"ReduceSum.*'axes'") as caught:
        from_onnx(model)
    assert caught.value.name == "axes"


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ("model", OnnxError, "No such file|expected"),
        (None, OnnxError, "expected an onnx.ModelProto"),
    ],
)
def test_what_is_no_model_is_refused(model, error, message):
    with pytest.raises((error, OSError), match=message):
        from_onnx(model)


def test_strings_are_refused():
    model = make_model(
        [node("Identity", "x", "y")],
        [("x", TensorProto.STRING, [3])],
        [("y", TensorProto.STRING, [3])],
    )
    with pytest.raises(UnsupportedOnnxOperatorError, match="STRING"):
        from_onnx(model)


def test_shapes_that_do_not_fit_name_the_node():
    model = make_model(
        [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")],
        [("a", F, [2, 3]), ("b", F, [4, 5])],
        [("y", F, None)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match="'MatMul' \\(node 'product'\\)"):
            from_onnx(model)
