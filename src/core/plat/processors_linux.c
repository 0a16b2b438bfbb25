/* Two threads that take turns stay on one processor.
 *
 * A thread that wakes another one and then sleeps would see it started on an idle processor: the
 * system must wake that first, which takes longer than the turn of a thread itself, and caches are
 * cold there.  So the sleeping thread is confined to the processor of its waker.  As soon as it
 * runs it gives itself the others back, and may be moved as before.  A new thread inherits what its
 * launcher is confined to meanwhile: else it would begin where another program has just gone to
 * sleep, and for some 50 ms the two would share that processor and leave this one idle.
 *
 * `confined` and the set are under the lock.  A thread that wakes by itself just then may stay
 * confined for one turn; what it may run on otherwise is not lost, because it is read only while it
 * is not confined.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <unistd.h>

#include "plat/plat.h"

_Static_assert(sizeof(((p_processors *)0)->words) == sizeof(cpu_set_t), "a set has its place");

void p_processors_begin(p_processors *mine)
{
    p_lock_take(&mine->lock);
    mine->thread = gettid();
    p_lock_give(&mine->lock);
}

/* Whether it has several processors, which are known from now on. */
static int has_choice(p_processors *of, int thread, cpu_set_t *all)
{
    return of->confined ||
           (sched_getaffinity(thread, sizeof(*all), all) == 0 && CPU_COUNT(all) > 1);
}

/* Under the lock.  thread 0: the caller.  Whether it is confined now. */
static int confine_to_this(p_processors *of, int thread)
{
    cpu_set_t here, *all = (cpu_set_t *)of->words;
    int processor = sched_getcpu();
    if (processor < 0 || !has_choice(of, thread, all) || !CPU_ISSET(processor, all))
        return 0;
    CPU_ZERO(&here);
    CPU_SET(processor, &here);
    if (sched_setaffinity(thread, sizeof(here), &here) < 0)
        return 0;
    __atomic_store_n(&of->confined, 1, __ATOMIC_RELEASE);
    return 1;
}

void p_processors_confine(p_processors *of)
{
    p_lock_take(&of->lock);
    if (of->thread != 0)
        confine_to_this(of, of->thread);
    p_lock_give(&of->lock);
}

int p_processors_launch_begin(p_processors *of)
{
    p_lock_take(&of->lock);
    int confined = confine_to_this(of, 0);
    p_lock_give(&of->lock);
    return confined;
}

void p_processors_launch_end(const p_processors *of, int confined)
{
    if (confined)
        sched_setaffinity(0, sizeof(cpu_set_t), (const cpu_set_t *)of->words);
}

void p_processors_restore(p_processors *mine)
{
    if (!__atomic_load_n(&mine->confined, __ATOMIC_ACQUIRE))
        return;
    p_lock_take(&mine->lock);
    sched_setaffinity(0, sizeof(cpu_set_t), (const cpu_set_t *)mine->words);
    __atomic_store_n(&mine->confined, 0, __ATOMIC_RELEASE);
    p_lock_give(&mine->lock);
}
