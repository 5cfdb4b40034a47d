#pragma once

#include <string>
#include <vector>

#include <farro/backends/device.hpp>

namespace farro {

/// Initialises Kokkos for as long as it lives; accepts a Kokkos that is already initialised, which
/// it then leaves alone. Kokkos' own options are taken out of argv. Tensors that outlive it are
/// harmless.
class Runtime {
 public:
  struct Options {
    int threads = 0;  ///< of the OpenMP backend; 0 leaves the choice to Kokkos and OMP_NUM_THREADS
  };
  Runtime();
  explicit Runtime(Options options);
  Runtime(int& argc, char** argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  bool owns_ = false;
};

/// The devices that can be used: one per host backend, one per visible GPU.
std::vector<Device> available_devices();
bool is_available(std::string_view backend_name);
/// Versions, backends, threads, BLAS and oneDNN kernels in use, SIMD width, huge pages: one "name:
/// value" a line.
std::string show_config();

}  // namespace farro
