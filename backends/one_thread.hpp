#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace farro {

/// While it lives, libraries that use OpenMP run on the calling thread alone. It sets the calling
/// thread's own copy of the number of threads, which costs a few nanoseconds and touches nobody
/// else's.
class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : previous_(omp_get_max_threads()) {
    if (previous_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (previous_ != 1) omp_set_num_threads(previous_);
  }
#else
  OneThread() {}
#endif
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
#ifdef _OPENMP
  int previous_;
#endif
};

}  // namespace farro
