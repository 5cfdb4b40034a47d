#pragma once

/// Everything that a program needs. Where compile time matters, include the parts instead;
/// view_bridge.hpp is the one that brings Kokkos' headers in.

#include <farro/autograd/anomaly.hpp>
#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/graph.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/multi_grad_hook.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/autograd/tensor.hpp>
#include <farro/autograd/view_bridge.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/backends/warning.hpp>
#include <farro/init/init.hpp>
#include <farro/io/data_loader.hpp>
#include <farro/io/fashion_mnist.hpp>
#include <farro/io/idx.hpp>
#include <farro/io/safetensors.hpp>
#include <farro/nn/nn.hpp>
#include <farro/optim/adam.hpp>
#include <farro/optim/sgd.hpp>
