/* The guests of the kernel that this room has: see events.h. */
#ifndef LOOMLET_SCHED_GUESTS_H
#define LOOMLET_SCHED_GUESTS_H

/* At import: all of them register. */
void s_register_guests(void);

#endif
