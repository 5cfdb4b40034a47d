#pragma once

#include <cstdint>

#include <farro/backends/config.hpp>

namespace farro {

/// A convolution in 1 to 3 spatial dimensions, input [batch, channels_in, in…], weight
/// [channels_out, channels_in / groups, kernel…], output [batch, channels_out, out…]. Arrays hold
/// the spatial dimensions in their last `spatial` entries and 1 (padding 0) before. The padding is
/// that before the first element; what follows the last one is whatever the output's size asks for.
/// Only 64-bit integers, so that shapes compare and hash as bytes.
struct ConvShape {
  int64_t spatial = 2;
  int64_t batch = 0;
  int64_t channels_in = 0;
  int64_t channels_out = 0;
  int64_t groups = 1;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};

  FARRO_FUNCTION int64_t in_size() const { return in[0] * in[1] * in[2]; }
  FARRO_FUNCTION int64_t out_size() const { return out[0] * out[1] * out[2]; }
  FARRO_FUNCTION int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  FARRO_FUNCTION int64_t group_in() const { return channels_in / groups; }
  FARRO_FUNCTION int64_t group_out() const { return channels_out / groups; }
  FARRO_FUNCTION int64_t weight_numel() const { return channels_out * group_in() * kernel_size(); }
  /// Multiplications and additions of one pass over one image.
  FARRO_FUNCTION int64_t flops_per_image() const {
    return 2 * out_size() * channels_out * group_in() * kernel_size();
  }
};

}  // namespace farro
