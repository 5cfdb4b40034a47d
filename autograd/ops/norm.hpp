#pragma once

#include <farro/autograd/tensor.hpp>

/// Normalisations. Weights and biases may be undefined. Statistics are kept in float32, or float64
/// for float64 inputs.
namespace farro {

/// (x - mean)/sqrt(var + eps)·weight + bias for each channel of x [N, C, …]. Training, or without
/// running statistics, mean and (biased) variance are the batch's, and defined running statistics
/// become (1 - momentum)·running + momentum·batch in place, with the unbiased variance; else they
/// are the running ones. ShapeError for wrong shapes, ValueError for a batch of one value per
/// channel. Ioffe, Szegedy: Batch normalization, ICML 2015.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = {}, const Tensor& bias = {}, bool training = false,
                  double momentum = 0.1, double eps = 1e-5);

/// The same for each sample and channel apart. Where `use_input_stats` is false the running
/// statistics are used.
Tensor instance_norm(const Tensor& x, const Tensor& running_mean = {},
                     const Tensor& running_var = {}, const Tensor& weight = {},
                     const Tensor& bias = {}, bool use_input_stats = true, double momentum = 0.1,
                     double eps = 1e-5);

/// Over the last dimensions, whose sizes are `normalized_shape`, as are those of weight and bias.
/// Ba, Kiros, Hinton: Layer normalization, 2016.
Tensor layer_norm(const Tensor& x, IntList normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// Over groups of channels of x [N, C, …], each sample apart; weight and bias are [C].
/// Wu, He: Group normalization, ECCV 2018.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

}  // namespace farro
