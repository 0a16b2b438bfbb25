/* Calls whose wait for a descriptor may be soft: the contract.
 *
 * What is left of such a call is an object, which starts with a patch_soft_call.  If the wait is
 * hard the call goes on by itself when it is over; if it is soft, the scheduler lets it go on
 * (s_rest).  From its beginning to its end the call counts as one that is under way on some object,
 * so others on the same object can come after it.  It ends when it has gone on, or is freed because
 * it never will.
 */
#ifndef LOOMLET_PATCH_SOFT_CALL_H
#define LOOMLET_PATCH_SOFT_CALL_H

#include "patch/patch.h"
#include "sync/object_mutex.h"

typedef struct patch_soft_call {
    s_rest rest;
    i_external_request request; /* its owner is kept by the object */
    y_object_mutex mutex;       /* linked while the call is under way */
    s_sched *s;
    /* What the call returns, or NULL with an exception.  `woken`: what the wait gave, as by
     * i_external_wait. */
    PyObject *(*go_on)(struct patch_soft_call *c, PyObject *woken);
} patch_soft_call;

/* A new object of a type whose objects the collector sees: zeros behind its head, and not tracked
 * yet. */
void *patch_soft_call_new(PyTypeObject *type, size_t size);
/* The call is under way on `object` (borrowed). */
void patch_soft_call_begin(patch_soft_call *c, s_sched *s, PyObject *object);
/* Waits for the request and goes on.  Steals `c`. */
PyObject *patch_soft_call_wait(patch_soft_call *c, int64_t until, const c_call_site *site);
/* Of one that has begun or not; leaves an exception that is set as it is. */
void patch_soft_call_end(patch_soft_call *c);

#endif
