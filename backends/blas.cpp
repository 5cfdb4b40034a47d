#include <farro/backends/blas.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace farro::blas {
namespace {

// CBLAS' enumerations.
constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

template <class T>
using GemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, T alpha,
                        const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);
template <class T>
using GemvFn = void (*)(int order, int trans, int m, int n, T alpha, const T* a, int lda,
                        const T* x, int incx, T beta, T* y, int incy);

/// Sets an environment variable while it lives, unless the user has set it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (!value || std::getenv(name)) return;
    set_ = setenv(name, value, 0) == 0;
  }
  ~ScopedVariable() {
    if (set_) unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  bool set_ = false;
};

/// The kernels for this processor by its abilities, since OpenBLAS goes by model numbers and takes
/// its slowest for those that it does not know. Null leaves the choice to OpenBLAS.
const char* kernels_for_this_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
  }
#endif
  return nullptr;
}

struct Library {
  void* handle = nullptr;
  GemmFn<float> sgemm = nullptr;
  GemmFn<double> dgemm = nullptr;
  GemvFn<float> sgemv = nullptr;
  GemvFn<double> dgemv = nullptr;
  std::string description;

  Library() {
    {
      ScopedVariable kernels("OPENBLAS_CORETYPE", kernels_for_this_processor());
#ifdef FARRO_OPENBLAS_PATH
      handle = dlopen(FARRO_OPENBLAS_PATH, RTLD_NOW | RTLD_LOCAL);
#endif
      if (!handle) handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle) {
      description = "none was found; Farro's own kernels";
      return;
    }
    find(sgemm, "cblas_sgemm");
    find(dgemm, "cblas_dgemm");
    find(sgemv, "cblas_sgemv");
    find(dgemv, "cblas_dgemv");
    if (!sgemm || !dgemm || !sgemv || !dgemv) {
      handle = nullptr;  // stays loaded: unloading a library with threads is not safe
      description = "a library without cblas_?gemm was found; Farro's own kernels";
      return;
    }
    describe();
    // Only the OpenMP flavour shares Kokkos' threads; another is kept to the calling thread for
    // good.
    int (*parallel)() = nullptr;
    void (*set_threads)(int) = nullptr;
    find(parallel, "openblas_get_parallel");
    find(set_threads, "openblas_set_num_threads");
    if (parallel && set_threads && parallel() == 1) {
      set_threads(1);
      description += ", not the OpenMP flavour";
    }
  }

 private:
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
  }
  void describe() {
    using TextFn = char* (*)();
    TextFn core = nullptr, config = nullptr;
    find(core, "openblas_get_corename");
    find(config, "openblas_get_config");
    std::string_view text = config ? config() : "OpenBLAS";
    size_t version_end = text.find(' ', text.find(' ') + 1);
    description =
        fmt::format("{}, {} kernels", text.substr(0, version_end), core ? core() : "unknown");
  }
};

const Library& library() {
  static const Library* loaded = new Library;  // never unloaded: static tensors may compute late
  return *loaded;
}

constexpr int flag(bool trans) { return trans ? kTrans : kNoTrans; }

template <class T>
void call(GemmFn<T> f, const Gemm<T>& g) {
  f(kRowMajor, flag(g.trans_a), flag(g.trans_b), g.m, g.n, g.k, g.alpha, g.a, g.lda, g.b, g.ldb,
    g.beta, g.c, g.ldc);
}

template <class T>
void call(GemvFn<T> f, const Gemv<T>& g) {
  f(kRowMajor, flag(g.trans_a), g.rows, g.cols, g.alpha, g.a, g.lda, g.x, g.incx, g.beta, g.y,
    g.incy);
}

}  // namespace

bool available() { return library().handle != nullptr; }
void gemm(const Gemm<float>& g) { call(library().sgemm, g); }
void gemm(const Gemm<double>& g) { call(library().dgemm, g); }
void gemv(const Gemv<float>& g) { call(library().sgemv, g); }
void gemv(const Gemv<double>& g) { call(library().dgemv, g); }
std::string info() { return library().description; }

}  // namespace farro::blas
