/* Snapshots of frames, read and written.
 *
 * A frame that does not run is its function, its location in the bytecode and the objects in its
 * slots.  Reading makes new references and changes nothing; the same frame can resume afterwards.
 * Specialised, traced and compiled bytecode makes no difference: a snapshot holds offsets, which
 * are the same in every form of the code.
 *
 * Writing trusts the values, as every unpickler does, but not the numbers: there must be no more
 * slots than the code has, a slot that the bytecode takes for a cell must hold one, and the
 * location must be one where the frame can resume with that many slots (frame_location.c; for the
 * innermost frame: frames.c).  All is checked before the first frame is touched, and no later step
 * can fail.
 *
 * Any attached thread; no Python code runs.
 *
 * Rejected: numbers for empty slots among the values (a user's value might be equal), and snapshots
 * that keep the operands of the blocked call (they are dropped when it returns, so they are not
 * needed).
 */
#include "cpython/frame_snapshot.h"

/* ---- the interpreter's own frame ------------------------------------------------------ */

static PyCodeObject *shim;

PyCodeObject *c_shim_code(void)
{
    return __atomic_load_n(&shim, __ATOMIC_ACQUIRE);
}

static void note_shim_code(PyCodeObject *code)
{
    __atomic_store_n(&shim, code, __ATOMIC_RELEASE);
}

int c_shim_learn(PyThreadState *ts)
{
    c_frame *f = thread_frame(ts);
    c_frame *below = f != NULL ? f->previous : NULL;
    if (below != NULL && !frame_is_entry(below) && frame_function(below) != NULL &&
        !PyFunction_Check(frame_function(below)))
        note_shim_code(frame_code(below));
    return c_shim_code() != NULL;
}

/* ---- reading ------------------------------------------------------------------ */

#define WORD_BITS 62

static PyObject *bits_to_int(const unsigned char *bytes, int count)
{
    unsigned long long word = 0;
    if (count > WORD_BITS / 8)
        return PyObject_CallMethod((PyObject *)&PyLong_Type, "from_bytes", "y#s", bytes,
                                   (Py_ssize_t)count, "little");
    for (int i = count; i-- > 0;)
        word = word << 8 | bytes[i];
    return PyLong_FromUnsignedLongLong(word);
}

static void set_bit(unsigned char *bytes, int bit)
{
    bytes[bit / 8] |= (unsigned char)(1 << bit % 8);
}

/* Fills `values` and the bits; the number of values, or -1 with an exception. */
static int read_slots(const c_frame *f, int slots, unsigned char *bits, PyObject **values)
{
    int count = 0;
    for (int i = 0; i < slots; i++) {
        PyObject *object = slot_object(f->localsplus[i]);
        if (object != NULL) {
            values[count++] = Py_NewRef(object);
        } else if (slot_is_number(f->localsplus[i])) {
            set_bit(bits, slots + i);
            if ((values[count] = PyLong_FromSsize_t(slot_number(f->localsplus[i]))) == NULL)
                return -1;
            count++;
        } else {
            set_bit(bits, i);
        }
    }
    return count;
}

static PyObject *read_values(const c_frame *f, int slots, PyObject **mask)
{
    int bytes = (2 * slots + 7) / 8;
    unsigned char *bits = PyMem_Calloc(1, (size_t)bytes + 1);
    PyObject *values = bits ? PyTuple_New(slots) : PyErr_NoMemory();
    if (values != NULL) {
        int count = read_slots(f, slots, bits, ((PyTupleObject *)values)->ob_item);
        while (bytes > 0 && bits[bytes - 1] == 0)
            bytes--;
        if (count < 0 || _PyTuple_Resize(&values, count) < 0 ||
            (*mask = bits_to_int(bits, bytes)) == NULL)
            Py_CLEAR(values);
    }
    PyMem_Free(bits);
    return values;
}

PyObject *c_frame_snapshot_read(c_frame *f, int slots, int offset)
{
    PyCodeObject *code = frame_code(f);
    PyObject *owner = Py_None, *locals = Py_None, *mask = NULL;
    PyObject *function = frame_function(f);
    if (function != NULL && !PyFunction_Check(function)) {
        note_shim_code(code);
        function = NULL;
    }
    if (f->owner == FRAME_OWNED_BY_GENERATOR)
        owner = (PyObject *)frame_generator(f);
    if (f->f_locals != NULL && !(code->co_flags & CO_OPTIMIZED))
        locals = f->f_locals;
    PyObject *values = read_values(f, slots, &mask);
    if (values == NULL)
        return NULL;
    return Py_BuildValue("(OOOOiiNN)", owner, function ? function : Py_None, (PyObject *)code,
                         locals, (int)(frame_ip(f) - _PyCode_CODE(code)), offset, mask, values);
}

/* ---- checking ------------------------------------------------------------------- */

static int read_small_int(PyObject *value, int *out)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -2;
    if (number < -1 || number > INT_MAX || (number == -1 && PyErr_Occurred())) {
        PyErr_Clear();
        return 0;
    }
    *out = (int)number;
    return 1;
}

static int has_bit(PyObject *mask, int bit)
{
    unsigned long long word = PyLong_AsUnsignedLongLong(mask);
    if (word != (unsigned long long)-1 || !PyErr_Occurred())
        return bit < 64 ? (int)(word >> bit & 1) : 0;
    PyErr_Clear();
    PyObject *shift = PyLong_FromLong(bit);
    PyObject *rest = shift ? PyNumber_Rshift(mask, shift) : NULL;
    word = rest ? PyLong_AsUnsignedLongLongMask(rest) & 1 : 0;
    PyErr_Clear();
    Py_XDECREF(shift);
    Py_XDECREF(rest);
    return (int)word;
}

/* How many slots a mask and its values stand for, or -1. */
static int count_slots(PyObject *mask, Py_ssize_t values, int room)
{
    Py_ssize_t slots = 0;
    if (!PyLong_CheckExact(mask))
        return -1;
    for (; values > 0 || has_bit(mask, (int)slots); slots++) {
        if (slots >= room)
            return -1;
        values -= !has_bit(mask, (int)slots);
    }
    return (int)slots;
}

const char *c_frame_snapshot_parse(PyObject *tuple, c_frame_snapshot *out)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != 8)
        return "expected a tuple of 8 values for a frame";
    PyObject **item = ((PyTupleObject *)tuple)->ob_item;
    out->owner = item[0];
    out->function = item[1];
    out->code = (PyCodeObject *)item[2];
    out->locals = item[3];
    out->mask = item[6];
    out->values = item[7];
    if (item[2] == Py_None)
        out->code = c_shim_code();
    if (out->code == NULL || !PyCode_Check(out->code))
        return "a frame has no code object";
    if (!read_small_int(item[4], &out->ip) || !read_small_int(item[5], &out->offset) ||
        out->offset < 0 || out->offset > UINT16_MAX)
        return "the location of a frame is not a pair of numbers";
    if (!PyTuple_CheckExact(out->values))
        return "the values of a frame are not a tuple";
    out->slots = count_slots(out->mask, PyTuple_GET_SIZE(out->values),
                             out->code->co_nlocalsplus + out->code->co_stacksize);
    return out->slots < 0 ? "a frame has more slots than its code allows" : NULL;
}

PyObject *c_frame_snapshot_top(const c_frame_snapshot *snapshot)
{
    Py_ssize_t count = PyTuple_GET_SIZE(snapshot->values);
    int last = snapshot->slots - 1;
    if (count == 0 || has_bit(snapshot->mask, last) ||
        has_bit(snapshot->mask, snapshot->slots + last))
        return NULL;
    return PyTuple_GET_ITEM(snapshot->values, count - 1);
}

PyObject *c_frame_snapshot_slot(const c_frame_snapshot *snapshot, int i)
{
    Py_ssize_t before = 0;
    if (i < 0 || i >= snapshot->slots || has_bit(snapshot->mask, i) ||
        has_bit(snapshot->mask, snapshot->slots + i))
        return NULL;
    for (int at = 0; at < i; at++)
        before += !has_bit(snapshot->mask, at);
    return PyTuple_GET_ITEM(snapshot->values, before);
}

/* Whether slot `at` must hold a cell once the function has begun. */
static int slot_wants_cell(const PyCodeObject *code, int at)
{
    const char *kinds = PyBytes_AS_STRING(code->co_localspluskinds);
    return at < code->co_nlocalsplus && (kinds[at] & (CO_FAST_CELL | CO_FAST_FREE));
}

static const char *check_slot_values(const c_frame_snapshot *snapshot)
{
    Py_ssize_t used = 0;
    for (int i = 0; i < snapshot->slots; i++) {
        PyObject *value = NULL;
        if (!has_bit(snapshot->mask, i))
            value = PyTuple_GET_ITEM(snapshot->values, used++);
        if (slot_wants_cell(snapshot->code, i) && (value == NULL || !PyCell_Check(value)))
            return "a variable of a closure is not a cell";
        if (has_bit(snapshot->mask, snapshot->slots + i) &&
            (!SLOTS_HOLD_NUMBERS || value == NULL || !PyLong_CheckExact(value)))
            return "a slot that should hold a number does not";
    }
    return used == PyTuple_GET_SIZE(snapshot->values) ? NULL : "values and slots do not agree";
}

const char *c_frame_snapshot_check(const c_frame_snapshot *snapshot)
{
    PyCodeObject *code = snapshot->code;
    int function = PyFunction_Check(snapshot->function);
    if (!function && code != c_shim_code())
        return "a frame has no function";
    if (snapshot->slots < code->co_nlocalsplus)
        return "a frame has fewer slots than variables";
    return check_slot_values(snapshot);
}

/* ---- writing ---------------------------------------------------------------------- */

void c_frame_snapshot_fill(const c_frame_snapshot *snapshot, c_frame *f)
{
    Py_ssize_t used = 0;
    for (int i = 0; i < snapshot->slots; i++) {
        if (has_bit(snapshot->mask, i)) {
            f->localsplus[i] = SLOT_NULL;
            continue;
        }
        PyObject *value = PyTuple_GET_ITEM(snapshot->values, used++);
        f->localsplus[i] = has_bit(snapshot->mask, snapshot->slots + i)
                               ? slot_from_number(PyLong_AsSsize_t(value))
                               : slot_steal(Py_NewRef(value));
    }
    frame_set_top(f, snapshot->slots);
    frame_set_ip(f, _PyCode_CODE(snapshot->code) + snapshot->ip);
    frame_set_return_offset(f, snapshot->offset);
    if (PyFunction_Check(snapshot->function)) {
        PyFunctionObject *function = (PyFunctionObject *)snapshot->function;
        f->f_globals = function->func_globals;
        f->f_builtins = function->func_builtins;
    }
}
