/* May a tasklet be suspended softly where the loop looks at its eval breaker?
 *
 * A breaker's call (interrupt.c) comes from a check.  At two of the instructions that
 * have one, RESUME and JUMP_BACKWARD, nothing of the loop is worth keeping: they use
 * no operands, the depth of the value stack is static, and behind the check is nothing
 * but the jump.  So the frame is left as it is, and going on means stepping over the
 * instruction: to the one behind RESUME, or to the jump's target.  Between the loop and
 * us are the functions that serve the pending calls; they own nothing, what they would
 * still do with the queue c_interrupt_switch_away does, and what the check would do after them
 * (drop the GIL, collect, raise an asynchronous exception) waits in the breaker's other
 * bits for the next check: the call is hard while one is set, or a tasklet that is
 * interrupted at every check would never let anybody have the GIL.
 *
 * The proof that the loop called.  Py_MakePendingCalls is public: a signal handler, a
 * finalizer or a wait for a lock may call it while the frame stands at such an
 * instruction.  So the C stack between the loop and us is compared with that of a call
 * that is known:
 *   - the distance from the loop's own entry frame, a local variable of its activation,
 *     to us; and
 *   - each return address on the way, down to the one into the loop.
 * Where a return address is the same, so is the caller and the place in it, and with it
 * the size of the caller's frame, so that the next one is where it is looked for.  The
 * last one lies in the loop.
 *
 * The known call (c_safepoint_learn) is made at import, before any breaker is open: a loop in
 * Python, interrupted a few times at its checks, the C stack read by the unwinder.  The
 * addresses before the last must all agree; the last is one for each place in the loop
 * that has a check.  What does not agree, a traced run or a machine whose stack is not
 * understood teaches nothing, and all stays hard.
 *
 * Refused too: an exception that is set (the loop unwinds, and destroys operands), a
 * trace or profile function (a throw would be told to it as a call), instrumented
 * instructions, a loop that the JIT compiled (another instruction, another caller).
 *
 * An exception that is thrown in must find the handlers of the jump.  Where they are
 * looked for in front of the instruction pointer, it is moved on, which stays inside
 * the jump (it has an inline cache).  RESUME has the handlers of what is in front of it:
 * none, those of a whole generator, or those of a `yield`.
 *
 * The jump's argument may have an EXTENDED_ARG in front, or an inline cache that looks
 * like one: then the code is read from its beginning.
 *
 * Rejected: the distance alone (frames of other functions may have the same size by
 * chance), the unwinder at each call (it takes longer than the switch), running the
 * instruction again (its check would call us again: with a slice of one check nothing
 * would ever go on).
 */
#include "cpython/safepoint.h"

#ifdef C_HAS_SOFT

#define WORDS 8
#define PLACES 8
#define CALLERS 24
#define LESSONS 12
#define ATTEMPTS 3

/* `at`: distance from the end of the called function's stack. */
typedef struct {
    intptr_t entry;
    int words;
    intptr_t at[WORDS];
    uintptr_t address[WORDS];
} trail;

static trail trails[PLACES];
static int places; /* atomic: how many of them may be used */
static int lessons, learned, doubtful;
static PyThreadState *learner;

static c_frame *entry_of(c_frame *f)
{
    while (!frame_is_entry(f))
        f = f->previous;
    return f;
}

static int is_known(const trail *t, uintptr_t end, uintptr_t entry)
{
    if ((intptr_t)(entry - end) != t->entry)
        return 0;
    for (int i = 0; i < t->words; i++)
        if (*(uintptr_t *)(end + (uintptr_t)t->at[i]) != t->address[i])
            return 0;
    return 1;
}

static int called_by_loop(c_frame *f, const void *end, int count)
{
    uintptr_t entry = (uintptr_t)entry_of(f);
    for (int i = 0; i < count; i++)
        if (is_known(&trails[i], (uintptr_t)end, entry))
            return 1;
    return 0;
}

/* ---- learning ---------------------------------------------------------------------------- */

/* 0 when the stack is not understood. */
static int read_trail(trail *t, uintptr_t end, uintptr_t entry)
{
    uintptr_t slots[CALLERS];
    int count = p_callers(slots, CALLERS), i = 0;
    memset(t, 0, sizeof(*t));
    t->entry = (intptr_t)(entry - end);
    while (i < count && slots[i] < end - sizeof(void *))
        i++;
    if (i == count || slots[i] != end - sizeof(void *))
        return 0;
    for (; i < count && slots[i] < entry && t->words < WORDS; i++) {
        t->at[t->words] = (intptr_t)(slots[i] - end);
        t->address[t->words++] = *(uintptr_t *)slots[i];
    }
    return i < count && slots[i] > entry && t->words > 0;
}

/* But for the place in the loop. */
static int agree(const trail *a, const trail *b)
{
    size_t before = (size_t)(a->words - 1) * sizeof(a->address[0]);
    return a->entry == b->entry && a->words == b->words &&
           memcmp(a->at, b->at, sizeof(a->at)) == 0 && memcmp(a->address, b->address, before) == 0;
}

static void note(PyThreadState *ts, void *end)
{
    trail t;
    c_frame *f = thread_frame(ts);
    if (f == NULL || f->owner > FRAME_OWNED_BY_GENERATOR)
        return;
    int op = ip_opcode(frame_ip(f));
    if ((op != RESUME && op != JUMP_BACKWARD) || called_by_loop(f, end, learned))
        return;
    if (!read_trail(&t, (uintptr_t)end, (uintptr_t)entry_of(f)) ||
        (learned > 0 && !agree(&t, &trails[0])))
        doubtful = 1;
    else if (learned < PLACES)
        trails[learned++] = t;
}

static int ask(PyThreadState *ts, int again);

static B_NOINLINE int learn(void *unused)
{
    void *end = __builtin_dwarf_cfa();
    PyThreadState *ts = PyThreadState_Get();
    (void)unused;
    if (ts != learner)
        return 0;
    note(ts, end);
    return --lessons > 0 ? ask(ts, 1) : 0;
}

static int ask(PyThreadState *ts, int again)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (again)
        pending_part(queue);
    pending_push(queue, learn, NULL);
    pending_signal(ts);
    pending_unlock(queue);
    return 0;
}

/* 0, or -1 with an exception. */
static int run_lessons(PyThreadState *ts, PyObject *code)
{
    PyObject *names = PyDict_New(), *done = NULL;
    if (names != NULL) {
        lessons = LESSONS;
        learner = ts;
        pending_pace(pending_of_interpreter(), 1);
        ask(ts, 0);
        done = PyEval_EvalCode(code, names, names);
        pending_pace(pending_of_interpreter(), 0);
        learner = NULL;
        Py_DECREF(names);
    }
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int attempt(PyThreadState *ts)
{
    static const char text[] = "for _ in (0,) * 40: pass\n";
    PyObject *code = Py_CompileString(text, "<check>", Py_file_input);
    learned = doubtful = 0;
    int done = code != NULL ? run_lessons(ts, code) : -1;
    Py_XDECREF(code);
    if (done == 0 && !doubtful)
        __atomic_store_n(&places, learned, __ATOMIC_RELEASE);
    return done;
}

int c_safepoint_learn(void)
{
    static int tried; /* later on, breakers may be open */
    PyThreadState *ts = PyThreadState_Get();
    for (; places == 0 && tried < ATTEMPTS && !c_trace_is_set(ts); tried++) {
        if (attempt(ts) < 0)
            return -1;
    }
    tried = ATTEMPTS;
    return 0;
}

/* ---- the rule ------------------------------------------------------------------------------ */

/* The whole argument of the instruction at `ip`, or -1. */
static int whole_oparg(PyCodeObject *code, const _Py_CODEUNIT *ip)
{
    const _Py_CODEUNIT *at = _PyCode_CODE(code);
    unsigned above = 0;
    while (at < ip) {
        int op = ip_opcode(at);
        if (op >= MIN_INSTRUMENTED_OPCODE || op == C_OP_COMPILED)
            return -1;
        above = op == EXTENDED_ARG ? above << 8 | (unsigned)ip_oparg(at) : 0;
        at += 1 + C_CACHES(op);
    }
    return at == ip && above < 1 << 16 ? (int)(above << 8) | ip_oparg(ip) : -1;
}

/* How far the instruction jumps back: 0 of RESUME, -1 when it cannot be told. */
static int way_back(PyCodeObject *code, const _Py_CODEUNIT *ip, int op)
{
    if (op == RESUME)
        return 0;
    int before = ip > _PyCode_CODE(code) ? ip_opcode(ip - 1) : NOP;
    if (before != EXTENDED_ARG && before < MIN_INSTRUMENTED_OPCODE)
        return ip_oparg(ip);
    return whole_oparg(code, ip);
}

static int depth_of(c_frame *f, PyCodeObject *code)
{
    const char *start = (const char *)_PyCode_CODE(code);
    if (C_EXACT_TOP)
        return frame_top(f) - code->co_nlocalsplus;
    return c_stack_depth_at(code, (int)((const char *)frame_ip(f) - start));
}

int c_safepoint_find(PyThreadState *ts, c_frame *f, const c_call_site *site, c_soft_point *out)
{
    const _Py_CODEUNIT *ip = frame_ip(f);
    int op = ip_opcode(ip), known = __atomic_load_n(&places, __ATOMIC_ACQUIRE);
    if ((op != RESUME && op != JUMP_BACKWARD) || PyErr_Occurred() || c_trace_is_set(ts) ||
        safepoint_has_more(ts) || !called_by_loop(f, site->args, known))
        return C_FROM_C;
    PyCodeObject *code = frame_code(f);
    int depth = depth_of(f, code), back = way_back(code, ip, op);
    if (depth < 0 || depth > code->co_stacksize || back < 0)
        return C_UNKNOWN_DEPTH;
    out->top = out->depth = code->co_nlocalsplus + depth;
    check_ways(op, back, &out->advance, &out->end_advance);
    out->enter = out->exit = NULL;
    return C_SOFT;
}

#else

int c_safepoint_learn(void)
{
    return 0;
}

#endif
