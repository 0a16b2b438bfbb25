/* Lookups of names.  See resolver.h. */
#include "io/resolver.h"

#include <string.h>

#include "sched/inbox.h"

typedef struct {
    p_work errand;
    s_completion parcel;
    s_sched *home;
    s_tasklet *waiter; /* the place in a queue that it has: owned; NULL: it went on; atomic */
    PyObject *asked;
    int kind[4];
    const char *host, *service;
    p_resolved found;
    char words[];
} lookup;

/* ---- the wait ------------------------------------------------------------------- */

/* It does not wait any more; its reference is the caller's.  That is said last: then the lookup
 * may be gone. */
static s_tasklet *release(lookup *l)
{
    s_tasklet *t = l->waiter;
    t->on = NULL;
    t->home->parcels--;
    Py_CLEAR(l->asked);
    __atomic_store_n(&l->waiter, NULL, __ATOMIC_RELEASE);
    return t;
}

static int is_wanted(const lookup *l)
{
    return __atomic_load_n(&l->waiter, __ATOMIC_ACQUIRE) != NULL;
}

static int leave(s_tasklet *t)
{
    lookup *l = t->on;
    if (l == NULL)
        return 0;
    release(l);
    return 1;
}

static PyObject *asked_by(s_tasklet *t)
{
    lookup *l = t->on;
    return l != NULL ? Py_NewRef(l->asked) : NULL;
}

static const s_wait_kind waiting = {.name = "getaddrinfo", .detach = leave, .object = asked_by};

/* ---- what was found -------------------------------------------------------------- */

static PyObject *target_of(const p_address *a)
{
    if (!a->has_host)
        return Py_BuildValue("(iy)", a->family, "");
    return a->is_long ? Py_BuildValue("(siII)", a->host, a->port, a->flow, a->scope)
                      : Py_BuildValue("(si)", a->host, a->port);
}

static int add(PyObject *list, const p_address *a)
{
    PyObject *item =
        Py_BuildValue("(iiisN)", a->family, a->type, a->protocol, a->name, target_of(a));
    int code = item != NULL ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return code;
}

static PyObject *list_of(p_resolved *found)
{
    p_address address;
    PyObject *list = PyList_New(0);
    while (list != NULL && p_resolve_next(found, &address))
        if (add(list, &address) < 0)
            Py_CLEAR(list);
    return list;
}

/* socket.gaierror: found before it is needed, because nothing may be imported between tasklets. */
static PyObject *gaierror; /* atomic */

static int find_gaierror(void)
{
    if (__atomic_load_n(&gaierror, __ATOMIC_ACQUIRE) != NULL)
        return S_OK;
    PyObject *module = PyImport_ImportModule("_socket");
    PyObject *type = module ? PyObject_GetAttrString(module, "gaierror") : NULL;
    Py_XDECREF(module);
    __atomic_store_n(&gaierror, type, __ATOMIC_RELEASE);
    return type != NULL ? S_OK : S_E_SET;
}

/* Made and not raised: what the current tasklet handles just now is none of its context. */
static PyObject *refusal(const p_resolved *found)
{
    if (found->error != 0)
        return PyObject_CallFunction(PyExc_OSError, "is", found->error, strerror(found->error));
    return PyObject_CallFunction(gaierror, "is", found->code, p_resolve_reason(found->code));
}

/* ---- there and back ---------------------------------------------------------------- */

static void end(lookup *l)
{
    p_resolve_end(&l->found);
    PyMem_RawFree(l);
}

static void come_home(s_sched *s, s_completion *parcel)
{
    lookup *l = B_CONTAINER(parcel, lookup, parcel);
    if (l->waiter != NULL) {
        PyObject *pending = PyErr_GetRaisedException();
        int failed = l->found.code != 0;
        PyObject *made = failed ? refusal(&l->found) : list_of(&l->found);
        failed |= made == NULL;
        s_tasklet *t = release(l);
        *(failed ? &t->error : &t->wait.value) = made != NULL ? made : PyErr_GetRaisedException();
        s_wake(s, t);
        PyErr_SetRaisedException(pending);
    }
    end(l);
}

/* On a thread of the errands'.  When home has ended with somebody who still waits there he keeps
 * what he waits for. */
static void find(p_work *errand)
{
    lookup *l = B_CONTAINER(errand, lookup, errand);
    if (is_wanted(l))
        p_resolve(&l->found, l->host, l->service, l->kind);
    if (s_post_completion(l->home, &l->parcel) < 0 && !is_wanted(l))
        end(l);
}

static char *copy(const char **to, char *at, const char *from, size_t size)
{
    if (from != NULL)
        *to = memcpy(at, from, size);
    return at + size;
}

static lookup *new_lookup(s_sched *s, const i_resolve_query *q)
{
    size_t host = q->host ? strlen(q->host) + 1 : 0,
           service = q->service ? strlen(q->service) + 1 : 0;
    lookup *l = c_out_of_memory() ? NULL : PyMem_RawCalloc(1, sizeof(*l) + host + service);
    if (l == NULL)
        return NULL;
    *l = (lookup){.errand.run = find, .parcel.open = come_home, .home = s};
    memcpy(l->kind, q->kind, sizeof(l->kind));
    copy(&l->service, copy(&l->host, l->words, q->host, host), q->service, service);
    l->asked = Py_NewRef(q->asked);
    return l;
}

/* As it was before: nobody looks for anything. */
static void undo(lookup *l)
{
    s_tasklet *t = release(l);
    t->kind = NULL;
    t->state = S_RUNNING;
    end(l);
}

PyObject *i_resolve(s_sched *s, const i_resolve_query *question, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = find_gaierror();
    lookup *l = *code == S_OK ? new_lookup(s, question) : NULL;
    if (l == NULL) {
        *code = *code == S_OK ? S_E_MEMORY : *code;
        return NULL;
    }
    l->waiter = me;
    me->kind = &waiting;
    me->on = l;
    me->state = S_BLOCKED;
    s->parcels++;
    if (p_work_submit(&l->errand) == 0)
        return s_suspend(s, site);
    undo(l);
    *code = S_E_NO_THREAD;
    return NULL;
}

/* ---- fork --------------------------------------------------------------------------------- */

/* Its thread is not here, nor what it has found. */
static void tell(s_tasklet *t)
{
    lookup *l = t->state == S_BLOCKED && t->kind == &waiting ? t->on : NULL;
    if (l == NULL)
        return;
    PyObject *error = s_hook.error(S_E_FORKED, NULL);
    s_interrupt(t->home, t, error != NULL ? error : PyErr_GetRaisedException());
    PyMem_RawFree(l);
}

void i_resolver_after_fork(s_sched *s)
{
    p_work_after_fork();
    if (s == NULL)
        return;
    __atomic_store_n(&s->has_mail, 1, __ATOMIC_SEQ_CST);
    s_read_inbox(s);
    s_for_each_tasklet(s, tell);
}
