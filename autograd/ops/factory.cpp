#include <farro/autograd/ops/factory.hpp>

#include <algorithm>
#include <cmath>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/pattern.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace {

Tensor make(const Dims& sizes, DType dtype, Device device) { return empty(sizes, dtype, device); }

void check_grad_dtype(const TensorOptions& options, DType dtype) {
  if (options.requires_grad && !is_floating_point(dtype)) {
    fail<TypeError>("tensor", "only floating-point tensors can require grad, got {}",
                    name_of(dtype));
  }
}

/// Allocates what options say; `fallback` is the dtype where they name none.
Tensor allocate(const Dims& sizes, const TensorOptions& options, DType fallback) {
  DType dtype = options.dtype.value_or(fallback);
  check_grad_dtype(options, dtype);
  return make(sizes, dtype, options.device.value_or(Device()));
}

Tensor finish(const Tensor& tensor, const TensorOptions& options) {
  if (options.requires_grad) tensor.requires_grad_();
  return tensor;
}

TensorOptions like_options(const Tensor& like, TensorOptions options) {
  if (!options.dtype) options.dtype = like.dtype();
  if (!options.device) options.device = like.device();
  return options;
}

void write_scalar(const Tensor& to, Scalar value) {
  if (value.is_floating_point()) {
    kernels::fill(to.array(), value.to_double());
  } else {
    kernels::fill(to.array(), value.to_int());
  }
}

}  // namespace

Tensor empty(IntList sizes, const TensorOptions& options) {
  return finish(allocate(sizes, options, default_dtype()), options);
}

Tensor zeros(IntList sizes, const TensorOptions& options) {
  Tensor t = allocate(sizes, options, default_dtype());
  kernels::zero(t.array());
  return finish(t, options);
}

Tensor full(IntList sizes, Scalar value, const TensorOptions& options) {
  Tensor t = allocate(sizes, options, value.dtype());
  write_scalar(t, value);
  return finish(t, options);
}

Tensor ones(IntList sizes, const TensorOptions& options) {
  Tensor t = allocate(sizes, options, default_dtype());
  write_scalar(t, 1);
  return finish(t, options);
}

Tensor empty_like(const Tensor& like, const TensorOptions& options) {
  return empty(like.sizes(), like_options(like, options));
}
Tensor zeros_like(const Tensor& like, const TensorOptions& options) {
  return zeros(like.sizes(), like_options(like, options));
}
Tensor ones_like(const Tensor& like, const TensorOptions& options) {
  return ones(like.sizes(), like_options(like, options));
}
Tensor full_like(const Tensor& like, Scalar value, const TensorOptions& options) {
  return full(like.sizes(), value, like_options(like, options));
}

namespace {

int64_t arange_length(Scalar start, Scalar stop, Scalar step) {
  if (step.to_double() == 0) fail<ValueError>("arange", "expected a step other than 0");
  double length = std::ceil((stop.to_double() - start.to_double()) / step.to_double());
  if (!std::isfinite(start.to_double()) || !std::isfinite(stop.to_double()) ||
      !(length >= 0 && length < 0x1p62)) {
    fail<ValueError>(
        "arange", "expected finite bounds and a step that leads from start to stop, got {}, {}, {}",
        start.to_double(), stop.to_double(), step.to_double());
  }
  if (start.is_floating_point() || stop.is_floating_point() || step.is_floating_point()) {
    return static_cast<int64_t>(length);
  }
  int64_t sign = step.to_int() > 0 ? 1 : -1;
  return (stop.to_int() - start.to_int() + step.to_int() - sign) / step.to_int();
}

}  // namespace

Tensor arange(Scalar start, Scalar stop, Scalar step, const TensorOptions& options) {
  bool floating = start.is_floating_point() || stop.is_floating_point() || step.is_floating_point();
  Tensor t =
      allocate({arange_length(start, stop, step)}, options, floating ? default_dtype() : kInt64);
  if (floating) {
    kernels::arange(t.array(), start.to_double(), step.to_double());
  } else {
    kernels::arange(t.array(), start.to_int(), step.to_int());
  }
  return finish(t, options);
}

Tensor linspace(double start, double stop, int64_t steps, const TensorOptions& options) {
  if (steps < 0)
    fail<ValueError>("linspace", "expected a number of steps of at least 0, got {}", steps);
  Tensor t = allocate({steps}, options, default_dtype());
  kernels::linspace(t.array(), start, stop);
  return finish(t, options);
}

Tensor eye(int64_t rows, std::optional<int64_t> columns, const TensorOptions& options) {
  int64_t width = columns.value_or(rows);
  Tensor t = allocate({rows, width}, options, default_dtype());
  kernels::zero(t.array());
  ArrayView diagonal = t.array();
  diagonal.sizes = {std::min(rows, width)};
  diagonal.strides = {width + 1};
  kernels::fill(diagonal, int64_t{1});
  return finish(t, options);
}

Tensor scalar_tensor(Scalar value, const TensorOptions& options) {
  return full({}, value, options);
}

Tensor detail::from_host(const void* data, DType data_dtype, const Dims& sizes,
                         const TensorOptions& options) {
  Tensor t = allocate(sizes, options, default_dtype());
  // Only read from: ArrayView has no constant form.
  kernels::copy(t.array(), {const_cast<void*>(data), data_dtype, Device::of(0), sizes,
                            contiguous_strides(sizes)});
  return finish(t, options);
}

namespace {

Tensor triangle(const char* name, const Tensor& x, int64_t diagonal, bool upper) {
  if (x.dim() < 2)
    fail<ShapeError>(name, "expected at least 2 dimensions, got shape {}", to_string(x.sizes()));
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::triangle(out.array(), x.array(), diagonal, upper);
  return record(upper ? "TriuBackward" : "TrilBackward", out, {x}, {},
                [name, diagonal, upper](const BackwardContext& c) -> Grads {
                  return {triangle(name, c.grad(), diagonal, upper)};
                });
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, false); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, true); }

}  // namespace farro
