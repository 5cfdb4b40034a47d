#pragma once

#include <optional>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/random.hpp>

/// Random numbers written over a tensor, drawn from `generator` or from default_generator().
/// Element i, in row-major order, depends on the generator's seed and the number of operations
/// drawn from it, not on threads or layout. In place: the version goes up, and gradients of what
/// was there before are zero.
namespace farro {

/// Uniform in [from, to). TypeError unless floating-point, ValueError unless from <= to.
const Tensor& uniform_(const Tensor& self, double from = 0, double to = 1,
                       Generator* generator = nullptr);
/// Normal. ValueError for a negative deviation.
const Tensor& normal_(const Tensor& self, double mean = 0, double std = 1,
                      Generator* generator = nullptr);
/// 1 with probability p, else 0; any dtype. ValueError unless 0 <= p <= 1.
const Tensor& bernoulli_(const Tensor& self, double p = 0.5, Generator* generator = nullptr);
/// Integers in [from, to); any dtype that holds them. ValueError unless from < to.
const Tensor& random_(const Tensor& self, int64_t from, int64_t to, Generator* generator = nullptr);
/// From 0 to the largest integer of the dtype (of a floating-point one: to which it holds every
/// integer).
const Tensor& random_(const Tensor& self, Generator* generator = nullptr);

/// While training, zeroes elements with probability p and scales the others by 1/(1 - p); else x
/// itself. ValueError unless 0 <= p <= 1. Keeps no mask: backward draws the same numbers again.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true,
               Generator* generator = nullptr);

}  // namespace farro
