#include <farro/backends/onednn.hpp>

#ifndef FARRO_HAVE_ONEDNN

namespace farro::onednn {

bool available() { return false; }
std::string info() { return "not built in; Farro's own kernels"; }
void gemm(const blas::Gemm<float>&) {}

}  // namespace farro::onednn

#else

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace farro::onednn {
namespace {

std::string_view kernels_in_use() {
  // By number: the list differs between versions, and each set contains the bits of those below it.
  auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  if ((isa & 0x3e7u) == 0x3e7u) return "AMX";
  if ((isa & 0xe7u) == 0xe7u) return "AVX-512 bf16";
  if ((isa & 0x27u) == 0x27u) return "AVX-512";
  if ((isa & 0x7u) == 0x7u) return "AVX2";
  if ((isa & 0x3u) == 0x3u) return "AVX";
  return isa & 1u ? "SSE4.1" : "portable";
}

}  // namespace

bool available() { return true; }

std::string info() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, {} kernels", v->major, v->minor, v->patch, kernels_in_use());
}

void gemm(const blas::Gemm<float>& g) {
  dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', g.m, g.n, g.k, g.alpha, g.a, g.lda, g.b,
             g.ldb, g.beta, g.c, g.ldc);
}

}  // namespace farro::onednn

#endif
