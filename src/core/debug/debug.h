/* What a process shows of its tasklets: dumps, the debug socket, and reports of stalls.
 *
 * Everything here but holders.c works while Python is stuck.  It is written by a copy of the
 * process (plat.h, p_process_copy), in which nothing moves any more, and by threads that know no
 * Python.
 *
 *   dump.c          all tasklets of the process, as lines that loomlet.observe parses
 *   stall_report.c  one tasklet that does not let the others run, as text on stderr
 *   ring_report.c   tasklets that wait for each other while others run on
 *   aside_report.c  tasklets that wait for the thread in which another one sits in C
 *   holders.c       the exceptions that are alive, and who holds them (this needs Python)
 *   debug_socket.c  the thread that answers `python -m loomlet dump PID`
 *
 * Threads.  d_socket_open, d_socket_close and d_socket_after_fork: attached threads, one at a time.
 * d_dump: the copy of the process alone.
 */
#ifndef LOOMLET_DEBUG_H
#define LOOMLET_DEBUG_H

#include "sched/sched.h"

/* At import: connects the reports of stalls and rings to the scheduler. */
void d_init(void);

/* In a copy of the process that was requested at that moment: writes all tasklets to `fd`. */
void d_dump(int fd, int64_t asked_at);

/* How long a tasklet may hold its scheduler until that is reported on stderr, in nanoseconds;
 * 0: never.  Atomic. */
extern int64_t d_report_after;

/* Finds rings among the tasklets of the calling thread that have waited for a second, and tasklets
 * that wait for their thread, and reports each once.  Python code may run. */
void d_find_ring(s_sched *s);
/* The second of these: 1 when some have not waited long enough, so look again. */
int d_find_aside(s_sched *s);
/* Report a ring, a list of tasklets, and a list of one that sits in C and of those that wait for
 * its thread; no exception may leave them.  NULL: nothing is reported. */
typedef void d_wait_handler(PyObject *tasklets);
extern d_wait_handler *d_report_ring, *d_report_aside;

/* Gets a connection (owned) on which another process asks who keeps exceptions, in a thread with a
 * small stack; no exception may leave it.  NULL: nobody answers. */
typedef void d_question_handler(int fd);
extern d_question_handler *d_answer_question;

/* From now on a thread answers at `path`: 0, S_E_MEMORY without a thread, S_E_SYSTEM - errno. */
int d_socket_open(const char *path);
/* Ends that thread and waits for it.  1 when there was one. */
int d_socket_close(void);
/* In the child of a fork, which has no such thread: 1 when its parent had one. */
int d_socket_after_fork(void);

#endif
