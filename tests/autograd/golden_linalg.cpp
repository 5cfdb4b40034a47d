#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/matmul.hpp>

namespace farro::test {
namespace {

SpatialSizes sizes(const Call& c, size_t position, std::string_view name, int64_t otherwise) {
  const Value& value = c.value(position, name);
  return value.is_null() ? SpatialSizes(otherwise) : SpatialSizes(IntList(value.integers()));
}

using Conv = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&);

void add_conv(OpTable& t, const std::string& name, Conv conv) {
  t.add(name, [conv](const Call& c) {
    ConvOptions options{.stride = sizes(c, 3, "stride", 1),
                        .dilation = sizes(c, 5, "dilation", 1),
                        .groups = c.integer(6, "groups", 1)};
    const Value& padding = c.value(4, "padding");
    options.padding = padding.is<std::string>() ? ConvPadding(padding.text())
                                                : ConvPadding(sizes(c, 4, "padding", 0));
    return conv(c.tensor(0), c.tensor(1), c.tensor(2, "bias"), options);
  });
}

using ConvTranspose = Tensor (*)(const Tensor&, const Tensor&, const Tensor&,
                                 const ConvTransposeOptions&);

void add_conv_transpose(OpTable& t, const std::string& name, ConvTranspose conv) {
  t.add(name, [conv](const Call& c) {
    ConvTransposeOptions options{.stride = sizes(c, 3, "stride", 1),
                                 .padding = sizes(c, 4, "padding", 0),
                                 .output_padding = sizes(c, 5, "output_padding", 0),
                                 .groups = c.integer(6, "groups", 1),
                                 .dilation = sizes(c, 7, "dilation", 1)};
    return conv(c.tensor(0), c.tensor(1), c.tensor(2, "bias"), options);
  });
}

}  // namespace

void add_linalg_ops(OpTable& t) {
  t.binary("matmul", matmul);
  t.binary("mm", mm);
  t.binary("bmm", bmm);
  t.binary("mv", mv);
  t.binary("dot", dot);
  t.binary("outer", outer);
  auto with_summand = [&](const std::string& name,
                          Tensor (*f)(const Tensor&, const Tensor&, const Tensor&, AddmmOptions)) {
    t.add(name, [f](const Call& c) {
      return f(
          c.tensor(0), c.tensor(1), c.tensor(2),
          {.beta = c.number(Call::kNamed, "beta", 1), .alpha = c.number(Call::kNamed, "alpha", 1)});
    });
  };
  with_summand("addmm", addmm);
  with_summand("baddbmm", baddbmm);
  t.add("nn.functional.linear",
        [](const Call& c) { return linear(c.tensor(0), c.tensor(1), c.tensor(2, "bias")); });

  add_conv(t, "nn.functional.conv1d", conv1d);
  add_conv(t, "nn.functional.conv2d", conv2d);
  add_conv(t, "nn.functional.conv3d", conv3d);
  add_conv_transpose(t, "nn.functional.conv_transpose1d", conv_transpose1d);
  add_conv_transpose(t, "nn.functional.conv_transpose2d", conv_transpose2d);
  add_conv_transpose(t, "nn.functional.conv_transpose3d", conv_transpose3d);
}

}  // namespace farro::test
