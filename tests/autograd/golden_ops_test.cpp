#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include <autograd/golden_ops.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/backends/launch.hpp>

using namespace farro;
using namespace farro::test;

namespace {

/// What differs from PyTorch's numbers; empty if nothing does.
std::string check(const OpResult& result, const Case& c, const Tolerance& tolerance) {
  std::string text = difference(result.output, c["output"], tolerance);
  if (!text.empty()) return "output: " + text;
  std::vector<Tensor> got = flatten(result.output), expected = flatten(c["output"]);
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].requires_grad() != expected[i].requires_grad()) {
      return fmt::format("output {}: expected requires_grad to be {}", i,
                         expected[i].requires_grad());
    }
  }
  if (!c.has("grad_inputs")) return "";
  std::vector<Tensor> gradients = flatten(c["grad_inputs"], true);
  if (result.grad_inputs.size() != gradients.size()) {
    return fmt::format("expected {} gradients, got {}", gradients.size(),
                       result.grad_inputs.size());
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& gradient = result.grad_inputs[i];
    // A gradient that PyTorch leaves out may be zeros here.
    bool zeros = !gradients[i].defined() && gradient.defined() && sum(abs(gradient)).item() == 0;
    text = zeros ? "" : difference(gradient, gradients[i], tolerance);
    if (!text.empty()) return fmt::format("gradient of input {}: {}", i, text);
  }
  return "";
}

void write_report(const Coverage& coverage) {
  std::ofstream out(std::string(FARRO_TEST_OUTPUT_DIR) + "/golden_ops.txt");
  out << fmt::format("{} of {} cases, {} operations\n", coverage.cases, coverage.found,
                     coverage.ops.size());
  for (const auto& [name, reason] : coverage.skipped)
    out << fmt::format("skipped {}: {}\n", name, reason);
  for (const auto& [op, count] : coverage.lacking)
    out << fmt::format("lacking {} ({} cases)\n", op, count);
}

void compare_with_pytorch(Device device) {
  Coverage coverage = for_each_case(
      [&](const OpEntry& entry, const GoldenFile& file, size_t i, const std::string& name) {
        Case c = file.read(i, device);
        INFO(name << " on " << device.str());
        std::string text;
        try {
          text = check(run_op(entry, c), c, entry.tolerance);
        } catch (const Unsupported&) {
          throw;
        } catch (const std::exception& error) {
          text = error.what();
        }
        CHECK(text == "");
      });
  WARN(fmt::format("{} of {} golden cases, {} operations on {}; {} skipped, {} operations lacking",
                   coverage.cases, coverage.found, coverage.ops.size(), device.str(),
                   coverage.skipped.size(), coverage.lacking.size()));
  write_report(coverage);
  if (!std::getenv("FARRO_GOLDEN_DIR")) {
    // So that cases can't fall away unseen.
    CHECK(coverage.cases >= 1248);
    CHECK(coverage.ops.size() >= 213);
  }
}

}  // namespace

TEST_CASE("operations and their gradients agree with PyTorch's", "[golden][A18][A19]") {
  for_each_device(compare_with_pytorch);
}

TEST_CASE("the plain kernels of operations agree with PyTorch's", "[golden]") {
  ReferenceKernels reference;
  compare_with_pytorch(host_device());
}

TEST_CASE("operations and their gradients have the same bits on Serial and OpenMP",
          "[golden][bits][A20]") {
  auto both = serial_and_openmp();
  for_each_case(
      [&](const OpEntry& entry, const GoldenFile& file, size_t i, const std::string& name) {
        auto hashes = [&](Device device) {
          OpResult result = run_op(entry, file.read(i, device));
          std::vector<uint64_t> list;
          for (const Tensor& t : flatten(result.output)) list.push_back(hash(t));
          for (const Tensor& t : result.grad_inputs) list.push_back(hash(t));
          return list;
        };
        INFO(name);
        auto serial = hashes(both.serial), openmp = hashes(both.openmp);  // may throw Unsupported
        CHECK(serial == openmp);
      });
}
