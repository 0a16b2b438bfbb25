/* Our own threads: those that know no Python, and those that run the program's functions.
 *
 * Threads without Python take no signals, which belong to the interpreter's threads.  A p_thread is
 * woken from a timed sleep as exactly as the system can: its timer slack, 50 us by default, is set
 * to the minimum.  The child of a fork does not have it, and p_process_id shows that.
 *
 * Starting returns when the thread has entered our code.  Before that the system and the sanitizers
 * take locks of their own on it (ASan takes the allocator's, to read the stack's limits), and a
 * fork at that moment would leave them taken in the child.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "plat/plat.h"

#define STACK 131072

static void *enter_thread(void *thread)
{
    p_thread *self = thread;
    prctl(PR_SET_NAME, "loomlet");
    prctl(PR_SET_TIMERSLACK, 1UL);
    p_lock_give(&self->starting);
    self->run();
    return NULL;
}

static void wait_for_entry(p_thread *thread)
{
    p_lock_take(&thread->starting);
    p_lock_give(&thread->starting);
}

/* Threads that are started meanwhile inherit the mask. */
static void block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

int p_thread_start(p_thread *thread, void (*run)(void))
{
    pthread_attr_t attributes;
    sigset_t before;
    pthread_t made;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    *thread = (p_thread){.run = run, .starting = {1}};
    block_signals(&before);
    int code = pthread_create(&made, &attributes, enter_thread, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        return -1;
    thread->handle = (uintptr_t)made;
    wait_for_entry(thread);
    return 0;
}

void p_thread_join(p_thread *thread)
{
    pthread_join((pthread_t)thread->handle, NULL);
}

int p_at_fork(void (*before)(void), void (*after)(void))
{
    return pthread_atfork(before, after, after) == 0 ? 0 : -1;
}

static void *enter_launched(void *arg)
{
    p_launch *launch = arg;
    void (*run)(void *arg) = launch->run;
    arg = launch->arg;
    prctl(PR_SET_NAME, launch->name);
    int begun = launch->begun = launch->begin(arg);
    p_lock_give(&launch->starting);
    if (begun == 0)
        run(arg);
    return NULL;
}

int p_thread_launch(p_launch *launch)
{
    pthread_attr_t attributes;
    sigset_t before;
    pthread_t made;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (launch->stack != 0)
        pthread_attr_setstacksize(&attributes, launch->stack);
    launch->starting = (p_lock){1};
    if (!launch->signals)
        block_signals(&before);
    int code = pthread_create(&made, &attributes, enter_launched, launch);
    if (!launch->signals)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        return -EAGAIN;
    p_lock_take(&launch->starting);
    return launch->begun;
}

_Static_assert(sizeof(p_signals) >= sizeof(sigset_t), "a signal mask has its place");

void p_signals_read(p_signals *blocked)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    memcpy(blocked, &mask, sizeof(mask));
}

void p_signals_use(const p_signals *blocked)
{
    sigset_t mask;
    memcpy(&mask, blocked, sizeof(mask));
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Asked at switches, where a system call would be felt; 0 where it could not be kept. */
static int process;

static void note_process(void)
{
    process = (int)getpid();
}

__attribute__((constructor)) static void follow_process(void)
{
    if (pthread_atfork(NULL, NULL, note_process) == 0)
        note_process();
}

int p_process_id(void)
{
    return process != 0 ? process : (int)getpid();
}

void p_end_process(int status)
{
    _exit(status);
}

int p_parent_id(void)
{
    return (int)getppid();
}
