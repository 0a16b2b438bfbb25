/* Invariants, and hints for the compiler.
 *
 * B_CHECK states an invariant.  It costs nothing in a release build; with LOOMLET_CHECKS (the
 * sanitizer and torture builds) a broken invariant aborts the process at once and names its file
 * and line, so that a corrupted scheduler cannot corrupt the program that it runs.
 */
#ifndef LOOMLET_B_CHECK_H
#define LOOMLET_B_CHECK_H

#define B_LIKELY(x) __builtin_expect(!!(x), 1)
#define B_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define B_NOINLINE __attribute__((noinline))
#define B_INLINE inline __attribute__((always_inline))
#define B_COLD __attribute__((noinline, cold))
#define B_NORETURN __attribute__((noreturn))
/* Brings what will be written soon into the processor's cache. */
#define B_PREFETCH(address) __builtin_prefetch(address, 1)
#define B_CACHE_LINE 64

#ifdef LOOMLET_CHECKS
#include <stdio.h>
#include <stdlib.h>
#define B_CHECK(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "loomlet: broken invariant %s at %s:%d\n", #cond, __FILE__, __LINE__); \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
#else
#define B_CHECK(cond) ((void)0)
#endif

#endif
