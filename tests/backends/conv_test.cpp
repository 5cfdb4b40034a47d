#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <farro/backends/kernels/conv.hpp>
#include <farro/backends/kernels/conv_unfold.hpp>
#include <farro/backends/kernels/unblock.hpp>
#include <farro/backends/launch.hpp>

#include <backends/dense.hpp>
#include <support/devices.hpp>

using namespace farro;
using dense::Array;

namespace {

const Device kHost = test::host_device();

/// Sizes of the output from those of the rest.
ConvShape complete(ConvShape s) {
  for (int d = 0; d < 3; ++d) {
    s.out[d] =
        (s.in[d] + 2 * s.padding[d] - (s.kernel[d] - 1) * s.dilation[d] - 1) / s.stride[d] + 1;
  }
  return s;
}

std::vector<ConvShape> shapes() {
  return {
      complete({.spatial = 2,
                .batch = 2,
                .channels_in = 3,
                .channels_out = 4,
                .in = {1, 7, 6},
                .kernel = {1, 3, 3}}),
      complete({.spatial = 2,
                .batch = 3,
                .channels_in = 16,
                .channels_out = 24,
                .in = {1, 9, 8},
                .kernel = {1, 3, 3},
                .padding = {0, 1, 1}}),
      complete({.spatial = 2,
                .batch = 5,
                .channels_in = 8,
                .channels_out = 8,
                .groups = 2,
                .in = {1, 9, 10},
                .kernel = {1, 3, 2},
                .stride = {1, 2, 3},
                .padding = {0, 2, 1},
                .dilation = {1, 2, 1}}),
      complete({.spatial = 2,
                .batch = 2,
                .channels_in = 6,
                .channels_out = 6,
                .groups = 6,
                .in = {1, 8, 8},
                .kernel = {1, 3, 3},
                .padding = {0, 1, 1}}),
      complete({.spatial = 2,
                .batch = 2,
                .channels_in = 5,
                .channels_out = 7,
                .in = {1, 4, 5},
                .kernel = {1, 1, 1}}),
      complete({.spatial = 2,
                .batch = 1,
                .channels_in = 2,
                .channels_out = 3,
                .in = {1, 3, 3},
                .kernel = {1, 3, 3},
                .stride = {1, 2, 2},
                .padding = {0, 3, 4}}),
      complete({.spatial = 1,
                .batch = 4,
                .channels_in = 3,
                .channels_out = 5,
                .in = {1, 1, 11},
                .kernel = {1, 1, 4},
                .stride = {1, 1, 2},
                .padding = {0, 0, 2},
                .dilation = {1, 1, 2}}),
      complete({.spatial = 3,
                .batch = 2,
                .channels_in = 2,
                .channels_out = 4,
                .groups = 2,
                .in = {4, 5, 6},
                .kernel = {2, 3, 2},
                .stride = {1, 2, 1},
                .padding = {1, 0, 1}}),
      // Many blocks of images, the last one shorter.
      complete({.spatial = 2,
                .batch = 37,
                .channels_in = 8,
                .channels_out = 16,
                .in = {1, 12, 12},
                .kernel = {1, 3, 3},
                .padding = {0, 1, 1}}),
  };
}

Dims with_spatial(int64_t a, int64_t b, const int64_t (&sizes)[3], int64_t spatial) {
  Dims dims{a, b};
  for (int64_t i = 3 - spatial; i < 3; ++i) dims.push_back(sizes[i]);
  return dims;
}
Dims in_sizes(const ConvShape& s) { return with_spatial(s.batch, s.channels_in, s.in, s.spatial); }
Dims out_sizes(const ConvShape& s) {
  return with_spatial(s.batch, s.channels_out, s.out, s.spatial);
}
Dims weight_sizes(const ConvShape& s) {
  return with_spatial(s.channels_out, s.group_in(), s.kernel, s.spatial);
}

/// Calls visit(input index, output index, weight index) for each product of the convolution.
template <class Visit>
void for_products(const ConvShape& s, const Visit& visit) {
  int64_t taps = s.kernel_size(), ins = s.group_in(), outs = s.group_out();
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t co = 0; co < s.channels_out; ++co) {
      for (int64_t o = 0; o < s.out_size(); ++o) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          int64_t o_at[3] = {o / (s.out[1] * s.out[2]), o / s.out[2] % s.out[1], o % s.out[2]};
          int64_t k_at[3] = {tap / (s.kernel[1] * s.kernel[2]), tap / s.kernel[2] % s.kernel[1],
                             tap % s.kernel[2]};
          int64_t x = 0;
          bool inside = true;
          for (int d = 0; d < 3; ++d) {
            int64_t at = o_at[d] * s.stride[d] + k_at[d] * s.dilation[d] - s.padding[d];
            inside = inside && at >= 0 && at < s.in[d];
            x = x * s.in[d] + at;
          }
          for (int64_t c = 0; inside && c < ins; ++c) {
            visit((n * s.channels_in + co / outs * ins + c) * s.in_size() + x,
                  (n * s.channels_out + co) * s.out_size() + o, (co * ins + c) * taps + tap);
          }
        }
      }
    }
  }
}

void check_close(const Array& actual, const std::vector<double>& expected, int64_t terms) {
  double bound = dense::error_bound(actual.view.dtype, terms);
  for (int64_t i = 0; i < actual.numel(); ++i) {
    double want = expected[static_cast<size_t>(i)];
    if (!(std::abs(actual.get(i) - want) <= bound * (1 + std::abs(want)))) {
      CAPTURE(i, actual.get(i), want);
      FAIL_CHECK("differs");
      return;
    }
  }
}

struct Passes {
  Array out, grad_input, grad_weight;
};

Passes run(const ConvShape& s, const Array& x, const Array& w, const Array& dy, const Array* bias,
           Device device) {
  Passes p{Array(out_sizes(s), x.view.dtype, device), Array(in_sizes(s), x.view.dtype, device),
           Array(weight_sizes(s), x.view.dtype, device)};
  kernels::conv_forward(s, p.out.view, x.view, w.view, bias ? &bias->view : nullptr);
  kernels::conv_backward_input(s, p.grad_input.view, dy.view, w.view);
  kernels::conv_backward_weight(s, p.grad_weight.view, dy.view, x.view);
  return p;
}

}  // namespace

TEST_CASE(
    "conv: the three passes agree with their definition for every dtype, on both backends and in "
    "the plain kernel") {
  DType dtype = GENERATE(kFloat32, kFloat64, kBFloat16, kFloat16, kInt64);
  for (const ConvShape& s : shapes()) {
    if (s.batch > 10 && dtype != kFloat32 && dtype != kFloat64) continue;
    Array x = dense::random_array(in_sizes(s), dtype, kHost, 1),
          w = dense::random_array(weight_sizes(s), dtype, kHost, 2);
    Array dy = dense::random_array(out_sizes(s), dtype, kHost, 3);
    Array bias = dense::random_array({s.channels_out}, dtype, kHost, 4);
    auto vx = x.values(), vw = w.values(), vdy = dy.values(), vb = bias.values();
    std::vector<double> y(vdy.size()), dx(vx.size()), dw(vw.size());
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = vb[i / static_cast<size_t>(s.out_size()) % static_cast<size_t>(s.channels_out)];
    }
    for_products(s, [&](int64_t xi, int64_t yi, int64_t wi) {
      auto a = static_cast<size_t>(xi), b = static_cast<size_t>(yi), c = static_cast<size_t>(wi);
      y[b] += vx[a] * vw[c];
      dx[a] += vdy[b] * vw[c];
      dw[c] += vdy[b] * vx[a];
    });
    std::string bits;
    for (Device device : test::host_devices()) {
      for (bool reference : {false, true}) {
        CAPTURE(device.str(), reference, name_of(dtype), to_string(in_sizes(s)),
                to_string(weight_sizes(s)));
        std::unique_ptr<ReferenceKernels> scope(reference ? new ReferenceKernels : nullptr);
        Passes p = run(s, x, w, dy, &bias, device);
        check_close(p.out, y, s.group_in() * s.kernel_size());
        check_close(p.grad_input, dx, s.group_out() * s.kernel_size());
        check_close(p.grad_weight, dw, s.batch * s.out_size());
        if (reference) continue;
        std::string now = p.out.bytes() + p.grad_input.bytes() + p.grad_weight.bytes();
        if (bits.empty()) bits = now;
        CHECK(bits == now);
      }
    }
  }
}

TEST_CASE("conv: products of unfolded images give what oneDNN gives in float32") {
  for (const ConvShape& s : shapes()) {
    Array x = dense::random_array(in_sizes(s), kFloat32, kHost, 1);
    Array w = dense::random_array(weight_sizes(s), kFloat32, kHost, 2);
    Array dy = dense::random_array(out_sizes(s), kFloat32, kHost, 3);
    Passes library = run(s, x, w, dy, nullptr, kHost);
    Passes own{Array(out_sizes(s), kFloat32, kHost), Array(in_sizes(s), kFloat32, kHost),
               Array(weight_sizes(s), kFloat32, kHost)};
    const auto *px = x.view.as<float>(), *pw = w.view.as<float>(), *pdy = dy.view.as<float>();
    kernels::unfold_conv_forward<float>(kHost, s, own.out.view.as<float>(), px, pw, nullptr);
    kernels::unfold_conv_backward_input<float>(kHost, s, own.grad_input.view.as<float>(), pdy, pw);
    kernels::unfold_conv_backward_weight<float>(kHost, s, own.grad_weight.view.as<float>(), pdy,
                                                px);
    CAPTURE(to_string(in_sizes(s)), to_string(weight_sizes(s)));
    check_close(own.out, library.out.values(), s.group_in() * s.kernel_size());
    check_close(own.grad_input, library.grad_input.values(), s.group_out() * s.kernel_size());
    check_close(own.grad_weight, library.grad_weight.values(), s.batch * s.out_size());
  }
}

TEST_CASE("conv: an empty batch has no output and a weight gradient of zeros") {
  for (DType dtype : {kFloat32, kFloat64}) {
    ConvShape s = complete({.spatial = 2,
                            .batch = 0,
                            .channels_in = 3,
                            .channels_out = 4,
                            .in = {1, 7, 6},
                            .kernel = {1, 3, 3}});
    Array x(in_sizes(s), dtype, kHost), w(weight_sizes(s), dtype, kHost),
        dy(out_sizes(s), dtype, kHost);
    Passes p = run(s, x, w, dy, nullptr, kHost);
    for (double v : p.grad_weight.values()) CHECK(v == 0);
  }
}

TEST_CASE("conv: channels in blocks become planes") {
  for (int64_t block : {8, 16}) {
    for (int64_t points : {1, 7, 8, 29}) {
      std::vector<float> from(static_cast<size_t>(3 * points * block)), to(from.size(), -1);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      kernels::unblock_channels(to.data(), from.data(), 3, points, block);
      bool right = true;
      for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
        int64_t g = i / (points * block), p = i / block % points, c = i % block;
        right = right && to[static_cast<size_t>((g * block + c) * points + p)] ==
                             from[static_cast<size_t>(i)];
      }
      CHECK(right);
    }
  }
}
