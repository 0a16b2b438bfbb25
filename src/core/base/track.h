/* Reports switches of the C stack, and memory that a pool keeps unused, to the sanitizers.
 *
 * AddressSanitizer keeps shadow memory for stack variables: it has to know which stack is current,
 * and an abandoned stack must be unpoisoned, because the functions on it never return to do so.  In
 * a plain build all of this is nothing.  ThreadSanitizer is run on the rooms that switch no stacks.
 */
#ifndef LOOMLET_TRACK_H
#define LOOMLET_TRACK_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* About to leave this stack for [low, low + size); `keep` is NULL when it is never resumed. */
static inline void track_leave(void **keep, const void *low, size_t size)
{
    __sanitizer_start_switch_fiber(keep, low, size);
}

/* The first call on the new stack. */
static inline void track_enter(void *kept)
{
    __sanitizer_finish_switch_fiber(kept, NULL, NULL);
}

#define TRACK_FRAME 65536 /* bytes: more than a frame of ours, and what it calls here */

/* The frames on [low, low + size) are abandoned: nothing there stays poisoned.  On the stack that
 * is current nothing is poisoned below the present frame, which saves going through megabytes. */
static inline void track_abandon(const void *low, size_t size)
{
    const char *from = low, *end = from + size, *here = __builtin_frame_address(0);
    if (here > from + TRACK_FRAME && here < end)
        from = here - TRACK_FRAME;
    if (size)
        __asan_unpoison_memory_region(from, (size_t)(end - from));
}

/* Memory of a pool is in use from here on, or not any more. */
static inline void track_use(const void *at, size_t size)
{
    __asan_unpoison_memory_region(at, size);
}

static inline void track_free(const void *at, size_t size)
{
    __asan_poison_memory_region(at, size);
}
#else
static inline void track_use(const void *at, size_t size)
{
    (void)at, (void)size;
}
static inline void track_free(const void *at, size_t size)
{
    (void)at, (void)size;
}
static inline void track_leave(void **keep, const void *low, size_t size)
{
    (void)keep, (void)low, (void)size;
}
static inline void track_enter(void *kept)
{
    (void)kept;
}
static inline void track_abandon(const void *low, size_t size)
{
    (void)low, (void)size;
}
#endif

#endif
