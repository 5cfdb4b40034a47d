#pragma once

/// Function and inlining attributes. FARRO_FUNCTION marks what may run inside a kernel on any
/// backend. FARRO_FORMULA marks templates that do so for numbers and that the host also calls with
/// SIMD packs: CUDA's compiler refuses packs in functions marked for the device, but makes no
/// device code of a constexpr function that no kernel calls.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define FARRO_FUNCTION __host__ __device__
#define FARRO_FORMULA constexpr
#else
#define FARRO_FUNCTION
#define FARRO_FORMULA
#endif

#define FARRO_INLINE inline __attribute__((always_inline))
#define FARRO_NOINLINE __attribute__((noinline))
// A rare path at a function's end. Not looking into it, GCC jumps there instead of saving registers
// for the return.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define FARRO_RARE __attribute__((noipa))
#else
#define FARRO_RARE FARRO_NOINLINE
#endif
/// Of a small thread_local variable on the hot path: reached without a call, also from
/// position-independent code. Takes of the little room that libraries loaded by dlopen share.
/// CUDA's compiler does not know it.
#ifdef __CUDACC__
#define FARRO_FAST_TLS
#else
#define FARRO_FAST_TLS __attribute__((tls_model("initial-exec")))
#endif
#define FARRO_COLD __attribute__((noinline, cold))
#define FARRO_RESTRICT __restrict__
#define FARRO_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define FARRO_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)
