#pragma once

/// Checks of gradients against finite differences.
///
///     gradcheck([](const auto& in) { return tanh(in[0]) * in[1]; }, {x, y});

#include <vector>

#include <farro/autograd/tensor_function.hpp>

namespace farro {

struct GradcheckOptions {
  double eps = 1e-6;  ///< how far an element of an input is moved each way
  double atol =
      1e-5;  ///< gradients agree where |analytical - numerical| <= atol + rtol · |numerical|
  double rtol = 1e-3;
  double nondet_tol = 0;             ///< how much two runs of one backward may differ
  bool check_undefined_grad = true;  ///< also checks that null gradients of outputs count as zeros
  bool check_forward_ad = false;     ///< also compares what forward mode (jvp) gives
  bool fast_mode =
      false;  ///< compares one random projection of each Jacobian; on failure prints the Jacobians
  bool raise_exception =
      true;  ///< false: return false where the gradients are wrong, instead of a GradcheckError
};

/// Compares the Jacobian of each output of f with respect to each input that requires grad, as
/// backward gives it, with the one by central differences, and checks that a second backward gives
/// the same (with check_forward_ad also what jvp gives with the differences), that zero gradients
/// of the outputs give zeros, and that an output without history does not depend on the inputs. The
/// inputs should be float64 (a warning otherwise) and are moved in place while it runs.
///
/// Throws GradcheckError with the numbers of output and input and both Jacobians where they differ,
/// ValueError if no input requires grad, GradError for an input several elements of which share one
/// place in memory.
bool gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

/// As gradcheck, of the gradients: they are differentiated once more, with respect to the inputs
/// and to the gradients of the outputs. Those are drawn with a fixed seed if none are given.
bool gradgradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {},
                   const std::vector<Tensor>& grad_outputs = {});

}  // namespace farro
