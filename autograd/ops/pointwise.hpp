#pragma once

/// All pointwise operations, and the operators on tensors.

#include <farro/autograd/ops/pointwise/arithmetic.hpp>
