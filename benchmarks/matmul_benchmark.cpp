#include <algorithm>
#include <memory>
#include <string>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/backends/blas.hpp>
#include <farro/backends/kernels/matmul.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/onednn.hpp>
#include <farro/benchmarks/compare.hpp>

namespace farro::benchmarks {
namespace {

Tensor matrix(int64_t rows, int64_t columns, DType dtype, Device device) {
  Tensor t = empty({rows, columns}, dtype, device);
  t.fill_(Tensor(0.5));
  return t;
}

/// The best of OpenBLAS and oneDNN called by hand, on one thread and on the same memory as ours.
template <class T>
Job best_raw_product(const Tensor& a, const Tensor& b) {
  int n = static_cast<int>(a.size(0));
  Tensor c = matrix(n, n, a.dtype(), a.device());
  blas::Gemm<T> gemm{n,           n, n,     T(1), a.data<T>(), n, false,
                     b.data<T>(), n, false, T(0), c.data<T>(), n};
  std::vector<Job> jobs;
  auto add = [&](auto call) {
    jobs.push_back([call, gemm, a, b, c] {
      OneThread scope;
      call(gemm);
    });
  };
  if (blas::available()) add([](const auto& g) { blas::gemm(g); });
  if constexpr (std::is_same_v<T, float>) {
    if (onednn::available()) add([](const auto& g) { onednn::gemm(g); });
  }
  if (jobs.empty()) return {};
  auto seconds = [](const Job& job) { return best_seconds(job); };
  return *std::min_element(jobs.begin(), jobs.end(),
                           [&](const Job& x, const Job& y) { return seconds(x) < seconds(y); });
}

/// P13: a recorded product against the best library call.
Jobs product(int64_t n, DType dtype) {
  Tensor a = matrix(n, n, dtype, "serial"), b = matrix(n, n, dtype, "serial");
  Job reference =
      dtype == kFloat64 ? best_raw_product<double>(a, b) : best_raw_product<float>(a, b);
  a.requires_grad_();
  b.requires_grad_();
  double cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  return {[a, b] { mm(a, b); }, reference, {.flops = 2 * cube}};
}

/// P18: all threads against one.
Jobs threads_against_one(int64_t n, DType dtype) {
  auto job = [=](Device device) -> Job {
    Tensor a = matrix(n, n, dtype, device), b = matrix(n, n, dtype, device);
    return [a, b] { mm(a, b); };
  };
  double cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  return {job(Device()), job("serial"), {.flops = 2 * cube}, 2};
}

const bool registered = [] {
  for (DType dtype : {kFloat32, kFloat64}) {
    std::string suffix = dtype == kFloat32 ? "f32/" : "f64/";
    for (int64_t n : {16, 32, 48, 64, 128, 256, 512, 1024, 2048}) {
      add_row("P13/matmul/serial/" + suffix + std::to_string(n), [=] { return product(n, dtype); });
    }
    for (int64_t n : {512, 1024, 2048}) {
      add_row("P18/matmul/openmp/" + suffix + std::to_string(n),
              [=] { return threads_against_one(n, dtype); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
