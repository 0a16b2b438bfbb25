/* What a process says of its tasklets when another one asks: see dump.c, door.c. */
#ifndef LOOMLET_DUMP_H
#define LOOMLET_DUMP_H

#include "sched/sched.h"

/* The name of a tasklet as its `name` would be, with a 0 behind it: its size. */
size_t s_peek_name(const s_tasklet *t, char *to, size_t room);

/* In a copy of the process that was asked for at that moment: writes all that is known to `fd`. */
void s_dump(int fd, int64_t asked_at);

/* In a copy of the process: tells `fd` that the current tasklet of `s`, expected to be `held`,
 * has held the core that long.  1 when it does not any more or nobody waits for it: then nothing
 * is told. */
int s_dump_stall(int fd, const s_sched *s, const s_tasklet *held, int64_t nanoseconds);

/* From now on a thread answers at `path`: 0, S_E_MEMORY without a thread, S_E_SYSTEM - errno. */
int s_door_open(const char *path);
/* No more; waits for the thread.  1 when there was one. */
int s_door_close(void);
/* The child of a fork has no such thread: 1 when its parent had one. */
int s_door_after_fork(void);

#endif
