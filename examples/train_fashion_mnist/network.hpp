#pragma once

#include <farro/autograd/ops/pointwise.hpp>
#include <farro/nn/nn.hpp>

namespace example {

using namespace farro;

/// Two convolutions, each followed by max pooling, and two linear layers: 421,642 parameters.
struct Network : nn::Module {
  nn::Ref<nn::Conv2d> conv1{{.in_channels = 1, .out_channels = 32, .kernel_size = 3, .padding = 1}};
  nn::Ref<nn::MaxPool2d> pool1{{.kernel_size = 2}};
  nn::Ref<nn::Conv2d> conv2{
      {.in_channels = 32, .out_channels = 64, .kernel_size = 3, .padding = 1}};
  nn::Ref<nn::MaxPool2d> pool2{{.kernel_size = 2}};
  nn::Ref<nn::Linear> fc1{{.in_features = 64 * 7 * 7, .out_features = 128}};
  nn::Ref<nn::Dropout> dropout{{.p = 0.25}};
  nn::Ref<nn::Linear> fc2{{.in_features = 128, .out_features = 10}};
  FARRO_MEMBERS(Network, conv1, pool1, conv2, pool2, fc1, dropout, fc2)

  /// (batch, 1, 28, 28) to one logit for each of the ten classes.
  Tensor forward(const Tensor& image) {
    Tensor x = pool1(relu(conv1(image)));
    x = pool2(relu(conv2(x)));
    return fc2(dropout(relu(fc1(x.flatten(1)))));
  }
};

}  // namespace example
