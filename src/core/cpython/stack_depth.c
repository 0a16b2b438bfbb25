/* How deep is the value stack just before an instruction?
 *
 * CPython 3.12 and 3.13 keep the depth of the running frame in a register of the eval loop, so it
 * cannot be read from a frame that has called us.  But the compiler only emits code in which each
 * instruction has one depth, whatever path leads to it (that is how it computes co_stacksize), so
 * the depth can be computed from the bytecode alone: begin with 0 at the first instruction and with
 * the depth that the exception table gives for each handler, and follow every path.  On every
 * version this also shows whether the snapshot of a frame is right (frame_location.c).
 *
 * Invariants:
 *   - One wrong or doubtful step makes the whole code object unknown: a path that leaves the code
 *     or leads into the middle of an instruction, two paths that meet at different depths, a depth
 *     below 0 or above co_stacksize, an opcode that CPython does not know.  The compiler never
 *     produces such code, tools that edit bytecode may.
 *   - The result belongs to the code object (code-extra), is written once before other threads can
 *     see it, never replaced, and freed by CPython with the code.  So it may be read without a lock
 *     while the code is alive.
 *   - If memory was lacking, the table is computed again at the next call.
 *
 * Any attached thread may call; no Python code runs; an exception that was set stays as it was.
 * Without a GIL two threads may compute the same table: `lock` decides whose is attached, and the
 * other is dropped.  CPython leaves the slots of code-extra unprotected there, so reading them
 * takes the lock as well; each thread finds a table again in a small cache of its own.  That cache
 * is valid for one `generation`, which ends whenever a table is freed: the same address may then
 * belong to another code object.
 *
 * The bytecode is read from PyCode_GetCode: there CPython itself has undone specialisation, tracing
 * and compiled loops, and inline caches read as CACHE.
 *
 * Rejected: walking the live bytecode (an INSTRUMENTED_LINE hides the opcode in a private table;
 * without a GIL another thread may be writing it), remembering only the requested instructions (as
 * much work, and never faster), computing under the lock (PyCode_GetCode may wait for another
 * thread).
 */
#include "cpython/layout.h"

#if C_COMPUTES_DEPTH

#include <opcode.h>

#define UNKNOWN (-1)

typedef struct {
    int units;       /* 0 when nothing is known about this code */
    int16_t depth[]; /* by code unit; UNKNOWN in caches and where no path leads */
} depth_table;

typedef struct {
    const uint8_t *bytes; /* two per unit: opcode, argument */
    int16_t *depth;
    int *todo; /* units whose depth is set, but that were not followed yet */
    int waiting, units, limit;
} depth_flow;

static c_lock lock;
static Py_ssize_t extra_index = -1; /* under `lock` */

/* Notes that a path leads to `unit` with `depth`: 0, or -1 if that is impossible. */
static int reach_unit(depth_flow *flow, long unit, long depth)
{
    if (unit < 0 || unit >= flow->units || depth < 0 || depth > flow->limit)
        return -1;
    int prefixed = unit > 0 && flow->bytes[2 * (unit - 1)] == EXTENDED_ARG;
    if (prefixed || flow->bytes[2 * unit] == CACHE)
        return -1;
    if (flow->depth[unit] != UNKNOWN)
        return flow->depth[unit] == depth ? 0 : -1;
    flow->depth[unit] = (int16_t)depth;
    flow->todo[flow->waiting++] = (int)unit;
    return 0;
}

/* RETURN_GENERATOR returns the generator; the frame resumes when a value is sent to it, which 3.12
 * does not count. */
static inline long stack_effect(int op, int oparg, int jump)
{
    return op == RETURN_GENERATOR ? 1 : PyCompile_OpcodeStackEffectWithJump(op, oparg, jump);
}

static inline int jump_direction(int op)
{
    switch (op) {
    case JUMP_FORWARD:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
    case FOR_ITER:
    case SEND:
        return 1;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
        return -1;
    default:
        return 0;
    }
}

static inline int falls_through(int op)
{
    switch (op) {
    case RETURN_VALUE:
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
    case RAISE_VARARGS:
    case RERAISE:
    case INTERPRETER_EXIT:
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
        return 0;
    default:
        return 1;
    }
}

/* Follows the instruction at `unit` to all units where it can lead. */
static int follow_instruction(depth_flow *flow, int unit)
{
    int depth = flow->depth[unit];
    const uint8_t *bytes = flow->bytes;
    unsigned arg = bytes[2 * unit + 1];
    while (bytes[2 * unit] == EXTENDED_ARG) {
        if (++unit == flow->units)
            return -1;
        flow->depth[unit] = (int16_t)depth;
        arg = arg << 8 | bytes[2 * unit + 1];
    }
    int op = bytes[2 * unit++], oparg = (int)arg, way = jump_direction(op);
    while (unit < flow->units && bytes[2 * unit] == CACHE)
        unit++;
    if (way != 0 &&
        reach_unit(flow, unit + (long)way * oparg, depth + stack_effect(op, oparg, 1)) < 0)
        return -1;
    return falls_through(op) ? reach_unit(flow, unit, depth + stack_effect(op, oparg, 0)) : 0;
}

/* Reads one number of the exception table: big-endian, six bits a byte, 64 means more follow. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, unsigned *number)
{
    unsigned value = 0, more = 64;
    while (more != 0) {
        if (at == end)
            return NULL;
        value = value << 6 | (*at & 63);
        more = *at++ & 64;
    }
    *number = value;
    return at;
}

/* Each entry is start, length, target, depth << 1 | lasti.  At the target the stack holds `depth`
 * values, the location of the error if `lasti`, and the exception. */
static int reach_handlers(depth_flow *flow, PyObject *exceptions)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(exceptions);
    const uint8_t *end = at + PyBytes_GET_SIZE(exceptions);
    while (at != end) {
        unsigned field[4];
        for (int i = 0; i < 4; i++) {
            at = read_number(at, end, &field[i]);
            if (at == NULL)
                return -1;
        }
        if (reach_unit(flow, field[2], (long)(field[3] >> 1) + (field[3] & 1) + 1) < 0)
            return -1;
    }
    return 0;
}

static int follow_all_paths(depth_flow *flow, PyObject *exceptions)
{
    if (flow->limit > INT16_MAX || reach_unit(flow, 0, 0) < 0 ||
        reach_handlers(flow, exceptions) < 0)
        return -1;
    while (flow->waiting > 0)
        if (follow_instruction(flow, flow->todo[--flow->waiting]) < 0)
            return -1;
    return 0;
}

static void fill_table(depth_table *table, PyCodeObject *code, PyObject *bytes, int *todo)
{
    depth_flow flow = {.depth = table->depth, .todo = todo};
    flow.bytes = (const uint8_t *)PyBytes_AS_STRING(bytes);
    flow.units = (int)Py_SIZE(code);
    flow.limit = code->co_stacksize;
    for (int i = 0; i < flow.units; i++)
        table->depth[i] = UNKNOWN;
    table->units = follow_all_paths(&flow, code->co_exceptiontable) < 0 ? 0 : flow.units;
}

/* A new table, or NULL without memory (with or without an exception). */
static depth_table *compute_table(PyCodeObject *code)
{
    size_t units = (size_t)Py_SIZE(code);
    PyObject *bytes = PyCode_GetCode(code);
    int *todo = PyMem_Malloc(units * sizeof *todo);
    depth_table *table = PyMem_Malloc(sizeof *table + units * sizeof *table->depth);
    if (bytes != NULL && todo != NULL && table != NULL) {
        fill_table(table, code, bytes, todo);
    } else {
        PyMem_Free(table);
        table = NULL;
    }
    PyMem_Free(todo);
    Py_XDECREF(bytes);
    return table;
}

#if C_FREE_THREADED

#define RECENT_TABLES 64

static size_t generation;
/* It is too large for the static block that thread-locals of the initial-exec model share. */
static _Thread_local __attribute__((tls_model("global-dynamic"))) struct {
    const PyCodeObject *code;
    const depth_table *table;
    size_t generation;
} recent[RECENT_TABLES];

static inline size_t recent_slot(const PyCodeObject *code)
{
    uintptr_t address = (uintptr_t)code;
    return (address >> 4 ^ address >> 10) % RECENT_TABLES;
}

static inline size_t generation_now(void)
{
    return __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

/* Relaxed is enough: a thread that gets the same address again gets it through the allocator, after
 * this. */
static void free_table(void *table)
{
    if (table != NULL)
        __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    PyMem_Free(table);
}

static inline const depth_table *recall_table(const PyCodeObject *code)
{
    size_t at = recent_slot(code);
    int known = recent[at].code == code && recent[at].generation == generation_now();
    return known ? recent[at].table : NULL;
}

static inline void remember_table(const PyCodeObject *code, const depth_table *table)
{
    size_t at = recent_slot(code);
    recent[at].code = code;
    recent[at].table = table;
    recent[at].generation = generation_now();
}

#else

static void free_table(void *table)
{
    PyMem_Free(table);
}

static inline const depth_table *recall_table(const PyCodeObject *code)
{
    (void)code;
    return NULL;
}

static inline void remember_table(const PyCodeObject *code, const depth_table *table)
{
    (void)code, (void)table;
}

#endif

/* Under `lock`. */
static depth_table *attached_table(PyCodeObject *code)
{
    void *found = NULL;
    if (extra_index >= 0)
        PyUnstable_Code_GetExtra((PyObject *)code, extra_index, &found);
    return found;
}

/* Attaches `table` to the code unless it has one by now; returns the one it has, or NULL. */
static depth_table *attach_table(PyCodeObject *code, depth_table *table)
{
    c_lock_take(&lock);
    if (extra_index < 0)
        extra_index = PyUnstable_Eval_RequestCodeExtraIndex(free_table);
    depth_table *kept = attached_table(code);
    if (kept == NULL && extra_index >= 0 &&
        PyUnstable_Code_SetExtra((PyObject *)code, extra_index, table) == 0)
        kept = table;
    c_lock_give(&lock);
    return kept;
}

/* The trampolines inside the interpreter are constants: nothing can be attached to them. */
static inline int is_immutable_code(const PyCodeObject *code)
{
#ifdef CO_NO_MONITORING_EVENTS
    return (code->co_flags & CO_NO_MONITORING_EVENTS) != 0;
#else
    return code == NULL;
#endif
}

static B_NOINLINE const depth_table *make_table(PyCodeObject *code)
{
    if (is_immutable_code(code))
        return NULL;
    PyObject *raised = PyErr_GetRaisedException();
    depth_table *kept = NULL, *table = compute_table(code);
    if (table != NULL) {
        kept = attach_table(code, table);
        if (kept != table)
            PyMem_Free(table);
    }
    PyErr_SetRaisedException(raised);
    return kept;
}

static inline const depth_table *table_of(PyCodeObject *code)
{
    const depth_table *table = recall_table(code);
    if (B_LIKELY(table != NULL))
        return table;
    c_lock_take(&lock);
    table = attached_table(code);
    c_lock_give(&lock);
    if (B_UNLIKELY(table == NULL))
        table = make_table(code);
    if (table != NULL)
        remember_table(code, table);
    return table;
}

int c_stack_depth_at(PyCodeObject *code, int offset)
{
    const depth_table *table = table_of(code);
    int unit = offset / (int)sizeof(_Py_CODEUNIT);
    if (table == NULL || offset < 0 || offset % (int)sizeof(_Py_CODEUNIT) != 0 ||
        unit >= table->units)
        return -1;
    return table->depth[unit];
}

#else

int c_stack_depth_at(PyCodeObject *code, int offset)
{
    (void)code, (void)offset;
    return -1;
}

#endif
