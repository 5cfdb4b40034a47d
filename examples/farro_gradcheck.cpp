/// Checks the derivatives of a functor of your own. Copy this file, write your functor in the place
/// of Wave, and say in `inputs` what it takes. A custom function or any other function of tensors
/// goes into `function` as well.
///
///     farro-gradcheck            # a table: each check on each backend, in each dtype
///     farro-gradcheck --wrong    # what is reported of a backward with a wrong sign
///
/// Exit status: 0 if all is right, 1 if a derivative is wrong, 2 after an error.

#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/autograd/function.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/backends/warning.hpp>
#include <farro/io/table.hpp>

namespace {

using namespace farro;
using Tensors = std::vector<Tensor>;

/// Yours: a wave that fades.
struct Wave {
  template <class T>
  FARRO_FORMULA T operator()(T x, T frequency, T fading) const {
    return math::sin(frequency * x) * math::exp(-fading * x * x);
  }
};

/// Points where it is to be checked, away from edges, where there is no derivative.
Tensors inputs(const TensorOptions& form) {
  return {randn({3, 4}, form), rand({4}, form) + 1.0, rand({3, 1}, form) + 0.5};
}

Tensor function(const Tensors& in) { return map(Wave{}, in[0], in[1], in[2]); }

/// sin x, whose backward has a wrong sign.
struct WrongSign : autograd::Function<WrongSign> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return sin(x);
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& dy) {
    return {-dy * cos(ctx.saved(0))};
  }
};

Tensor wrong_function(const Tensors& in) { return WrongSign::apply(in[0]); }

/// float32 has seven digits: the differences need a wide step, and are less exact.
GradcheckOptions options_for(DType dtype, bool fast, bool forward) {
  GradcheckOptions options{.check_forward_ad = forward, .fast_mode = fast};
  if (dtype == kFloat32) {
    options.eps = 3e-3;
    options.atol = 3e-4;
    options.rtol = 1e-2;
  }
  return options;
}

class Checks {
 public:
  explicit Checks(TensorFunction f) : f_(std::move(f)) {}

  void run(Device device, DType dtype) {
    for (bool twice : {false, true}) {
      std::vector<std::string> row{device.str(), std::string(name_of(dtype)),
                                   twice ? "gradgradcheck" : "gradcheck"};
      for (bool forward : {false, true}) {
        for (bool fast : {false, true}) row.push_back(check(device, dtype, twice, forward, fast));
      }
      table_.add_row(std::move(row));
    }
  }
  std::string table() const { return table_.str(); }
  /// Of the first check that failed; empty if none did.
  const std::string& report() const { return report_; }

 private:
  std::string check(Device device, DType dtype, bool twice, bool forward, bool fast) {
    manual_seed(0);
    Tensors in = inputs({.dtype = kFloat64, .device = device});  // the same points in each dtype
    for (Tensor& x : in) x = x.to(dtype).detach().requires_grad_();
    GradcheckOptions options = options_for(dtype, fast, forward);
    try {
      twice ? gradgradcheck(f_, in, options) : gradcheck(f_, in, options);
      return "right";
    } catch (const GradcheckError& error) {
      if (report_.empty()) report_ = error.what();
      return "WRONG";
    }
  }

  TensorFunction f_;
  io::Table table_{{"backend", "dtype", "check", "reverse, slow", "reverse, fast", "forward, slow",
                    "forward, fast"}};
  std::string report_;
};

int run(bool wrong) {
  // That float32 is less exact is known here.
  set_warning_handler([](const std::string& text) {
    if (text.find("float32") == text.npos) fmt::print(stderr, "{}\n", text);
  });
  Checks checks(wrong ? TensorFunction(wrong_function) : TensorFunction(function));
  for (Device device : available_devices()) {
    for (DType dtype : {kFloat64, kFloat32}) checks.run(device, dtype);
  }
  fmt::print("{}", checks.table());
  if (checks.report().empty()) return 0;
  fmt::print("\n{}\n", checks.report());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Runtime runtime(argc, argv);
    std::string_view option = argc == 2 ? argv[1] : "";
    if (argc > 2 || (argc == 2 && option != "--wrong")) {
      fmt::print(stderr, "farro-gradcheck: error: expected nothing or --wrong\n");
      return 2;
    }
    return run(option == "--wrong");
  } catch (const std::exception& error) {
    fmt::print(stderr, "farro-gradcheck: error: {}\n", error.what());
    return 2;
  }
}
