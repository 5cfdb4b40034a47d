#pragma once

#include <cstdint>

#include <farro/benchmarks/compare.hpp>

/// The same work done by LibTorch, for the reference column. Every function gives an empty job
/// where Farro was built without it.
namespace farro::benchmarks::torch_reference {

bool available();
/// Threads of LibTorch's pool, 1 at the start.
void set_threads(int threads);

/// y = x; `length` times y = y * w; backward. Tensors of n float32.
Job chain(int64_t n, int length);
/// One addition of two tensors of n float32 without grad.
Job add(int64_t n);
/// 2-d convolution, padding 1 for a 3×3 kernel, all three passes (the input requires grad).
Job conv2d(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t kernel);
/// Forward and backward over [rows, columns] (layer norm, softmax) or [batch, channels, size,
/// size].
Job layer_norm(int64_t rows, int64_t columns);
Job softmax(int64_t rows, int64_t columns);
Job batch_norm(int64_t batch, int64_t channels, int64_t size);
/// tanh(x·w + b)·sigmoid(x) + x of n float32, without grad or with a backward to all three.
Job gate(int64_t n, bool with_backward);
Job sum(int64_t n);
Job uniform(int64_t n);
/// One step of Adam over n float32 parameters with fixed gradients.
Job adam(int64_t n);
/// One training epoch (Adam, cross entropy) of the Fashion-MNIST example's network over `count`
/// images of 28×28 that are already normalised, in batches, on `threads` threads.
Job fashion_mnist_epoch(const float* images, const int64_t* labels, int64_t count, int64_t batch,
                        int threads);

}  // namespace farro::benchmarks::torch_reference
