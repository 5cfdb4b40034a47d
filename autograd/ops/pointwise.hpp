#pragma once

/// All pointwise operations, and the operators on tensors.

#include <farro/autograd/ops/pointwise/activation.hpp>
#include <farro/autograd/ops/pointwise/arithmetic.hpp>
#include <farro/autograd/ops/pointwise/exponential.hpp>
#include <farro/autograd/ops/pointwise/inplace.hpp>
#include <farro/autograd/ops/pointwise/logic.hpp>
#include <farro/autograd/ops/pointwise/selection.hpp>
#include <farro/autograd/ops/pointwise/special.hpp>
#include <farro/autograd/ops/pointwise/trigonometric.hpp>
