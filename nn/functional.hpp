#pragma once

#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/random_fill.hpp>
#include <farro/autograd/ops/softmax.hpp>

/// The functions that layers compute, without state. Usually `namespace F = farro::nn::functional`.
namespace farro::nn::functional {

using farro::conv1d;
using farro::conv2d;
using farro::conv3d;
using farro::conv_transpose1d;
using farro::conv_transpose2d;
using farro::conv_transpose3d;
using farro::linear;

using farro::avg_pool1d;
using farro::avg_pool2d;
using farro::avg_pool3d;
using farro::max_pool1d;
using farro::max_pool1d_with_indices;
using farro::max_pool2d;
using farro::max_pool2d_with_indices;
using farro::max_pool3d;
using farro::max_pool3d_with_indices;

using farro::batch_norm;
using farro::group_norm;
using farro::instance_norm;
using farro::layer_norm;

using farro::celu;
using farro::elu;
using farro::gelu;
using farro::hardshrink;
using farro::hardsigmoid;
using farro::hardswish;
using farro::hardtanh;
using farro::leaky_relu;
using farro::mish;
using farro::prelu;
using farro::relu;
using farro::relu6;
using farro::selu;
using farro::sigmoid;
using farro::silu;
using farro::softplus;
using farro::softshrink;
using farro::softsign;
using farro::tanh;
using farro::tanhshrink;
using farro::threshold;
inline Tensor logsigmoid(const Tensor& x) { return log_sigmoid(x); }

using farro::log_softmax;
using farro::softmax;
using farro::softmin;

using farro::cross_entropy;
using farro::l1_loss;
using farro::mse_loss;
using farro::nll_loss;
using farro::Reduction;

using farro::dropout;
using farro::one_hot;

}  // namespace farro::nn::functional
