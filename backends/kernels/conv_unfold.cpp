#include <farro/backends/kernels/conv_unfold.hpp>

#include <algorithm>

#include <farro/backends/kernels/host_gemm.hpp>
#include <farro/backends/kernels/sum_partials.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/scratch.hpp>

namespace farro::kernels {
namespace {

/// Output points [begin, end) of a line that see the input (not the padding) through one kernel
/// column.
struct Span {
  int64_t begin, end, first;  // first: the input element that `begin` sees

  Span(const ConvShape& s, int64_t kx) {
    int64_t shift = kx * s.dilation[2] - s.padding[2], step = s.stride[2];
    begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
    int64_t last = s.in[2] - 1 - shift;  // o * step <= last
    end = last < 0 ? 0 : last / step + 1;
    begin = std::min(begin, s.out[2]);
    end = std::clamp(end, begin, s.out[2]);
    first = begin * step + shift;
  }
};

/// Calls line(input offset of the line or -1, row of the unfolded matrix, offset of the output
/// line, kernel column) for each line of outputs and each kernel point of one channel.
template <class Line>
void for_lines(const ConvShape& s, const Line& line) {
  int64_t row = 0;
  for (int64_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (int64_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (int64_t kx = 0; kx < s.kernel[2]; ++kx, ++row) {
        Span span(s, kx);
        for (int64_t z = 0; z < s.out[0]; ++z) {
          int64_t in_z = z * s.stride[0] - s.padding[0] + kz * s.dilation[0];
          for (int64_t y = 0; y < s.out[1]; ++y) {
            int64_t in_y = y * s.stride[1] - s.padding[1] + ky * s.dilation[1];
            bool inside = in_z >= 0 && in_z < s.in[0] && in_y >= 0 && in_y < s.in[1];
            line(inside ? (in_z * s.in[1] + in_y) * s.in[2] : -1, row,
                 (z * s.out[1] + y) * s.out[2], span);
          }
        }
      }
    }
  }
}

/// unfolded [channels x kernel points, output points] from the channels of one group of one image.
template <class T>
void unfold(const ConvShape& s, const T* image, T* unfolded) {
  for (int64_t c = 0; c < s.group_in(); ++c) {
    const T* channel = image + c * s.in_size();
    T* rows = unfolded + c * s.kernel_size() * s.out_size();
    for_lines(s, [&](int64_t from, int64_t row, int64_t to, const Span& span) {
      T* line = rows + row * s.out_size() + to;
      if (from < 0) {
        std::fill(line, line + s.out[2], T(0));
        return;
      }
      std::fill(line, line + span.begin, T(0));
      const T* x = channel + from + span.first;
      int64_t step = s.stride[2];
      if (step == 1) {
        std::copy(x, x + (span.end - span.begin), line + span.begin);
      } else {
        for (int64_t o = span.begin; o < span.end; ++o) line[o] = x[(o - span.begin) * step];
      }
      std::fill(line + span.end, line + s.out[2], T(0));
    });
  }
}

/// Adds the unfolded matrix back to where its elements came from.
template <class T>
void fold(const ConvShape& s, const T* unfolded, T* image) {
  std::fill(image, image + s.group_in() * s.in_size(), T(0));
  for (int64_t c = 0; c < s.group_in(); ++c) {
    T* channel = image + c * s.in_size();
    const T* rows = unfolded + c * s.kernel_size() * s.out_size();
    for_lines(s, [&](int64_t to, int64_t row, int64_t from, const Span& span) {
      if (to < 0) return;
      const T* line = rows + row * s.out_size() + from;
      T* x = channel + to + span.first;
      for (int64_t o = span.begin; o < span.end; ++o) x[(o - span.begin) * s.stride[2]] += line[o];
    });
  }
}

/// An unfolded image of a 1 x 1 convolution without padding is the image.
bool is_pointwise(const ConvShape& s) {
  for (int d = 0; d < 3; ++d) {
    if (s.kernel[d] != 1 || s.stride[d] != 1 || s.padding[d] != 0 || s.in[d] != s.out[d])
      return false;
  }
  return true;
}

template <class T>
Scratch unfolded_scratch(const ConvShape& s) {
  return Scratch(static_cast<size_t>(s.group_in() * s.kernel_size() * s.out_size()) * sizeof(T));
}

double image_cost(const ConvShape& s) {
  return static_cast<double>(s.flops_per_image()) / 8 +
         static_cast<double>(s.channels_in * s.kernel_size() * s.out_size());
}

/// Images of a block, by the shape alone, so that a block is worth a launch.
int64_t images_per_block(const ConvShape& s) {
  constexpr double kBlockCost = 262144;
  return std::clamp<int64_t>(static_cast<int64_t>(kBlockCost / (image_cost(s) + 1)), 1, s.batch);
}

/// Calls body(image, group, unfolded-matrix buffer) for every image and group, blocks of images in
/// parallel.
template <class T, class Body>
void for_images(Device device, const char* label, const ConvShape& s, int64_t grain,
                const Body& body) {
  bool pointwise = is_pointwise(s);
  parallel_blocks(device, label, {s.batch, grain, image_cost(s)}, [&](int64_t begin, int64_t end) {
    Scratch buffer = pointwise ? Scratch() : unfolded_scratch<T>(s);
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t g = 0; g < s.groups; ++g) body(image, g, buffer.as<T>());
    }
  });
}

}  // namespace

template <class T>
void unfold_conv_forward(Device device, const ConvShape& s, T* out, const T* input, const T* weight,
                         const T* bias) {
  int64_t outs = s.group_out(), points = s.out_size(), depth = s.group_in() * s.kernel_size();
  for_images<T>(device, "farro::conv_forward", s, images_per_block(s),
                [&](int64_t image, int64_t g, T* unfolded) {
                  const T* x = input + (image * s.groups + g) * s.group_in() * s.in_size();
                  T* y = out + (image * s.groups + g) * outs * points;
                  if (unfolded) unfold(s, x, unfolded);
                  for (int64_t c = 0; bias && c < outs; ++c)
                    std::fill(y + c * points, y + (c + 1) * points, bias[g * outs + c]);
                  host_gemm(HostGemm<T>{.m = outs,
                                        .n = points,
                                        .k = depth,
                                        .alpha = T(1),
                                        .a = weight + g * outs * depth,
                                        .lda = depth,
                                        .trans_a = false,
                                        .b = unfolded ? unfolded : x,
                                        .ldb = points,
                                        .trans_b = false,
                                        .accumulate = bias != nullptr,
                                        .c = y,
                                        .ldc = points});
                });
}

template <class T>
void unfold_conv_backward_input(Device device, const ConvShape& s, T* grad_input,
                                const T* grad_output, const T* weight) {
  int64_t outs = s.group_out(), points = s.out_size(), depth = s.group_in() * s.kernel_size();
  for_images<T>(device, "farro::conv_backward_input", s, images_per_block(s),
                [&](int64_t image, int64_t g, T* unfolded) {
                  T* dx = grad_input + (image * s.groups + g) * s.group_in() * s.in_size();
                  host_gemm(HostGemm<T>{.m = depth,
                                        .n = points,
                                        .k = outs,
                                        .alpha = T(1),
                                        .a = weight + g * outs * depth,
                                        .lda = depth,
                                        .trans_a = true,
                                        .b = grad_output + (image * s.groups + g) * outs * points,
                                        .ldb = points,
                                        .trans_b = false,
                                        .accumulate = false,
                                        .c = unfolded ? unfolded : dx,
                                        .ldc = points});
                  if (unfolded) fold(s, unfolded, dx);
                });
}

template <class T>
void unfold_conv_backward_weight(Device device, const ConvShape& s, T* grad_weight,
                                 const T* grad_output, const T* input) {
  constexpr int64_t kMaxPartials = 16;
  constexpr int64_t kPartialBytes = int64_t{32} << 20;
  int64_t outs = s.group_out(), points = s.out_size(), depth = s.group_in() * s.kernel_size();
  int64_t numel = s.weight_numel();
  int64_t most = std::clamp<int64_t>(kPartialBytes / (numel * static_cast<int64_t>(sizeof(T))), 1,
                                     kMaxPartials);
  int64_t grain = std::max(images_per_block(s), (s.batch + most - 1) / most);
  int64_t count = (s.batch + grain - 1) / grain;
  Scratch partials(static_cast<size_t>((count - 1) * numel) * sizeof(T));
  auto part = [&](int64_t p) { return p == 0 ? grad_weight : partials.as<T>() + (p - 1) * numel; };
  for_images<T>(device, "farro::conv_backward_weight", s, grain,
                [&](int64_t image, int64_t g, T* unfolded) {
                  const T* x = input + (image * s.groups + g) * s.group_in() * s.in_size();
                  if (unfolded) unfold(s, x, unfolded);
                  host_gemm(HostGemm<T>{.m = outs,
                                        .n = depth,
                                        .k = points,
                                        .alpha = T(1),
                                        .a = grad_output + (image * s.groups + g) * outs * points,
                                        .lda = points,
                                        .trans_a = false,
                                        .b = unfolded ? unfolded : x,
                                        .ldb = points,
                                        .trans_b = true,
                                        .accumulate = image % grain != 0,
                                        .c = part(image / grain) + g * outs * depth,
                                        .ldc = depth});
                });
  sum_partials(device, count, numel, part);
}

template void unfold_conv_forward<float>(Device, const ConvShape&, float*, const float*,
                                         const float*, const float*);
template void unfold_conv_forward<double>(Device, const ConvShape&, double*, const double*,
                                          const double*, const double*);
template void unfold_conv_backward_input<float>(Device, const ConvShape&, float*, const float*,
                                                const float*);
template void unfold_conv_backward_input<double>(Device, const ConvShape&, double*, const double*,
                                                 const double*);
template void unfold_conv_backward_weight<float>(Device, const ConvShape&, float*, const float*,
                                                 const float*);
template void unfold_conv_backward_weight<double>(Device, const ConvShape&, double*, const double*,
                                                  const double*);

}  // namespace farro::kernels
