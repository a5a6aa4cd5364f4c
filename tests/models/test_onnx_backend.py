"""A sample of ONNX's own backend node tests; `relax_mlir.testing.onnx_backend` runs them all."""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("onnx")

from relax_mlir.testing import onnx_backend

pytestmark = [pytest.mark.onnx, pytest.mark.slow]

# One or two of each family, chosen for what is easy to get wrong.
_NAMES = """
    test_argmax_keepdims_example_select_last_index test_attention_4d_causal
    test_averagepool_2d_ceil test_basic_conv_with_padding test_batchnorm_epsilon_training_mode
    test_bitshift_left_uint16 test_celu test_clip_example test_col2im_pads
    test_concat_3d_axis_negative_3 test_convtranspose_autopad_same
    test_cumsum_1d_reverse_exclusive test_depthtospace_crd_mode_example test_det_nd test_dft
    test_div_int32_trunc test_dynamicquantizelinear_min_adjusted test_einsum_batch_diagonal
    test_gather_negative_indices test_gathernd_example_int32_batch_dim1 test_gemm_all_attributes
    test_gridsample_bicubic test_group_normalization_epsilon test_gru_with_initial_bias
    test_hardmax_one_hot test_if_seq test_instancenorm_epsilon test_loop11 test_lrn
    test_lstm_with_peepholes test_matmulinteger test_maxpool_2d_ceil
    test_maxpool_with_argmax_2d_precomputed_strides test_mod_mixed_sign_int32
    test_nllloss_NCd1d2_with_weight_reduction_sum_ii test_nonmaxsuppression_two_classes
    test_onehot_negative_indices test_qlinearconv
    test_reduce_log_sum_exp_negative_axes_keepdims_random
    test_resize_downsample_scales_cubic_antialias test_reversesequence_batch
    test_roialign_aligned_true test_rotary_embedding_interleaved test_round test_scan9_sum
    test_scatter_elements_with_duplicate_indices test_scatternd_add
    test_sequence_insert_at_front test_shape_start_1_end_negative_1 test_slice_negative_axes
    test_softmax_axis_0 test_split_variable_parts_2d_opset18 test_stft test_tile_precomputed
    test_top_k_negative_axis test_tril_neg
    test_where_long_example test_simple_rnn_with_initial_bias test_rnn_seq_length
    test_qlinearmatmul_3D_uint8_float32 test_convinteger_with_padding
    test_optional_get_element_sequence test_optional_has_element_empty_optional_input
    test_sequence_map_add_1_sequence_1_tensor test_split_to_sequence_nokeepdims
    test_identity_sequence test_loop13_seq test_scan_sum
""".split()


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in onnx_backend.cases()}


@pytest.mark.parametrize("name", _NAMES)
def test_node(cases, name):
    if name not in cases:
        pytest.skip("this version of onnx does not have the case")
    result = onnx_backend.run_case(cases[name])
    assert result.outcome in ("passed", "passed with constants"), result.detail


def test_a_wrong_number_is_seen(cases):
    """The comparison itself: another expected value must not pass."""
    case = cases["test_add"]
    ((inputs, outputs),) = case.data_sets
    changed = dataclasses.replace(case, data_sets=[(inputs, [outputs[0] + 1])])
    result = onnx_backend.run_case(changed)
    assert result.outcome == "wrong" and "Not equal to tolerance" in result.detail
