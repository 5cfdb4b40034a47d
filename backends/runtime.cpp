#include <farro/backends/runtime.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <xsimd/xsimd.hpp>

#include <farro/backends/backend.hpp>
#include <farro/backends/blas.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/onednn.hpp>
#include <farro/backends/registry.hpp>

namespace farro {
namespace {

/// Kokkos then prints advice at every start, which is right for a node of one's own and wrong for a
/// shared one. Other warnings go with it; whoever sets either variable gets them.
bool nobody_binds_threads() {
  return !std::getenv("OMP_PROC_BIND") && !std::getenv("KOKKOS_DISABLE_WARNINGS");
}

}  // namespace

Runtime::Runtime() : Runtime(Options{}) {}

Runtime::Runtime(Options options) {
  if (options.threads < 0)
    fail<ValueError>("Runtime", "expected a number of threads >= 0, got {}", options.threads);
  if (compat::is_initialized()) return;
  if (compat::is_finalized())
    fail<BackendError>("Runtime", "Kokkos was finalised and can't be initialised again");
  compat::initialize(options.threads, nobody_binds_threads());
  owns_ = true;
}

Runtime::Runtime(int& argc, char** argv) {
  if (compat::is_initialized()) return;
  if (compat::is_finalized())
    fail<BackendError>("Runtime", "Kokkos was finalised and can't be initialised again");
  compat::initialize(argc, argv, nobody_binds_threads());
  owns_ = true;
}

Runtime::~Runtime() {
  if (!owns_ || !compat::is_initialized()) return;
  for (const auto& info : detail::backend_infos()) {
    if (!Device::of(info.id).is_host()) empty_cache(Device::of(info.id));
  }
  Kokkos::finalize();
}

std::vector<Device> available_devices() {
  std::vector<Device> devices;
  for (const auto& info : detail::backend_infos()) {
    for (int i = 0; i < info.device_count(); ++i)
      devices.push_back(Device::of(info.id, static_cast<int8_t>(i)));
  }
  return devices;
}

bool is_available(std::string_view backend_name) {
  for (const auto& info : detail::backend_infos()) {
    if (info.name == backend_name) return info.device_count() > 0;
  }
  return false;
}

namespace {

std::string transparent_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  size_t open = line.find('['), close = line.find(']');
  return open == std::string::npos || close == std::string::npos
             ? "unknown"
             : line.substr(open + 1, close - open - 1);
}

}  // namespace

std::string show_config() {
  std::string text;
  auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<12}  {}\n", name, value);
  };
  line("farro", FARRO_VERSION);
  line("kokkos", fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100,
                             KOKKOS_VERSION % 100));
  for (const auto& info : detail::backend_infos()) {
    line(info.name, fmt::format("{} {}, {}", info.concurrency(),
                                info.concurrency() == 1 ? "thread" : "threads", info.blas));
  }
  line("simd",
       fmt::format("{}, {} float32 lanes", xsimd::default_arch::name(), xsimd::batch<float>::size));
  line("openblas", blas::info());
  line("onednn", onednn::info());
  line("huge pages", transparent_huge_pages());
  return text;
}

}  // namespace farro
