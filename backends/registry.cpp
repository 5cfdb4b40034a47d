#include <farro/backends/registry.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>

#include <farro/backends/backend.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/launch.hpp>

namespace farro {
namespace detail {
namespace {

template <class B>
BackendInfo make_info() {
  using Execution = typename B::ExecutionSpace;
  using Memory = typename B::MemorySpace;
  return {
      .id = B::id,
      .name = B::name,
      .blas = B::blas,
      .device_count = [] { return 1; },  // Kokkos drives the one device it was initialised on
      .concurrency = [] { return compat::is_initialized() ? compat::concurrency<Execution>() : 1; },
      .fence =
          [] {
            if constexpr (!is_host_backend<B>) Execution().fence();
          },
      .allocate = [](size_t bytes) -> void* {
        return Kokkos::kokkos_malloc<Memory>("farro::storage", bytes);
      },
      .deallocate =
          [](void* p) {
            if (compat::is_initialized()) Kokkos::kokkos_free<Memory>(p);
          },
      .copy =
          [](void* to, const void* from, size_t bytes) {
            if constexpr (is_host_backend<B>) {
              std::memcpy(to, from, bytes);
            } else {
              compat::copy_bytes<Memory>(to, from, bytes);
            }
          },
  };
}

const auto& infos() {
  static const auto table = boost::hana::unpack(kBackends, [](auto... types) {
    return std::array<BackendInfo, sizeof...(types)>{
        make_info<typename decltype(types)::type>()...};
  });
  return table;
}

constexpr uint8_t best_host_id() {
  uint8_t best = 0;
  boost::hana::unpack(kBackends, [&](auto... types) {
    ((is_host_backend<typename decltype(types)::type> ? void(best = decltype(types)::type::id)
                                                      : void()),
     ...);
  });
  return best;
}

std::string built_names() {
  std::string names;
  for (const BackendInfo& info : infos())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  return names;
}

}  // namespace

std::span<const BackendInfo> backend_infos() { return infos(); }

const BackendInfo& backend_info(uint8_t id) {
  for (const BackendInfo& info : infos()) {
    if (info.id == id) return info;
  }
  fail<BackendError>("device", "backend number {} was not built; built are {}", id, built_names());
}

}  // namespace detail

Device::Device() : Device(detail::best_host_id(), 0, 0) {}

Device::Device(std::string_view name) : Device() {
  size_t colon = name.find(':');
  std::string_view kind = name.substr(0, colon);
  if (kind != "cpu") {
    const detail::BackendInfo* found = nullptr;
    for (const auto& info : detail::infos()) {
      if (info.name == kind) found = &info;
    }
    if (!found) {
      fail<BackendError>("device", "backend \"{}\" was not built; built are {}", kind,
                         detail::built_names());
    }
    backend_ = found->id;
  }
  if (colon == std::string_view::npos) return;
  std::string_view digits = name.substr(colon + 1);
  int index = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  int count = detail::backend_info(backend_).device_count();
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0 || index >= count) {
    fail<BackendError>("device", "expected an index below {} after \"{}:\", got \"{}\"", count,
                       kind, digits);
  }
  index_ = static_cast<int8_t>(index);
}

std::string Device::str() const {
  std::string_view name = detail::backend_info(backend_).name;
  return is_host() ? std::string(name) : fmt::format("{}:{}", name, index_);
}

int concurrency(Device device) { return detail::backend_info(device.backend()).concurrency(); }

void fence(Device device) {
  if (!device.is_host()) detail::backend_info(device.backend()).fence();
}

}  // namespace farro
