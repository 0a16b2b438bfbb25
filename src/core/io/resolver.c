/* Name lookups.  See resolver.h. */
#include "io/resolver.h"

#include <string.h>

#include "io/pools.h"
#include "sched/inbox.h"

typedef struct {
    p_work work;
    s_completion completion;
    s_sched *owner;
    s_tasklet *waiter; /* owned, as by a queue; NULL: it no longer waits; atomic */
    PyObject *asked;
    int kind[4];
    const char *host, *service;
    p_resolved found;
    char words[];
} lookup;

/* ---- the wait ------------------------------------------------------------------- */

/* Ends the wait; the tasklet's reference is the caller's.  `waiter` is cleared last: after that
 * the lookup may be gone. */
static s_tasklet *release_waiter(lookup *l)
{
    s_tasklet *t = l->waiter;
    t->on = NULL;
    t->owner->completions--;
    Py_CLEAR(l->asked);
    __atomic_store_n(&l->waiter, NULL, __ATOMIC_RELEASE);
    return t;
}

static int lookup_is_wanted(const lookup *l)
{
    return __atomic_load_n(&l->waiter, __ATOMIC_ACQUIRE) != NULL;
}

static int leave_lookup(s_tasklet *t)
{
    lookup *l = t->on;
    if (l == NULL)
        return 0;
    release_waiter(l);
    return 1;
}

static PyObject *asked_name(s_tasklet *t)
{
    lookup *l = t->on;
    return l != NULL ? Py_NewRef(l->asked) : NULL;
}

static const s_wait_kind waiting_for_lookup = {
    .name = "getaddrinfo", .detach = leave_lookup, .object = asked_name};

/* ---- what was found -------------------------------------------------------------- */

static PyObject *socket_address(const p_address *a)
{
    if (!a->has_host)
        return Py_BuildValue("(iy)", a->family, "");
    return a->is_ipv6 ? Py_BuildValue("(siII)", a->host, a->port, a->flow, a->scope)
                      : Py_BuildValue("(si)", a->host, a->port);
}

static int append_address(PyObject *list, const p_address *a)
{
    PyObject *item =
        Py_BuildValue("(iiisN)", a->family, a->type, a->protocol, a->name, socket_address(a));
    int code = item != NULL ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return code;
}

static PyObject *address_list(p_resolved *found)
{
    p_address address;
    PyObject *list = PyList_New(0);
    while (list != NULL && p_resolve_next(found, &address))
        if (append_address(list, &address) < 0)
            Py_CLEAR(list);
    return list;
}

/* socket.gaierror: imported before it is needed, because between tasklets nothing may be. */
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

/* Made and not raised: the exception that the current tasklet is handling is not its context. */
static PyObject *lookup_error(const p_resolved *found)
{
    if (found->error != 0)
        return PyObject_CallFunction(PyExc_OSError, "is", found->error, strerror(found->error));
    return PyObject_CallFunction(gaierror, "is", found->code, p_resolve_reason(found->code));
}

/* ---- there and back ---------------------------------------------------------------- */

static void free_lookup(lookup *l)
{
    p_resolve_end(&l->found);
    PyMem_RawFree(l);
}

static void complete_lookup(s_sched *s, s_completion *completion)
{
    lookup *l = B_CONTAINER(completion, lookup, completion);
    if (l->waiter != NULL) {
        PyObject *pending = PyErr_GetRaisedException();
        int failed = l->found.code != 0;
        PyObject *made = failed ? lookup_error(&l->found) : address_list(&l->found);
        failed |= made == NULL;
        s_tasklet *t = release_waiter(l);
        *(failed ? &t->error : &t->wait.value) = made != NULL ? made : PyErr_GetRaisedException();
        s_wake(s, t);
        PyErr_SetRaisedException(pending);
    }
    free_lookup(l);
}

/* On a worker.  If the scheduler has ended with the tasklet still waiting, the tasklet keeps the
 * lookup that it waits for. */
static void *make_lookup(p_work *work)
{
    lookup *l = B_CONTAINER(work, lookup, work);
    if (lookup_is_wanted(l))
        p_resolve(&l->found, l->host, l->service, l->kind);
    if (s_post_completion(l->owner, &l->completion) < 0 && !lookup_is_wanted(l))
        free_lookup(l);
    return NULL;
}

static char *copy_word(const char **to, char *at, const char *from, size_t size)
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
    *l = (lookup){.work.run = make_lookup, .completion.complete = complete_lookup, .owner = s};
    memcpy(l->kind, q->kind, sizeof(l->kind));
    copy_word(&l->service, copy_word(&l->host, l->words, q->host, host), q->service, service);
    l->asked = Py_NewRef(q->asked);
    return l;
}

/* As before the lookup. */
static void undo_lookup(lookup *l)
{
    s_tasklet *t = release_waiter(l);
    t->kind = NULL;
    t->state = S_RUNNING;
    free_lookup(l);
}

PyObject *i_resolve(s_sched *s, const i_resolve_query *query, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = find_gaierror();
    lookup *l = *code == S_OK ? new_lookup(s, query) : NULL;
    if (l == NULL) {
        *code = *code == S_OK ? S_E_MEMORY : *code;
        return NULL;
    }
    l->waiter = me;
    me->kind = &waiting_for_lookup;
    me->on = l;
    me->state = S_BLOCKED;
    s->completions++;
    *code = i_pool_submit(I_LOOKUPS, &l->work);
    if (*code == S_OK)
        return s_suspend(s, site);
    undo_lookup(l);
    return NULL;
}

int i_resolver_busy(void)
{
    return p_pool_busy(&i_pools[I_LOOKUPS]);
}

/* ---- fork --------------------------------------------------------------------------------- */

/* Neither its worker nor its result is here. */
static void fail_forked_lookup(s_tasklet *t)
{
    lookup *l = t->state == S_BLOCKED && t->kind == &waiting_for_lookup ? t->on : NULL;
    if (l == NULL)
        return;
    PyObject *error = s_hook.error(S_E_FORKED, NULL);
    s_interrupt(t->owner, t, error != NULL ? error : PyErr_GetRaisedException());
    PyMem_RawFree(l);
}

void i_resolver_after_fork(s_sched *s)
{
    p_pool_after_fork(&i_pools[I_LOOKUPS]);
    if (s == NULL)
        return;
    __atomic_store_n(&s->has_messages, 1, __ATOMIC_SEQ_CST);
    s_read_inbox(s);
    s_for_each_tasklet(s, fail_forked_lookup);
}
