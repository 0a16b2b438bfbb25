/* Operating system and processor: C stacks, the switch, clocks, sleeping threads, descriptors.
 *
 * The contract of this room, but for the thread pool (work_pool.h); each operating system and each
 * processor is one file behind it.  Rules common to all: pointers are never NULL unless said, sizes
 * are positive, 0 means success and -1 failure.  Nothing here knows Python or takes the GIL.
 */
#ifndef LOOMLET_PLAT_H
#define LOOMLET_PLAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/b_spin.h"

/* ---- address space (memory_mmap.c) ---------------------------------------- */

/* Address space whose pages cost memory once they are touched; never given back.  NULL if the
 * limits of this process do not allow it. */
void *p_reserve(size_t size);
/* Gives the pages of [at, at + size) back to the system; they read as zeros again. */
void p_release_pages(void *at, size_t size);
/* Lets the C library give back what it can, where it has a function for that. */
void p_trim_library(void);

/* Reads an address that may not be mapped (memory_read_linux.c): 0, or -1. */
int p_memory_read(const void *from, void *to, size_t size);

/* ---- stacks ------------------------------------------------------------- */

/* The header of a C stack lies at its top, so that a suspended stack costs one warm page.  `sp` is
 * valid while the stack is suspended, `next` while it is a spare one of a scheduler; `limits`
 * belongs to the cpython room, `fake` to track.h, `keeper` to the sched room. */
typedef struct p_stack_entry p_stack_entry;
typedef struct p_stack {
    struct p_stack *next;
    void *sp;
    char *low;
    size_t size;
    uintptr_t limits[3];
    void *fake;
    void *keeper;
    p_stack_entry *entry; /* where stack_mmap.c has it */
} p_stack;

/* The address space of one stack. */
#define P_STACK_SIZE ((size_t)20 << 20)

/* A new stack of P_STACK_SIZE bytes, or NULL without memory.  Any thread. */
p_stack *p_stack_new(void);
/* Gives all its pages back to the system, and the stack to whoever needs one next.  Nothing runs on
 * it any more. */
void p_stack_free(p_stack *stack);
/* Stacks handed out and not returned; and all that there ever were at one time. */
long p_stacks_live(void);
long p_stacks_made(void);
void p_stacks_after_fork(void);

/* ---- idents (ident_mmap.c) ------------------------------------------------ */

/* An ident for what is no thread of the system: not 0, that of no thread, and an address that the C
 * library may take for one.  `owner` is not 0, and below 2^63.  0 without memory.  Any thread. */
uintptr_t p_ident_take(uint64_t owner);
/* Another may have it from now on, but not soon. */
void p_ident_give(uintptr_t ident);
/* Whether it is, was or may be such an ident, and not a thread's. */
int p_ident_is_ours(uintptr_t ident);
/* Whose it is; 0: nobody's now, or not ours. */
uint64_t p_ident_owner(uintptr_t ident);
void p_idents_after_fork(void);

/* ---- the switch (switch_*.S) --------------------------------------------- */

/* Saves the callee-saved registers, stores the stack pointer in *save, and continues at `to` (a
 * value stored by an earlier call). */
void p_switch(void **save, void *to);
/* Saves likewise, then calls entry() on the empty stack that ends at `top`; entry never returns. */
void p_start(void **save, void *top, void (*entry)(void));
/* Abandons the stack it is called on and calls entry() at `top`. */
void p_abandon(void *top, void (*entry)(void)) __attribute__((noreturn));

/* ---- callers (callers_unwind.c) ------------------------------------------ */

/* Where on the stack the return addresses of the calling functions lie, innermost first; how many
 * were found, 0 where that is unknown.  Takes microseconds. */
int p_callers(uintptr_t *slots, int max);

/* ---- libraries with pointers into the stack (stack_words_elf.c) ------------ */

#define P_STACK_WORDS 16
#define P_LIBRARY_NAME 64

/* A thread-local word, or (`at` is NULL) the value of a key. */
typedef struct {
    uintptr_t *at;
    unsigned key;
    uintptr_t value;
} p_stack_word;

typedef struct {
    int count;
    p_stack_word word[P_STACK_WORDS];
} p_stack_words;

/* 0: no library has any, and the functions below need not be called. */
extern int p_stack_words_wanted;
/* A library was loaded.  `keys`: values of pthread_setspecific are looked at too, from now on. */
void p_stack_words_refresh(int keys);
/* Takes away what libraries keep in the calling thread that points between the caller and `end`,
 * the base of its C stack (NULL: of the thread's own).  NULL: nothing, or there is no memory. */
p_stack_words *p_stack_words_save(const void *end);
/* Puts it back and frees it. */
void p_stack_words_restore(p_stack_words *kept);
/* Whether such a word points into a frame of its library, whose name is then stored.  Takes
 * microseconds if there is one. */
int p_stack_words_find(const void *end, char *name, size_t room);
void p_stack_words_after_fork(void);

/* ---- time ---------------------------------------------------------------- */

/* Monotonic nanoseconds. */
int64_t p_now(void);
/* The same clock as p_now, some milliseconds coarse, at a quarter of the cost. */
int64_t p_now_coarse(void);
/* Nanoseconds of processor time that the calling thread has taken.  A system call. */
int64_t p_thread_time(void);
/* Seconds since 1970 by the system's clock, as coarse. */
int64_t p_wall_seconds(void);

/* How many threads wait for this pthread_cond_t, about; -1: unknown. */
int p_condition_waiters(const void *condition);
/* Lets it be known from now on, where the C library counts them.  Takes 0.1 ms, once. */
void p_condition_learn(void);
/* Takes and gives the pthread_mutex_t beside it. */
void p_condition_enter(void *mutex);
void p_condition_leave(void *mutex);
/* Sleeps, without the mutex, until it is woken, or until then (p_now time). */
void p_condition_wait(void *condition, void *mutex, int64_t until);
/* What a library asks before it signals a condition variable, and before it waits for one with the
 * mutex beside it: 1, it does not, and goes on as after a wait that has ended for no reason. */
typedef struct {
    int (*signals)(const void *condition);
    int (*waits)(const void *condition, void *mutex);
} p_condition_hooks;
/* From now on the library that holds the address `inside` does that.  How many words were changed;
 * 0: it cannot be reached so.  Once in a process; not undone. */
int p_condition_intercept(const void *inside, const p_condition_hooks *hooks);

/* ---- processes -------------------------------------------------------------- */

/* A number that the child of a fork does not share with its parent. */
int p_process_id(void);
/* The process that made this one. */
int p_parent_id(void);

/* ---- a copy of the process (process_copy_linux.c) ------------------------------------ */

/* Like fork, but runs no handlers: 0 in the copy, its process number, or -errno.  The copy must
 * call p_process_copy_begin first and p_process_copy_end last, and nothing that locks or allocates.
 */
int p_process_copy(void);
/* In the copy: closes every descriptor but `keep`, and handles faults. */
void p_process_copy_begin(int keep);
/* In the copy: calls work(arg): 0, or -1 when that met an address that is no memory and was
 * abandoned there. */
int p_process_copy_try(void (*work)(void *arg), void *arg);
/* Writes all of it, to a socket or file: 0 or -1. */
int p_process_copy_write(int fd, const char *from, size_t size);
void p_process_copy_end(int status) __attribute__((noreturn));
/* In the thread that made it: its exit status, 255 when it failed; -1 while it lives (`sleeps`:
 * waits for its end). */
int p_process_copy_ended(int pid, int sleeps);

/* ---- a command at a signal (command_posix.c) ------------------------------------- */

#define P_WORDS 8
/* From now on SIGUSR1 runs a command (NULL at its end, at most P_WORDS words) with the number of
 * this process as its last word, and its output goes to stderr.  1; 0 when the signal is taken
 * already, -1 without memory.  Once in a process. */
int p_command_at_signal(const char *const *words);

/* ---- a private socket for other processes (debug_socket_unix.c) -------------------- */

typedef struct {
    int fd;
    uint64_t inode; /* proves that the descriptor is still ours */
} p_debug_socket;

/* A socket at `path` that only this user may use: 0 or -errno. */
int p_debug_socket_open(p_debug_socket *s, const char *path);
/* A connection of this user (or root), waited for so long (0: for ever); -EAGAIN for none,
 * -EBADF when the socket is shut down or gone. */
int p_debug_socket_accept(p_debug_socket *s, int milliseconds);
/* Makes a waiting p_debug_socket_accept return: 0, or -1 when the descriptor is not ours any more.
 * Any thread. */
int p_debug_socket_shutdown(p_debug_socket *s);
void p_debug_socket_close(p_debug_socket *s);
/* One line that the peer sends, at most `size` bytes; the peer has a second for it. */
long p_debug_socket_read_line(int fd, char *words, size_t size);

/* ---- sleeping threads ----------------------------------------------------- */

/* One word per sleeper.  The sleeper announces itself with p_park_prepare, looks once more for
 * work, then waits; a waker that changed the work calls p_unpark, which costs a system call only
 * if the sleeper sleeps, and none while it spins.  Sequentially consistent on both sides, so no
 * wake-up is lost. */
typedef struct {
    uint32_t word;
    int waker; /* the processor from which a system call has woken the sleeper; -1: none has */
} p_parker;

enum {
    P_AWAKE,
    P_ASLEEP, /* or about to sleep */
    P_WOKEN,
    P_SPINNING, /* about to sleep, and reading the word */
};

static inline int p_word_change(uint32_t *word, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
/* Wakes the owner of a word, which may begin or end to spin meanwhile; 1 if a system call must
 * follow. */
static inline int p_word_wake(uint32_t *word)
{
    uint32_t seen = P_ASLEEP;
    do {
        if (__atomic_compare_exchange_n(word, &seen, P_WOKEN, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return seen == P_ASLEEP;
    } while (seen == P_ASLEEP || seen == P_SPINNING);
    return 0;
}
/* Leaves more of the processor core to its other hardware thread. */
static inline void p_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Lets another thread run. */
void p_yield(void);

/* An exchange and no store: some emulators let the owner's next load overtake a store. */
static inline void p_park_prepare(p_parker *parker)
{
    __atomic_store_n(&parker->waker, -1, __ATOMIC_RELAXED);
    __atomic_exchange_n(&parker->word, P_ASLEEP, __ATOMIC_SEQ_CST);
}
void p_park_cancel(p_parker *parker);
/* Sleeps until unparked, a signal, or `until` (p_now time; INT64_MAX = no limit). */
void p_park(p_parker *parker, int64_t until);
/* Before p_park: spins from now until unparked or until a time.  1: it has ended before, because
 * somebody else had the processor meanwhile (b_spin.h). */
int p_park_spin(p_parker *parker, int64_t now, int64_t until);
/* p_park, after a spin if that pays (b_spin.h); after a spin calls then(the end of the spin) if
 * that is not NULL. */
void p_park_adaptive(p_parker *parker, b_spin *spin, int64_t until, void (*then)(int64_t until));
void p_unpark(p_parker *parker);
/* The same without waking: 1 if a system call must do that. */
int p_unpark_begin(p_parker *parker);
/* After a sleep: whether it was ended from the processor that the caller runs on.  Then its waker
 * is not done with what it was doing, and goes on when the caller sleeps. */
int p_woken_here(const p_parker *parker);

/* ---- descriptors that become ready (poll_epoll.c) ---------------------------- */

/* A set of descriptors, and a sleep that ends when one of them becomes ready, when another thread
 * wakes the sleeper, with a signal, or at a time.
 *
 * Reported once.  A descriptor is reported when it becomes ready, and not again until it has been
 * exhausted (EAGAIN, or less than was asked for where that proves it).  So a descriptor is added
 * once and costs nothing per wait.
 *
 * One thread sleeps and changes the set; any thread may wake it, as long as the poller is kept
 * open meanwhile.  The protocol is that of a parker: the sleeper prepares, looks once more for
 * work, then waits or cancels.  The child of a fork shares the set with its parent, so it closes
 * its copy before anything else and opens a new one. */
typedef struct {
    int set, wakeup;
    int crowded; /* somebody else had the processor during the last spin */
    p_parker parker;
} p_poller;

enum {
    P_READ = 1,
    P_WRITE = 2,
    P_ENDED = 4,  /* the peer has ended its side, or the descriptor is broken */
    P_BROKEN = 8, /* ... it is broken, or both sides have ended */
};

typedef struct {
    uint64_t tag;
    unsigned what;
} p_event;

/* 0, or -1 with errno (EMFILE, ...). */
int p_poller_open(p_poller *poller);
void p_poller_close(p_poller *poller);
/* Reports `what` (P_READ, P_WRITE) of a descriptor with `tag` from now on, and at the next wait if
 * it is ready already; adding it again replaces both.  0, or -1 with errno: EPERM for descriptors
 * that are always ready, as files are. */
int p_poller_add(p_poller *poller, int fd, unsigned what, uint64_t tag);
/* Not needed for a descriptor that is closed, unless another process holds it too. */
void p_poller_remove(p_poller *poller, int fd);
/* Reports `what` of a descriptor of other code once, also if it is ready already.  0, or -1 with
 * errno. */
int p_poller_arm(p_poller *poller, int fd, unsigned what, uint64_t tag);
void p_poller_prepare(p_poller *poller);
void p_poller_cancel(p_poller *poller);
/* Up to `room` events; 0 when there was none until `until` (p_now time; INT64_MAX = no limit,
 * 0 = does not sleep), when woken, or on a signal.  Before it sleeps it polls for `spin`
 * nanoseconds.  Without room the events stay where they are, for whoever waits next. */
int p_poller_wait(p_poller *poller, p_event *events, int room, int64_t spin, int64_t until);
void p_poller_wake(p_poller *poller);

/* A set of descriptors that is a descriptor itself: it becomes readable when one of them becomes
 * ready.  The number, or -errno; p_close ends it. */
int p_pollset_open(void);
/* Reported each time that it becomes ready; added twice, for reading and writing both.  0 or
 * -errno. */
int p_pollset_add(int set, int fd, unsigned what);
/* P_READ, P_WRITE or both for the events that poll() is asked for. */
unsigned p_poll_interest(long events);
/* Takes all reports: the set is not readable until the next one. */
void p_pollset_drain(int set);

/* ---- files of a folder (folder_linux.c) -------------------------------------------------- */

typedef struct {
    int64_t size, modified; /* bytes; seconds since 1970 */
    uint64_t device, number;
    int64_t nanoseconds; /* of `modified` */
    int is_regular, is_folder;
} p_file_facts;

/* A folder, to find files below; or -errno. */
int p_open_folder(const char *path);
/* A file below a folder, for reading, wherever symbolic links inside of it lead, but not out of it:
 * a descriptor, or -errno; -ELOOP or -EXDEV for what would leave it.  Never waits for a FIFO. */
int p_open_below(int folder, const char *path);
/* 0 or -errno. */
int p_file_facts_of(int fd, p_file_facts *facts);
int p_file_facts_below(int folder, const char *path, p_file_facts *facts);

/* ---- operations on descriptors (descriptor_posix.c) --------------------- */

/* All return at once, whatever mode the descriptor is in, but for p_accept and p_send_file, which
 * need p_set_nonblocking before.  A result of 0 or more, or -errno; never -EINTR.  Writing to a
 * peer that is gone is -EPIPE, never a signal. */
long p_receive(int fd, void *to, size_t size);
/* Of a file, from an offset on. */
long p_read_at(int fd, void *to, size_t size, int64_t at);
long p_send(int fd, const void *from, size_t size);
/* The same; what follows soon goes out in the same packet. */
long p_send_more(int fd, const void *from, size_t size);
/* Sends up to `size` bytes of a file from `at` on; 0 at the end of the file. */
long p_send_file(int fd, int file, int64_t at, size_t size);
/* The same where the system can copy, from *at, which moves; NULL: from the file's own position. */
long p_send_file_from(int fd, int file, int64_t *at, size_t size);
/* Another number for the same, which children do not inherit. */
int p_duplicate(int fd);
/* recv() and send() of a socket with flags of the caller. */
long p_receive_with_flags(int fd, void *to, size_t size, int flags);
long p_send_with_flags(int fd, const void *from, size_t size, int flags);
/* Whether `flags` ask to wait for all bytes. */
int p_flags_wait_all(int flags);
/* Whether `flags` ask not to wait. */
int p_flags_never_wait(int flags);
/* The same flags for a call that does not wait. */
int p_flags_nonblocking(int flags);
/* A new descriptor, nonblocking, which children do not inherit. */
int p_accept(int fd);
/* Who has connected: an address of the internet, or nobody that has a name. */
typedef struct {
    unsigned char family; /* 4, 6, or 0 */
    unsigned char bytes[16];
    uint16_t port;
} p_peer;
int p_accept_from(int fd, p_peer *peer);
#define P_PEER 46 /* bytes of the longest text, with the NUL */
/* The address without the port; "" for nobody. */
void p_peer_text(const p_peer *peer, char *text);
/* Notifies the peer that no more data will come. */
int p_send_end(int fd);
/* Neither side sends any more; what waits for the descriptor is woken. */
int p_end_both(int fd);
/* How a connection attempt ended: 0 or -errno; -EAGAIN while it has not. */
int p_connect_result(int fd);
/* 0 when it can be read or written (P_READ, P_WRITE) without waiting, or has failed; -EAGAIN. */
int p_check_ready(int fd, unsigned what);
int p_set_nonblocking(int fd);
void p_set_blocking(int fd);
/* 1 when reading and writing may wait. */
int p_is_blocking(int fd);
/* The same for one direction, if it was opened for that. */
int p_would_block(int fd, unsigned what);
/* 1 for a TCP connection: a read that gave less than was asked for has emptied it. */
int p_is_tcp(int fd);
void p_close(int fd);
/* Whether reading or writing it may ever wait: not for files and folders. */
int p_may_block(int fd);
/* Whether it is a pipe or a socket, which p_write_some can write. */
int p_can_write_some(int fd);
/* Writes as much as it can without waiting, whatever mode the descriptor is in, to a pipe at most
 * what is written atomically.  -EAGAIN if it can write nothing. */
long p_write_some(int fd, const void *from, size_t size);

/* ---- name lookups (resolver_posix.c) --------------------------------------------------------- */

/* Whether a host is an address already (`127.0.0.1`, `::1`, ``) and needs no lookup. */
int p_is_address(const char *host);

/* One of the addresses of a name. */
typedef struct {
    int family, type, protocol, has_host; /* has_host: 0 for an unknown family */
    int port, is_ipv6;                    /* is_ipv6: `flow` and `scope` are part of it */
    uint32_t flow, scope;
    const char *name; /* the canonical one, or "" */
    char host[64];
} p_address;

/* The result of a lookup, and how far it was read. */
typedef struct {
    void *all, *at;
    int code;  /* 0, or the system's error code for lookups: p_resolve_reason() */
    int error; /* an errno if the code says only that there is one, else 0 */
} p_resolved;

/* Blocks as long as the system takes, and cannot be cancelled.  NULL: no host, no service; family,
 * type, protocol and flags as in getaddrinfo(3). */
void p_resolve(p_resolved *names, const char *host, const char *service, const int kind[4]);
/* The next address: 1, or 0 after the last. */
int p_resolve_next(p_resolved *names, p_address *address);
void p_resolve_end(p_resolved *names);
const char *p_resolve_reason(int code);

/* ---- child processes (child_linux.c) ----------------------------------------------- */

/* A descriptor that becomes readable when this process ends; children do not inherit it.  Or
 * -errno: ENOSYS where the system has none. */
int p_child_open(int pid);
/* The same for the arguments of waitid(); -EINVAL for more than one process. */
int p_child_open_as(int kind, int id);
/* Of the options of a wait: whether it blocks; the options that do not; and whether it waits for
 * an exit only. */
int p_child_wait_blocks(int options);
int p_child_wait_nonblocking(int options);
int p_child_wait_for_exit(int options);

/* ---- locks of files (file_lock_posix.c) -------------------------------------------- */

/* Of the operation of flock() and lockf(): whether it may wait; the one that does not; and whether
 * others may get a lock once it is done. */
int p_lock_blocks(int operation);
int p_lock_nonblocking(int operation);
int p_lock_may_release(int operation);
/* The command of fcntl() that locks a range without waiting; -1: `command` locks none. */
int p_range_lock_nonblocking(int command);

/* A file, by whatever name or descriptor. */
typedef struct {
    uint64_t device, inode;
} p_file_id;
/* 0 or -errno. */
int p_file_identity(int fd, p_file_id *id);

/* ---- what libraries import (library_import_elf.c) ---------------------------------------- */

/* From now on the library that holds the address `inside` calls `function` where it calls the
 * imported function `name`; no other library does.  How many words were changed; 0: it does not
 * import it, or not by a word that can be changed. */
int p_library_replace_import(const void *inside, const char *name, void *function);
/* From now on that library, not our own, calls `before` before each call that waits for sockets,
 * and `after` with what that returned, unless it is NULL.  `before` is NULL: no more.  How many
 * words were changed.  One thread at a time.  (library_calls_elf.c) */
int p_library_surround_calls(const void *inside, void *(*before)(void), void (*after)(void *found));

/* ---- functions of libraries (library_posix.c) ----------------------------------------- */

/* The addresses of these functions of a library that is loaded, or of one that it is linked with;
 * NULL: of the program.  -1 unless all are found. */
int p_library_functions(const char *path, const char *const *names, void **found, int count);

/* ---- threads ----------------------------------------------------------------- */

/* A short lock for plain C sections; never held while Python code may run. */
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

/* Returns when the thread has begun: no lock of the C library is held by its start from then on, so
 * that a fork is safe.  0, or -1 if the system cannot start a thread. */
int p_thread_start(p_thread *thread, void (*run)(void));
/* Waits until run() has returned. */
void p_thread_join(p_thread *thread);

/* From now on the thread that calls the C library's fork() calls before() just before it, and
 * after() just behind it, in the parent and in the child.  0, or -1 without memory. */
int p_at_fork(void (*before)(void), void (*after)(void));

/* A thread that is never joined.  The record lies on the stack of the starter, until begin() has
 * returned. */
typedef struct {
    const char *name; /* at most 15 characters */
    size_t stack;     /* bytes of C stack; 0: the system's choice */
    int signals;      /* 1: it has the caller's signal mask; 0: it takes none */
    int (*begin)(void *arg);
    void (*run)(void *arg);
    void *arg;
    int begun; /* this and the next: its own */
    p_lock starting;
} p_launch;

/* Starts it.  begin(arg) is called on it first and waited for; when that returns 0, run(arg)
 * follows, else the thread ends.  What begin(arg) returned, or -EAGAIN when the system gives no
 * thread. */
int p_thread_launch(p_launch *launch);

/* Ends the process at once: no exit functions run. */
void p_end_process(int status) __attribute__((noreturn));

/* A signal mask, as pthread_sigmask has it. */
typedef struct {
    uint64_t bits[16];
} p_signals;

/* What the calling thread blocks; it blocks that from now on. */
void p_signals_read(p_signals *blocked);
void p_signals_use(const p_signals *blocked);

/* ---- processors (processors_linux.c) ----------------------------------------- */

/* On which ones a thread may run, while it is confined to one. */
typedef struct {
    unsigned long words[16];
    int thread, confined;
    p_lock lock;
} p_processors;
/* In that thread, once; zeros before. */
void p_processors_begin(p_processors *mine);
/* A thread that sleeps will run on the caller's processor when it is woken: for one that is about
 * to sleep itself. */
void p_processors_confine(p_processors *of);
/* Between these two the caller launches the thread `of`, which begins on the caller's processor.
 * The second one gets what the first one returned. */
int p_processors_launch_begin(p_processors *of);
void p_processors_launch_end(const p_processors *of, int confined);
/* In that thread, when it runs. */
void p_processors_restore(p_processors *mine);

#endif
