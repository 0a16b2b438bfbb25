/* Condition variables of the C library that somebody else owns: waiting for one, and how many
 * threads wait for it.
 *
 * A wait ends at a time of p_now, so the owner must have made it with the monotonic clock.
 *
 * Counting.
 * The standard has no such question, but the library keeps the number, in a word of the variable,
 * above three bits of its own.  Where that word is differs: glibc moved it in 2.41 and in updates
 * of older versions, and a program runs with another library than the one it was built with.  So
 * the place is learned from a variable of ours, once: a thread waits for it, and while its mutex is
 * ours that thread has waited exactly once.  The word that counts it is the only one that is 1
 * above the three bits then, and 0 there when the thread has gone.  Where there is no such word, or
 * more than one, the number stays unknown.
 *
 * Interception.
 * The signals and waits of another library can go to functions of ours first: its imports are
 * replaced (library_import_elf.c).
 *
 * Threads: any.  While one learns, others that want to return at once.  So nobody waits for a lock
 * that a fork may have left taken.  The answers come without a lock, and are old at once.
 */
#include <pthread.h>
#include <time.h>

#include "plat/plat.h"

#define WORDS (sizeof(pthread_cond_t) / sizeof(unsigned))
#define FLAGS 3

static int counter = -1; /* the index of the word; atomic */
static const p_condition_hooks *hooks;
static int (*true_signal)(pthread_cond_t *);
static int (*true_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*true_wait_until)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t present; /* the thread waits */
    pthread_cond_t end;     /* what it waits for */
    int waits, ends;
} trial = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static unsigned count_in_word(const void *condition, int index)
{
    const unsigned *words = condition;
    return __atomic_load_n(&words[index], __ATOMIC_RELAXED) >> FLAGS;
}

static void wait_for_end(void)
{
    pthread_mutex_lock(&trial.mutex);
    trial.waits = 1;
    pthread_cond_signal(&trial.present);
    while (!trial.ends)
        pthread_cond_wait(&trial.end, &trial.mutex);
    pthread_mutex_unlock(&trial.mutex);
}

/* The only word that counts one waiter; -1: there is no such word. */
static int find_counter(const void *condition)
{
    int found = -1;
    for (int i = 0; i < (int)WORDS; i++) {
        if (count_in_word(condition, i) != 1)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static int is_counter_known(void)
{
    return __atomic_load_n(&counter, __ATOMIC_RELAXED) >= 0;
}

static void learn_counter(void)
{
    p_thread thread;
    trial.waits = trial.ends = 0;
    if (p_thread_start(&thread, wait_for_end) < 0)
        return;
    pthread_mutex_lock(&trial.mutex);
    while (!trial.waits)
        pthread_cond_wait(&trial.present, &trial.mutex);
    int found = find_counter(&trial.end);
    trial.ends = 1;
    pthread_cond_signal(&trial.end);
    pthread_mutex_unlock(&trial.mutex);
    p_thread_join(&thread);
    if (found >= 0 && count_in_word(&trial.end, found) == 0)
        __atomic_store_n(&counter, found, __ATOMIC_RELAXED);
}

void p_condition_learn(void)
{
    static int learns;
    if (is_counter_known() || __atomic_exchange_n(&learns, 1, __ATOMIC_ACQUIRE))
        return;
    if (!is_counter_known())
        learn_counter();
    __atomic_store_n(&learns, 0, __ATOMIC_RELEASE);
}

void p_condition_enter(void *mutex)
{
    pthread_mutex_lock(mutex);
}

void p_condition_leave(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

void p_condition_wait(void *condition, void *mutex, int64_t until)
{
    struct timespec end = {until / 1000000000, until % 1000000000};
    pthread_cond_timedwait(condition, mutex, &end);
}

int p_condition_waiters(const void *condition)
{
    int index = __atomic_load_n(&counter, __ATOMIC_RELAXED);
    return index < 0 ? -1 : (int)count_in_word(condition, index);
}

static int signal_or_leave(pthread_cond_t *condition)
{
    return hooks->signals(condition) ? 0 : true_signal(condition);
}

static int wait_or_return(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return hooks->waits(condition, mutex) ? 0 : true_wait(condition, mutex);
}

static int wait_until_or_return(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                const struct timespec *end)
{
    return hooks->waits(condition, mutex) ? 0 : true_wait_until(condition, mutex, end);
}

static int replace_condition_call(const void *inside, const char *name, uintptr_t function)
{
    return p_library_replace_import(inside, name, (void *)function);
}

int p_condition_intercept(const void *inside, const p_condition_hooks *with)
{
    true_signal = pthread_cond_signal;
    true_wait = pthread_cond_wait;
    true_wait_until = pthread_cond_timedwait;
    hooks = with;
    int changed = replace_condition_call(inside, "pthread_cond_signal", (uintptr_t)signal_or_leave);
    if (changed > 0) {
        changed += replace_condition_call(inside, "pthread_cond_wait", (uintptr_t)wait_or_return);
        changed += replace_condition_call(inside, "pthread_cond_timedwait",
                                          (uintptr_t)wait_until_or_return);
    }
    return changed;
}
