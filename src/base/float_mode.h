/* A thread's rounding mode and treatment of denormal numbers. Threads of the pool adopt their caller's mode. */
#ifndef TAMIS_BASE_FLOAT_MODE_H
#define TAMIS_BASE_FLOAT_MODE_H

#if defined(__x86_64__)
#include <xmmintrin.h>
typedef unsigned tamis_float_mode;
static inline tamis_float_mode tamis_float_mode_now(void) { return _mm_getcsr(); }
static inline void tamis_float_mode_write(tamis_float_mode mode) { _mm_setcsr(mode); }
enum { TAMIS_FLOAT_FLAGS = 0x3f }; /* status flags are not part of the mode */
#elif defined(__aarch64__)
typedef unsigned long tamis_float_mode;
static inline tamis_float_mode tamis_float_mode_now(void) {
    tamis_float_mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void tamis_float_mode_write(tamis_float_mode mode) { __asm__ volatile("msr fpcr, %0" ::"r"(mode)); }
enum { TAMIS_FLOAT_FLAGS = 0 };
#else
typedef int tamis_float_mode;
static inline tamis_float_mode tamis_float_mode_now(void) { return 0; }
static inline void tamis_float_mode_write(tamis_float_mode mode) { (void)mode; }
enum { TAMIS_FLOAT_FLAGS = 0 };
#endif

static inline tamis_float_mode tamis_float_mode_get(void) {
    return tamis_float_mode_now() & ~(tamis_float_mode)TAMIS_FLOAT_FLAGS;
}

/* Reads the mode first, since writing is slower and modes rarely differ. */
static inline void tamis_float_mode_set(tamis_float_mode mode) {
    if (tamis_float_mode_get() != mode) tamis_float_mode_write(mode);
}

#endif
