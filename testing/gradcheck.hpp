#pragma once

/// Catch2 matchers for gradient checks; the only installed header that needs Catch2.
///
///     REQUIRE_THAT([](const auto& in) { return my_function(in[0]); },
///                  testing::PassesGradcheck({x}));
///
/// A generic lambda takes `const auto&`: Catch2 tries to print what it matches, and a lambda of
/// `auto&` without captures would be instantiated for a stream.

#include <catch2/matchers/catch_matchers_templated.hpp>

#include <string>
#include <utility>
#include <vector>

#include <farro/autograd/gradcheck.hpp>

namespace farro::testing {

/// Matches functions of a list of tensors that `check` passes; otherwise describes what is wrong
/// with them.
class GradcheckMatcher : public Catch::Matchers::MatcherGenericBase {
 public:
  using Check = bool (*)(const TensorFunction&, const std::vector<Tensor>&,
                         const GradcheckOptions&);

  GradcheckMatcher(Check check, const char* name, std::vector<Tensor> inputs,
                   GradcheckOptions options)
      : check_(check), name_(name), inputs_(std::move(inputs)), options_(options) {
    options_.raise_exception = true;
  }

  template <class F>
  bool match(const F& f) const {
    try {
      return check_(f, inputs_, options_);
    } catch (const GradcheckError& error) {
      problem_ = error.what();
      return false;
    }
  }

  std::string describe() const override {
    return problem_.empty() ? std::string("passes ") + name_
                            : std::string("should pass ") + name_ + ", but:\n" + problem_;
  }

 private:
  Check check_;
  const char* name_;
  std::vector<Tensor> inputs_;
  GradcheckOptions options_;
  mutable std::string problem_;
};

/// Matches what passes farro::gradcheck with these inputs.
inline GradcheckMatcher PassesGradcheck(std::vector<Tensor> inputs, GradcheckOptions options = {}) {
  return {gradcheck, "gradcheck", std::move(inputs), options};
}

/// Matches what passes farro::gradgradcheck with these inputs.
inline GradcheckMatcher PassesGradgradcheck(std::vector<Tensor> inputs,
                                            GradcheckOptions options = {}) {
  return {[](const TensorFunction& f, const std::vector<Tensor>& in, const GradcheckOptions& o) {
            return gradgradcheck(f, in, o);
          },
          "gradgradcheck", std::move(inputs), options};
}

}  // namespace farro::testing
