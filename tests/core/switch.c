/* plat/switch_*.S: registers, alignment and locals survive; abandoned stacks start anew.
 *
 * Every switch is reported to the sanitizers as sched/switch.c does it.
 */
#include <pthread.h>

#include "base/track.h"
#include "plat/plat.h"
#include "runner.h"

static p_stack own, *other; /* the thread's, and the one of the coroutine */

static void own_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &low, &own.size) == 0);
    pthread_attr_destroy(&attributes);
    own.low = low;
}

static void go(p_stack *from, p_stack *to)
{
    track_leave(&from->fake, to->low, to->size);
    p_switch(&from->sp, to->sp);
    track_enter(from->fake);
}

static void start(p_stack *from, p_stack *on, void (*entry)(void))
{
    track_leave(&from->fake, on->low, on->size);
    p_start(&from->sp, on, entry);
    track_enter(from->fake);
}

/* ---- there and back ---------------------------------------------------------- */

static long count;

static void counting(void)
{
    track_enter(NULL);
    long mine[50];
    for (long i = 0;; i++) {
        mine[i % 50] = i;
        CHECK(mine[i % 50] == count);
        count++;
        go(other, &own);
    }
}

TEST(both_stacks_keep_their_locals)
{
    own_stack();
    other = p_stack_new();
    start(&own, other, counting);
    for (long i = 1; i < 100000; i++) {
        CHECK(count == i);
        go(&own, other);
    }
}

/* ---- registers ------------------------------------------------------------------- */

#if defined(__x86_64__)
#define SAVED "rbx", "r12", "r13", "r14", "r15"
#define SPOIL                                                                                      \
    "xor %%ebx, %%ebx\n xor %%r12d, %%r12d\n xor %%r13d, %%r13d\n xor %%r14d, %%r14d\n"            \
    "xor %%r15d, %%r15d\n"
#else
#define SAVED                                                                                      \
    "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8", "d9", "d10",       \
        "d11", "d12", "d13", "d14", "d15"
#define SPOIL                                                                                      \
    "mov x19, xzr\n mov x20, xzr\n mov x21, xzr\n mov x22, xzr\n mov x23, xzr\n mov x24, xzr\n"    \
    "mov x25, xzr\n mov x26, xzr\n mov x27, xzr\n mov x28, xzr\n fmov d8, xzr\n fmov d9, xzr\n"    \
    "fmov d10, xzr\n fmov d11, xzr\n fmov d12, xzr\n fmov d13, xzr\n fmov d14, xzr\n"              \
    "fmov d15, xzr\n"
#endif

static void spoiling(void)
{
    track_enter(NULL);
    for (;;) {
        __asm__ volatile(SPOIL ::: SAVED);
        go(other, &own);
    }
}

/* More values alive across the switch than there are registers that survive calls. */
static __attribute__((noinline)) void with_full_registers(long n, double x)
{
    long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
    long h = n * 23, i = n * 29, j = n * 31, k = n * 37, l = n * 41;
    double o = x * 3, p = x * 5, q = x * 7, r = x * 11, s = x * 13, t = x * 17, u = x * 19;
    for (int turn = 0; turn < 3; turn++) {
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
        go(&own, other);
        __asm__ volatile("" : "+r"(h), "+r"(i), "+r"(j), "+r"(k), "+r"(l));
    }
    CHECK(a + b + c + d + e + f + g == n * 75);
    CHECK(h + i + j + k + l == n * 161);
    CHECK(o == x * 3 && p == x * 5 && q == x * 7 && r == x * 11);
    CHECK(s == x * 13 && t == x * 17 && u == x * 19);
}

TEST(registers_survive_a_stack_that_spoils_them)
{
    own_stack();
    other = p_stack_new();
    start(&own, other, spoiling);
    for (int n = 1; n < 1000; n++)
        with_full_registers(n, n * 0.5);
}

/* ---- the beginning of a stack ------------------------------------------------------ */

static uintptr_t frame;
static int entries;

static void aligned(void)
{
    track_enter(NULL);
    frame = (uintptr_t)__builtin_frame_address(0);
    entries++;
    go(other, &own);
}

TEST(a_stack_begins_aligned_just_below_its_header)
{
    own_stack();
    for (int i = 0; i < 40; i++) {
        other = p_stack_new();
        start(&own, other, aligned);
        CHECK(frame % 16 == 0);
        CHECK(frame < (uintptr_t)other && (uintptr_t)other - frame < 512);
    }
    CHECK(entries == 40);
}

/* ---- abandoning ----------------------------------------------------------------------- */

#define ABANDONED 100000

static uintptr_t first_frame;
static int rounds;

static void again(void);

/* Leaves the stack for good from somewhere below its top. */
static __attribute__((noinline)) void leave_from(int depth)
{
    volatile char room[100 * depth + 1];
    for (int i = 0; i <= 100 * depth; i++)
        room[i] = (char)i;
    CHECK(room[100 * depth] == (char)(100 * depth));
    track_abandon(other->low, other->size);
    track_leave(NULL, other->low, other->size);
    p_abandon(other, again);
}

static void again(void)
{
    track_enter(NULL);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    first_frame = first_frame ? first_frame : here;
    CHECK(here == first_frame);
    if (++rounds < ABANDONED)
        leave_from(rounds % 7);
    go(other, &own);
}

TEST(an_abandoned_stack_begins_at_the_top_again)
{
    own_stack();
    other = p_stack_new();
    start(&own, other, again);
    CHECK(rounds == ABANDONED);
}

/* ---- many ------------------------------------------------------------------------------ */

#define MANY 500
#define LAPS 100

static p_stack *ring[MANY];
static long hops;

static void hopping(void)
{
    track_enter(NULL);
    long me = hops % MANY;
    for (;;) {
        CHECK(hops % MANY == me);
        hops++;
        p_stack *next = hops == (long)MANY * LAPS ? &own : ring[hops % MANY];
        if (hops < MANY)
            start(ring[me], next, hopping);
        else
            go(ring[me], next);
    }
}

TEST(a_token_goes_round_many_stacks)
{
    own_stack();
    for (int i = 0; i < MANY; i++)
        CHECK((ring[i] = p_stack_new()) != NULL);
    start(&own, ring[0], hopping);
    CHECK(hops == (long)MANY * LAPS);
}
