#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace halyard::cpu {

/// While it lives, this thread rounds to nearest even, keeps subnormals and traps nothing; then the thread's
/// own mode is back. A host program may have flushing switched on, which must not reach results.
class FloatingPointMode {
 public:
#if defined(__x86_64__)
  FloatingPointMode() : saved_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);
  }  // the power-on state: all exceptions masked
  ~FloatingPointMode() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FloatingPointMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}));
  }
  ~FloatingPointMode() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
#error "teach this class the floating-point control register of this processor"
#endif
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
#if defined(__aarch64__)
  std::uint64_t saved_ = 0;
#else
  unsigned saved_;
#endif
};

}  // namespace halyard::cpu
