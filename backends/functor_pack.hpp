#pragma once

#include <farro/backends/simd.hpp>

namespace farro {

/// What a user's functor is called with on the host: SIMD packs, except that CUDA's compiler
/// refuses those in functions that are marked for the device, as such a functor's call operator is.
#ifdef __CUDACC__
template <class T>
using FunctorPack = T;
#else
template <class T>
using FunctorPack = Pack<T>;
#endif

}  // namespace farro
