/* Fibers: several C stacks of one tasklet, between which its own code switches.
 *
 * To the scheduler a tasklet with fibers is one tasklet.  It runs in one of them, its running
 * fiber, and waits, is interrupted, cancelled, killed and traced there.  So everything that belongs
 * to a tasklet is shared by its fibers: the identity of a thread with its locals and locks, a
 * running event loop, scopes, the name.  A fiber has what a generator could not keep: a C stack, a
 * data stack, the handled exception, the context.  loomlet.compat.greenlet is made of them.
 *
 * Where a fiber stands is in its own c_state while it is suspended, and in that of the tasklet
 * while it runs, so that no other file needs to know which fiber runs.  Two parts of a state do not
 * travel: the first chunk, which is freed with its owner, and the item of the handled exception, to
 * which frames point.
 *
 * The first fiber is the tasklet as it began, with the dispatcher (or the thread) at the base of
 * its stack.  The others have run_fiber there, which must not be abandoned: there the tasklet is
 * never soft (c_state_never_soft).  A suspended stack is in no pool, and belongs to its thread.
 *
 * A tasklet that ends leaves suspended fibers as they are; they can be adopted by another tasklet
 * of the thread, which ends them.
 *
 * Rejected: a tasklet for each fiber.  Locks, locals, the running event loop and the scopes would
 * be those of another tasklet after each switch, and libraries that use greenlets rely on them.
 */
#include "sched/guests/fiber.h"

#include "sched/guests/fixed_stack.h"

#include "base/track.h"
#include "sched/internal.h"

#define CHUNK_SIZE ((size_t)4096)

PyObject *(*s_fiber_run)(PyObject *fiber);

static int make_fiber_chunk(s_sched *s, s_fiber *fiber)
{
    void *chunk = c_chunk_new(CHUNK_SIZE);
    PyObject *context = fiber->c.context; /* given before the start */
    if (chunk == NULL)
        return S_E_MEMORY;
    c_state_init(s->ts, &fiber->c, chunk, CHUNK_SIZE);
    fiber->c.context = context;
    c_state_never_soft(&fiber->c);
    return S_OK;
}

/* The context stays, for those who ask for it. */
static void free_fiber_chunk(s_fiber *fiber)
{
    void *chunk = fiber->c.root;
    PyObject *context = fiber->c.context;
    fiber->c.context = NULL;
    c_state_clear(&fiber->c);
    fiber->c.context = context;
    c_chunk_free(chunk, CHUNK_SIZE);
}

int s_fiber_begin(s_sched *s, s_fiber *fiber)
{
    s_tasklet *t = s->current;
    s_fiber_set *all = c_calloc(sizeof(*all));
    if (all == NULL)
        return S_E_MEMORY;
    all->first = all->running = fiber;
    Py_INCREF((PyObject *)fiber);
    Py_INCREF((PyObject *)fiber);
    fiber->state = S_FIBER_RUNNING;
    s_fiber_adopt(s, fiber);
    t->fibers = all;
    t->attached |= S_HAS_FIBERS;
    if (s->at != NULL) /* its C stacks, of which there will be several, stay in this thread */
        s_set_fixed_stack(s);
    return S_OK;
}

uint64_t s_fiber_owner_id(const s_sched *s)
{
    return s->current->is_main && s->run_id ? s->run_id : s->current->id;
}

void s_fiber_adopt(s_sched *s, s_fiber *fiber)
{
    fiber->tasklet = s_fiber_owner_id(s);
    fiber->scheduler = s;
    fiber->thread = s->main->id;
}

int s_fiber_is_here(const s_sched *s, const s_fiber *fiber)
{
    return fiber->scheduler == s && fiber->thread == s->main->id;
}

int s_fiber_is_lost(const s_sched *s, const s_fiber *fiber)
{
    const s_sched *of = fiber->scheduler;
    return of != NULL && (__atomic_load_n(&of->ended, __ATOMIC_RELAXED) ||
                          (of == s && !s_fiber_is_here(s, fiber)));
}

int s_fiber_may_run(const s_sched *s, const s_fiber *fiber)
{
    return fiber->state == S_FIBER_NEW ||
           (fiber->state == S_FIBER_SUSPENDED && fiber->tasklet == s_fiber_owner_id(s) &&
            s_fiber_is_here(s, fiber));
}

/* ---- switching ------------------------------------------------------------------------- */

/* The running fiber is saved in its own state; `ended`: it never runs again. */
static void save_running(s_sched *s, s_fiber_set *all, unsigned char state)
{
    s_fiber *me = all->running;
    c_state_copy_position(&me->c, &s->current->c);
    me->stack = state == S_FIBER_SUSPENDED ? s->stack : NULL;
    me->state = state;
    all->left = me;
}

static void load_running(s_sched *s, s_fiber_set *all, s_fiber *next)
{
    s_tasklet *t = s->current;
    all->running = (s_fiber *)Py_NewRef((PyObject *)next);
    c_state_copy_position(&t->c, &next->c);
    next->c.context = NULL;
    next->c.frame = NULL;
    next->state = S_FIBER_RUNNING;
    s_fiber_adopt(s, next);
    c_state_load(s->ts, &t->c);
}

/* The first thing that a fiber does when it runs: the one that was left may now be freed, which
 * can run Python code. */
static void release_left(s_sched *s)
{
    s_fiber_set *all = s->current->fibers;
    s_fiber *left = all->left;
    all->left = NULL;
    if (left->state == S_FIBER_ENDED)
        free_fiber_chunk(left);
    Py_DECREF((PyObject *)left);
}

/* Continues in the running fiber on its own stack, `stack`; `save` and `fake` as for p_switch. */
static void jump_to_stack(s_sched *s, p_stack *stack, void **save, void **fake)
{
    s->stack = stack;
    c_stack_limits_use(s->ts, stack);
    track_leave(fake, stack->low, stack->size);
    p_switch(save, stack->sp);
}

/* Leaves `mine` for good: the running fiber goes on where it was suspended. */
static B_NORETURN B_NOINLINE void leave_for_suspended(s_sched *s, p_stack *mine, p_stack *stack)
{
    void *forgotten;
    s_stack_give(s, mine);
    track_abandon(mine->low, mine->size);
    jump_to_stack(s, stack, &forgotten, NULL);
    __builtin_unreachable();
}

/* What runs after a fiber: a new reference.  If its function failed, which is our own and so lacks
 * memory, or was killed between two of its instructions, the first fiber gets the exception. */
static s_fiber *take_successor(s_sched *s, s_fiber_set *all, PyObject *next)
{
    s_fiber *fiber = (s_fiber *)next;
    if (fiber != NULL && fiber->state == S_FIBER_NEW && make_fiber_chunk(s, fiber) < 0) {
        Py_CLEAR(next);
        PyErr_NoMemory();
    }
    if (next != NULL)
        return fiber;
    Py_XSETREF(all->error, PyErr_GetRaisedException());
    return (s_fiber *)Py_NewRef((PyObject *)all->first);
}

static void run_fiber(void);

static B_NORETURN void end_running(s_sched *s, s_fiber *next)
{
    s_fiber_set *all = s->current->fibers;
    p_stack *mine = s->stack, *stack = next->stack;
    c_state_save(s->ts, &s->current->c);
    save_running(s, all, S_FIBER_ENDED);
    next->stack = NULL;
    load_running(s, all, next);
    Py_DECREF((PyObject *)next); /* all->running owns another reference */
    if (stack != NULL)
        leave_for_suspended(s, mine, stack);
    track_abandon(mine->low, mine->size);
    track_leave(NULL, mine->low, mine->size);
    p_abandon(mine, run_fiber);
}

static void run_fiber(void)
{
    s_sched *s = s_self_here();
    void *cell[8];
    track_enter(NULL);
    c_stack_base_init(s->ts, cell);
    c_stack_base_enter(s->ts, cell);
    release_left(s);
    PyObject *next = s_fiber_run((PyObject *)s->current->fibers->running);
    end_running(s, take_successor(s, s->current->fibers, next));
}

static int raise_kept_error(s_fiber_set *all)
{
    PyObject *error = all->error;
    if (error == NULL)
        return S_OK;
    all->error = NULL;
    PyErr_SetRaisedException(error);
    return S_E_SET;
}

int s_fiber_switch(s_sched *s, s_fiber *next)
{
    c_hard_state kept;
    p_stack *mine = s->stack, *stack = next->stack;
    int begins = next->state == S_FIBER_NEW;
    if (begins && make_fiber_chunk(s, next) < 0)
        return S_E_MEMORY;
    if (begins && (stack = s_stack_take(s)) == NULL) {
        free_fiber_chunk(next);
        return S_E_MEMORY;
    }
    p_stack_words *words = s_stack_words_save(s);
    next->stack = NULL;
    c_hard_suspend(s->ts, &s->current->c, &kept, -1);
    save_running(s, s->current->fibers, S_FIBER_SUSPENDED);
    load_running(s, s->current->fibers, next);
    if (begins) {
        s->stack = stack;
        c_stack_limits_use(s->ts, stack);
        track_leave(&mine->fake, stack->low, stack->size);
        p_start(&mine->sp, stack, run_fiber);
    } else {
        jump_to_stack(s, stack, &mine->sp, &mine->fake);
    }
    track_enter(mine->fake);
    s_tasklet *t = s->current; /* another one, if it has adopted this fiber */
    c_hard_resume(s->ts, &t->c, &kept);
    if (words != NULL)
        p_stack_words_restore(words);
    release_left(s);
    return t->fibers->running == t->fibers->first ? raise_kept_error(t->fibers) : S_OK;
}

/* ---- the end, and the collector ----------------------------------------------------------- */

int s_fiber_visit(s_fiber *fiber, visitproc visit, void *arg)
{
    return c_state_visit(&fiber->c, fiber->state == S_FIBER_SUSPENDED, visit, arg);
}

void s_fiber_free(s_fiber *fiber)
{
    if (fiber->state != S_FIBER_ENDED && fiber->state != S_FIBER_NEW)
        return;
    free_fiber_chunk(fiber);
    Py_CLEAR(fiber->c.context);
}

static int visit_fibers(s_tasklet *t, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)t->fibers->running);
    Py_VISIT((PyObject *)t->fibers->first);
    Py_VISIT((PyObject *)t->fibers->left);
    Py_VISIT(t->fibers->error);
    return 0;
}

/* A tasklet that ends runs in its first fiber, whose stack goes back by itself. */
static void drop_fibers(s_sched *s, s_tasklet *t)
{
    PyObject *pending = PyErr_GetRaisedException();
    s_fiber_set *all = t->fibers;
    (void)s;
    t->fibers = NULL;
    t->attached &= (unsigned char)~S_HAS_FIBERS;
    all->first->state = S_FIBER_ENDED;
    Py_DECREF((PyObject *)all->running);
    Py_DECREF((PyObject *)all->first);
    Py_XDECREF((PyObject *)all->left);
    Py_XDECREF(all->error);
    PyMem_Free(all);
    PyErr_SetRaisedException(pending);
}

s_fiber_set *s_fiber_set_put_aside(s_tasklet *t)
{
    s_fiber_set *all = t->fibers;
    t->fibers = NULL;
    t->attached &= (unsigned char)~S_HAS_FIBERS;
    return all;
}

void s_fiber_set_restore(s_sched *s, s_tasklet *t, s_fiber_set *all)
{
    if (t->fibers != NULL)
        drop_fibers(s, t);
    t->fibers = all;
    if (all != NULL)
        t->attached |= S_HAS_FIBERS;
}

const s_guest s_fiber_guest = {.bit = S_HAS_FIBERS, .drop = drop_fibers, .visit = visit_fibers};
