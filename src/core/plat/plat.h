/* The door to the machine: C stacks, the switch, clocks, sleeping threads.
 *
 * This is the whole contract; each operating system and processor is one file
 * behind it.  Rules common to all: pointers are never NULL unless said, sizes
 * are positive, 0 means success and -1 failure.  Nothing here knows Python and
 * nothing here takes the GIL.
 */
#ifndef LOOMLET_PLAT_H
#define LOOMLET_PLAT_H

#include <stddef.h>
#include <stdint.h>

/* ---- address space (memory_mmap.c) ---------------------------------------- */

/* Address space whose pages cost memory once they are touched; never given back.
 * NULL when this process may not have so much. */
void *p_reserve(size_t size);
/* Gives the pages of [at, at + size) back to the system; they read as zeros again. */
void p_forget(void *at, size_t size);

/* ---- stacks ------------------------------------------------------------- */

/* The header of a C stack lies at its top, so that a suspended stack costs one
 * warm page.  `sp` is valid while the stack is suspended, `next` while it is in
 * a free list; `limits` belongs to the cpython room, `fake` to track.h. */
typedef struct p_stack {
    struct p_stack *next;
    void *sp;
    char *low;
    size_t size;
    uintptr_t limits[3];
    void *fake;
} p_stack;

/* A new stack of p_stack_size() bytes, or NULL without memory.  Any thread. */
p_stack *p_stack_new(void);
/* Gives the pages of a stack that nobody runs on back to the system; it stays usable. */
void p_stack_trim(p_stack *stack);
/* Returns a stack for reuse by any thread. */
void p_stack_free(p_stack *stack);
size_t p_stack_size(void);
/* Stacks handed out and not returned. */
long p_stacks_live(void);
void p_stacks_after_fork(void);

/* ---- the switch (switch_*.S) --------------------------------------------- */

/* Saves the callee-saved registers, stores the stack pointer in *save, goes on
 * at `to` (a value stored by an earlier call). */
void p_switch(void **save, void *to);
/* Saves likewise, then calls entry() on the empty stack that ends at `top`; entry never returns. */
void p_start(void **save, void *top, void (*entry)(void));
/* Forgets the stack it is called on and calls entry() at `top`. */
void p_abandon(void *top, void (*entry)(void)) __attribute__((noreturn));

/* ---- who called (callers_unwind.c) ------------------------------------------ */

/* Where on the stack the return addresses of the calling functions lie, innermost first;
 * how many were found, 0 where that cannot be told.  Takes microseconds. */
int p_callers(uintptr_t *slots, int max);

/* ---- time ---------------------------------------------------------------- */

/* Monotonic nanoseconds. */
int64_t p_now(void);

/* ---- processes -------------------------------------------------------------- */

/* A number that the child of a fork does not share with its parent. */
int p_process(void);

/* ---- sleeping threads ----------------------------------------------------- */

/* One word per scheduler.  A sleeper announces itself with p_park_prepare,
 * looks once more for work, then waits; a waker that changed the work calls
 * p_unpark, which costs a system call only when somebody sleeps.  Sequentially
 * consistent on both sides, so no wake-up is lost. */
typedef struct {
    uint32_t word;
} p_parker;

void p_park_prepare(p_parker *parker);
void p_park_cancel(p_parker *parker);
/* Sleeps until unparked, a signal, or `until` (p_now time; INT64_MAX = no limit). */
void p_park(p_parker *parker, int64_t until);
void p_unpark(p_parker *parker);

/* ---- threads ----------------------------------------------------------------- */

/* A short lock for plain C sections; never held while Python may run. */
typedef struct {
    uint32_t word;
} p_lock;

void p_lock_slow(p_lock *lock);
void p_unlock_slow(p_lock *lock);

static inline void p_lock_take(p_lock *lock)
{
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&lock->word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        p_lock_slow(lock);
}

static inline void p_lock_give(p_lock *lock)
{
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        p_unlock_slow(lock);
}

/* A thread without Python that takes no signals and sleeps exactly.  The child of a
 * fork does not have it.  The record must outlive the thread. */
typedef struct {
    uintptr_t handle;
    void (*run)(void);
    p_lock starting;
} p_thread;

/* Waits until the thread has begun: a fork at any later moment finds no lock of the C
 * library held by its start.  0, or -1 when the system gives no thread. */
int p_thread_start(p_thread *thread, void (*run)(void));
/* Waits until run() has returned. */
void p_thread_join(p_thread *thread);

#endif
