#include <autograd/operations.hpp>

#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/shape.hpp>

/// Convolutions, pooling and normalisation. Batches may be empty, images not.
namespace farro::test {
namespace {

constexpr Skip kNoImage{Kind::ZeroD, "takes batches of images"};
constexpr Skip kOneValue{Kind::One, "normalises over more than one element"};

Operand signal() { return of({0, 2, 3}, {1, 1, 1}, {1, 2, 5}); }
Operand image() { return of({0, 2, 3, 3}, {1, 1, 1, 1}, {1, 2, 3, 5}); }
Operand volume() { return of({0, 2, 1, 2, 3}, {1, 1, 1, 1, 1}, {1, 2, 1, 3, 3}); }
/// A number for each channel of those.
Operand channels() { return of({2}, {1}, {2}); }

std::vector<Operation> convolutions() {
  return {
      {"conv1d",
       [](const Inputs& x) { return conv1d(x[0], x[1], x[2], {.padding = 1, .dilation = 2}); },
       {signal(), of({2, 2, 2}, {1, 1, 1}, {2, 2, 3}), channels()},
       {kNoImage}},
      {"conv2d",
       [](const Inputs& x) { return conv2d(x[0], x[1], x[2], {.stride = 2, .padding = 1}); },
       {image(), of({2, 2, 3, 2}, {1, 1, 1, 1}, {2, 2, 3, 1}), channels()},
       {kNoImage}},
      {"conv2d in groups",
       [](const Inputs& x) { return conv2d(x[0], x[1], {}, {.groups = x[0].size(1)}); },
       {image(), of({2, 1, 2, 2}, {1, 1, 1, 1}, {2, 1, 1, 3})},
       {kNoImage}},
      {"conv3d",
       [](const Inputs& x) { return conv3d(x[0], x[1], x[2]); },
       {volume(), of({2, 2, 1, 2, 2}, {1, 1, 1, 1, 1}, {2, 2, 1, 3, 1}), channels()},
       {kNoImage}},
      {"conv_transpose1d",
       [](const Inputs& x) {
         return conv_transpose1d(x[0], x[1], x[2], {.stride = 2, .output_padding = 1});
       },
       {signal(), of({2, 2, 2}, {1, 1, 1}, {2, 2, 3}), channels()},
       {kNoImage}},
      {"conv_transpose2d",
       [](const Inputs& x) { return conv_transpose2d(x[0], x[1], x[2]); },
       {image(), of({2, 2, 3, 2}, {1, 1, 1, 1}, {2, 2, 1, 3}), channels()},
       {kNoImage}},
      {"conv_transpose3d",
       [](const Inputs& x) { return conv_transpose3d(x[0], x[1], x[2]); },
       {volume(), of({2, 2, 1, 2, 2}, {1, 1, 1, 1, 1}, {2, 2, 1, 1, 3}), channels()},
       {kNoImage}},
  };
}

std::vector<Operation> pools() {
  return {
      {"max_pool1d",
       [](const Inputs& x) { return square(max_pool1d(x[0], 2, 1, 1)); },
       {signal()},
       {kNoImage}},
      {"max_pool2d",
       [](const Inputs& x) { return square(max_pool2d(x[0], 2, 1, 1)); },
       {image()},
       {kNoImage}},
      {"max_pool3d",
       [](const Inputs& x) { return square(max_pool3d(x[0], 2, 1, 1)); },
       {volume()},
       {kNoImage}},
      {"max_pool1d_with_indices",
       [](const Inputs& x) { return max_pool1d_with_indices(square(x[0]), 2, 1, 1); },
       {signal()},
       {kNoImage}},
      {"max_pool2d_with_indices",
       [](const Inputs& x) { return max_pool2d_with_indices(square(x[0]), 2, 1, 1); },
       {image()},
       {kNoImage}},
      {"max_pool3d_with_indices",
       [](const Inputs& x) { return max_pool3d_with_indices(square(x[0]), 2, 1, 1); },
       {volume()},
       {kNoImage}},
      {"avg_pool1d",
       [](const Inputs& x) { return square(avg_pool1d(x[0], 2, 1, 1)); },
       {signal()},
       {kNoImage}},
      {"avg_pool2d",
       [](const Inputs& x) {
         return square(avg_pool2d(x[0], {2, 3}, 2, 1, true, false));
       },
       {image()},
       {kNoImage}},
      {"avg_pool3d",
       [](const Inputs& x) { return square(avg_pool3d(x[0], 2, 1, 1)); },
       {volume()},
       {kNoImage}},
  };
}

std::vector<Operation> normalisations() {
  return {
      {"batch_norm",
       [](const Inputs& x) { return batch_norm(x[0], {}, {}, x[1], x[2], true); },
       {image(), channels(), channels()},
       {kNoImage, kOneValue}},
      {"batch_norm by running statistics",
       [](const Inputs& x) {
         TensorOptions like{.dtype = x[0].dtype(), .device = x[0].device()};
         return batch_norm(x[0] * x[0], full(x[1].sizes(), 0.3, like), full(x[1].sizes(), 2, like),
                           x[1], x[2]);
       },
       {image(), channels(), channels()},
       {kNoImage}},
      {"instance_norm",
       [](const Inputs& x) { return instance_norm(x[0], {}, {}, x[1], x[2]); },
       {image(), channels(), channels()},
       {kNoImage, kOneValue}},
      {"layer_norm",
       [](const Inputs& x) { return layer_norm(x[0], {x[0].size(-1)}, x[1], x[2]); },
       {any(), of({3}, {1}, {5}), of({3}, {1}, {5})},
       {{Kind::ZeroD, "normalises over dimensions"}}},
      {"layer_norm of everything",
       [](const Inputs& x) { return layer_norm(x[0], x[0].sizes()); },
       {any()},
       {{Kind::ZeroD, "normalises over dimensions"}}},
      {"group_norm",
       [](const Inputs& x) { return group_norm(x[0], x[0].size(1), x[1], x[2]); },
       {image(), channels(), channels()},
       {kNoImage}},
  };
}

}  // namespace

std::vector<Operation> layer_operations() {
  std::vector<Operation> list;
  for (auto make : {convolutions, pools, normalisations}) {
    for (Operation& operation : make()) list.push_back(std::move(operation));
  }
  return list;
}

}  // namespace farro::test
