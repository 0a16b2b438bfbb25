/* Text written by a copy of the process: a fixed buffer, no allocation, no lock.
 *
 * The copy has one thread, so all of this is static.  A line that could not be completed, because
 * what it shows was half made, is taken back with d_drop_line.
 */
#ifndef LOOMLET_DEBUG_TEXT_H
#define LOOMLET_DEBUG_TEXT_H

#include "sched/sched.h"

#define D_FRAMES 48 /* of one tasklet, at most */
#define D_NAME 400  /* bytes of a name or path */

/* What follows goes to `fd`. */
void d_begin_text(int fd);
/* Sends what is in the buffer. */
void d_flush_text(void);
/* Whether a write has failed: the reader is gone. */
int d_text_is_broken(void);
void d_begin_line(const char *kind);
void d_drop_line(void);
void d_end_line(void);
void d_put(const char *text);
void d_put_number(uint64_t number);
/* A str, control characters as question marks; cut at D_NAME bytes. */
void d_put_text(PyObject *text);
/* A tab and a number. */
void d_put_field(uint64_t number);

/* Whether `t` runs on `s` at this moment. */
int d_is_running(const s_sched *s, const s_tasklet *t);
/* Its frames, innermost first: how many were found (D_FRAMES at most), and how many more there
 * are. */
int d_frames_of(const s_sched *s, const s_tasklet *t, c_location *found, int *more);
/* How many are in a list; stops where it is broken. */
long d_count_list(const b_link *list);
/* How many tasklets wait in the run queue of `s`. */
long d_count_ready(const s_sched *s);

#endif
