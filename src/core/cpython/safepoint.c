/* May a tasklet be suspended softly at a safepoint, where the eval loop looks at its eval breaker?
 *
 * The call of an interrupt request (interrupt.c) comes from a safepoint.  At two of the
 * instructions that have one, RESUME and JUMP_BACKWARD, nothing of the eval loop is worth keeping:
 * they use no operands, the depth of the value stack is static, and after the safepoint only the
 * jump is left to do.  So the frame is left as it is, and resuming means stepping over the
 * instruction: to the one after RESUME, or to the jump's target.  Between the eval loop and us are
 * the functions that serve the pending calls; they own nothing, and what they would still do with
 * the queue is done by c_interrupt_switch_away.  What else the safepoint would do after them (drop
 * the GIL, collect garbage, raise an asynchronous exception) waits in the other bits of the eval
 * breaker for the next safepoint: the call is hard while one of them is set, or a tasklet that is
 * interrupted at every safepoint would never let another thread have the GIL.
 *
 * The proof that the eval loop called.  Py_MakePendingCalls is public: a signal handler, a
 * finalizer or a wait for a lock may call it while the frame stands at such an instruction.  So the
 * C stack between the eval loop and us is compared with that of a known call:
 *   - the distance from the eval loop's own entry frame, a local variable of its activation, to us;
 *     and
 *   - each return address on the way, down to the one into the eval loop.
 * Where a return address is the same, the caller is the same, at the same call, and with it the
 * size of the caller's frame, so that the next return address is where it is looked for.  The last
 * one lies in the eval loop.
 *
 * The known call (c_safepoint_learn) is made at import, before any request is open: a loop in
 * Python, interrupted a few times at its safepoints, while the C stack is read by the unwinder.
 * The addresses before the last must all agree; there is one last address for each point in the
 * eval loop that has a safepoint.  If they disagree, if the run is traced, or if the machine's
 * stack is not understood, nothing is learned, and all safepoints stay hard.
 *
 * Refused too: an exception that is set (the eval loop unwinds, and destroys operands), a trace or
 * profile function (a throw would be reported to it as a call), instrumented instructions, a loop
 * that the JIT compiled (another instruction, another caller).
 *
 * An exception that is thrown in must find the handlers of the jump.  Where handlers are those of
 * the unit before the instruction pointer, the pointer is moved forward, which stays inside the
 * jump (it has an inline cache).  RESUME has the handlers of what is in front of it: none, those of
 * a whole generator, or those of a `yield`.
 *
 * Rejected: the distance alone (frames of other functions may have the same size by chance), the
 * unwinder at each call (it takes longer than the switch), running the instruction again (its
 * safepoint would call us again: with a slice of one safepoint nothing would ever advance).
 */
#include "cpython/safepoint.h"
#include "cpython/bytecode.h"

#ifdef C_HAS_SOFT

#define MAX_WORDS 8
#define MAX_TRAILS 8
#define MAX_CALLERS 24
#define LESSONS 12
#define ATTEMPTS 3

/* The return addresses between the eval loop and us.  `at`: their distance from the end of the
 * called function's stack. */
typedef struct {
    intptr_t entry;
    int words;
    intptr_t at[MAX_WORDS];
    uintptr_t address[MAX_WORDS];
} trail;

static trail trails[MAX_TRAILS];
static int trail_count; /* atomic: how many of them may be used */
static int lessons_left, learned_count, is_doubtful;
static PyThreadState *learner;

static c_frame *find_entry_frame(c_frame *f)
{
    while (!frame_is_entry(f))
        f = f->previous;
    return f;
}

static int trail_matches(const trail *t, uintptr_t end, uintptr_t entry)
{
    if ((intptr_t)(entry - end) != t->entry)
        return 0;
    for (int i = 0; i < t->words; i++)
        if (*(uintptr_t *)(end + (uintptr_t)t->at[i]) != t->address[i])
            return 0;
    return 1;
}

static int called_by_eval_loop(c_frame *f, const void *end, int count)
{
    uintptr_t entry = (uintptr_t)find_entry_frame(f);
    for (int i = 0; i < count; i++)
        if (trail_matches(&trails[i], (uintptr_t)end, entry))
            return 1;
    return 0;
}

/* ---- learning ---------------------------------------------------------------------------- */

/* 0 when the stack is not understood. */
static int read_trail(trail *t, uintptr_t end, uintptr_t entry)
{
    uintptr_t slots[MAX_CALLERS];
    int count = p_callers(slots, MAX_CALLERS), i = 0;
    memset(t, 0, sizeof(*t));
    t->entry = (intptr_t)(entry - end);
    while (i < count && slots[i] < end - sizeof(void *))
        i++;
    if (i == count || slots[i] != end - sizeof(void *))
        return 0;
    for (; i < count && slots[i] < entry && t->words < MAX_WORDS; i++) {
        t->at[t->words] = (intptr_t)(slots[i] - end);
        t->address[t->words++] = *(uintptr_t *)slots[i];
    }
    return i < count && slots[i] > entry && t->words > 0;
}

/* Whether two trails differ at most in the return address into the eval loop. */
static int same_callers(const trail *a, const trail *b)
{
    size_t before = (size_t)(a->words - 1) * sizeof(a->address[0]);
    return a->entry == b->entry && a->words == b->words &&
           memcmp(a->at, b->at, sizeof(a->at)) == 0 && memcmp(a->address, b->address, before) == 0;
}

static void note_trail(PyThreadState *ts, void *end)
{
    trail t;
    c_frame *f = thread_frame(ts);
    if (f == NULL || f->owner > FRAME_OWNED_BY_GENERATOR)
        return;
    int op = ip_opcode(frame_ip(f));
    if ((op != RESUME && op != JUMP_BACKWARD) || called_by_eval_loop(f, end, learned_count))
        return;
    if (!read_trail(&t, (uintptr_t)end, (uintptr_t)find_entry_frame(f)) ||
        (learned_count > 0 && !same_callers(&t, &trails[0])))
        is_doubtful = 1;
    else if (learned_count < MAX_TRAILS)
        trails[learned_count++] = t;
}

static int queue_lesson(PyThreadState *ts, int again);

static B_NOINLINE int on_lesson(void *unused)
{
    void *end = __builtin_dwarf_cfa();
    PyThreadState *ts = PyThreadState_Get();
    (void)unused;
    if (ts != learner)
        return 0;
    note_trail(ts, end);
    return --lessons_left > 0 ? queue_lesson(ts, 1) : 0;
}

static int queue_lesson(PyThreadState *ts, int again)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (again)
        pending_separate(queue);
    pending_push(queue, on_lesson, NULL);
    pending_signal(ts);
    pending_unlock(queue);
    return 0;
}

/* 0, or -1 with an exception. */
static int run_lessons(PyThreadState *ts, PyObject *code)
{
    PyObject *names = PyDict_New(), *done = NULL;
    if (names != NULL) {
        lessons_left = LESSONS;
        learner = ts;
        pending_set_pace(pending_of_interpreter(), 1);
        queue_lesson(ts, 0);
        done = PyEval_EvalCode(code, names, names);
        pending_set_pace(pending_of_interpreter(), 0);
        learner = NULL;
        Py_DECREF(names);
    }
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int attempt_to_learn(PyThreadState *ts)
{
    static const char text[] = "for _ in (0,) * 40: pass\n";
    PyObject *code = Py_CompileString(text, "<safepoint>", Py_file_input);
    learned_count = is_doubtful = 0;
    int done = code != NULL ? run_lessons(ts, code) : -1;
    Py_XDECREF(code);
    if (done == 0 && !is_doubtful)
        __atomic_store_n(&trail_count, learned_count, __ATOMIC_RELEASE);
    return done;
}

int c_safepoint_learn(void)
{
    static int tried; /* later, requests may be open */
    PyThreadState *ts = PyThreadState_Get();
    for (; trail_count == 0 && tried < ATTEMPTS && !c_trace_is_set(ts); tried++) {
        if (attempt_to_learn(ts) < 0)
            return -1;
    }
    tried = ATTEMPTS;
    return 0;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static int static_depth_of(c_frame *f, PyCodeObject *code)
{
    if (C_FRAME_KNOWS_DEPTH)
        return frame_top(f) - code->co_nlocalsplus;
    return c_stack_depth_at(code, code_offset(code, frame_ip(f)));
}

int c_safepoint_find(PyThreadState *ts, c_frame *f, const c_call_site *site, c_soft_point *out)
{
    const _Py_CODEUNIT *ip = frame_ip(f);
    int op = ip_opcode(ip), known = __atomic_load_n(&trail_count, __ATOMIC_ACQUIRE);
    if ((op != RESUME && op != JUMP_BACKWARD) || PyErr_Occurred() || c_trace_is_set(ts) ||
        safepoint_has_more(ts) || !called_by_eval_loop(f, site->args, known))
        return C_FROM_C;
    PyCodeObject *code = frame_code(f);
    int depth = static_depth_of(f, code), back = c_backward_jump(code, ip, op);
    if (depth < 0 || depth > code->co_stacksize || back < 0)
        return C_UNKNOWN_DEPTH;
    out->top = out->depth = code->co_nlocalsplus + depth;
    safepoint_advances(op, back, &out->advance, &out->end_advance);
    out->enter = out->exit = NULL;
    return C_SOFT;
}

#else

int c_safepoint_learn(void)
{
    return 0;
}

#endif
