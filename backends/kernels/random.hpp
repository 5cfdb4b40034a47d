#pragma once

#include <farro/backends/array_view.hpp>
#include <farro/backends/random.hpp>

namespace farro::kernels {

/// Fills with random numbers. Element i, in row-major order, is a function of (seed, operation, i)
/// and the dtype alone: the layout, the backend and the number of threads do not matter. float32
/// and narrower dtypes take one 32-bit word an element, float64 and integers two.

/// Uniform in [low, high): 24 bits of a float32, 53 of a float64, as many as there are digits in a
/// narrower one.
void fill_uniform(const ArrayView& out, const Philox& random, double low, double high);
/// Normal by Box and Muller's transform (A note on the generation of random normal deviates, 1958),
/// two elements from two uniform numbers.
void fill_normal(const ArrayView& out, const Philox& random, double mean, double deviation);
/// 1 with probability p, else 0; any dtype.
void fill_bernoulli(const ArrayView& out, const Philox& random, double p);
/// Integers in [low, high); some are more likely than others by less than (high - low) / 2^64. Any
/// dtype.
void fill_integers(const ArrayView& out, const Philox& random, int64_t low, int64_t high);
/// A permutation of 0 … n - 1 in host memory, by Fisher and Yates' shuffle.
void fill_permutation(int64_t* out, int64_t n, const Philox& random);
/// out[i] = in[i] / (1 - p) with probability 1 - p, else 0, by the words of fill_bernoulli.
/// Contiguous, of one floating-point dtype. The gradient of its input is the same function of the
/// gradient of its output.
void dropout(const ArrayView& out, const ArrayView& in, const Philox& random, double p);

}  // namespace farro::kernels
