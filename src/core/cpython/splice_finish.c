/* The end of a splice: what is left of an instruction whose callee was joined to its frame.
 *
 * The waiting frame's return_offset says what that is, and a snapshot keeps it: kind << 8 |
 * operands.
 */
#include "cpython/async_step.h"
#include "cpython/bytecode.h"
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

int c_splice_is_waiting(const c_frame *f, const PyGenObject *gen)
{
    if (f->return_offset < C_SPLICED)
        return 0;
    if (gen == NULL)
        return 1;
    int kind = f->return_offset >> 8 & 15, operands = f->return_offset & 255;
    int base = frame_top(f) - operands;
    if (kind == C_KIND_STEP)
        return operands >= 3 || (operands == 1 && ip_opcode(frame_ip(f)) == SEND);
    return (kind == C_KIND_NEXT || kind == C_KIND_SEND) && operands >= 3 &&
           base >= frame_code(f)->co_nlocalsplus &&
           (kind == C_KIND_SEND || C_CALL_TARGET(f->localsplus + base) == c_facts.next);
}

int c_splice_is_in_context(const c_frame *f)
{
    return f->return_offset >= C_SPLICED && (f->return_offset >> 8 & 15) == C_KIND_RUN &&
           ip_opcode(frame_ip(f)) == C_OP_CALL;
}

int c_splice_is_valid(PyCodeObject *code, int op, int arg, int offset, int depth, int generator)
{
    int kind = offset >> 8 & 15, operands = offset & 255;
    int is_send = kind == C_KIND_NEXT || kind == C_KIND_SEND || kind == C_KIND_STEP;
    if (depth < operands || generator != is_send)
        return 0;
    if (op == SEND)
        return operands == 1 && depth >= 2 && kind == C_KIND_STEP;
    if (op == LOAD_ATTR)
        return operands == 1 && kind == (arg & 1 ? C_KIND_METHOD : C_KIND_ATTR) &&
               arg >> 1 < PyTuple_GET_SIZE(code->co_names);
    if (op == C_OP_CALL)
        return operands == arg + 2 && (generator || kind == C_KIND_CALL || kind == C_KIND_INIT ||
                                       (kind == C_KIND_RUN && arg > 0));
    if (op == C_OP_CALL_KW)
        return operands == C_KW_OPERANDS(arg) && (kind == C_KIND_CALL || kind == C_KIND_INIT);
    if (op == C_OP_CALL_EX)
        return operands == C_EX_OPERANDS(arg) && kind == C_KIND_STAR;
    if (op == WITH_EXCEPT_START)
        return operands == 0 && kind == C_KIND_EXCEPT && depth >= C_WITH_OPERANDS;
#ifdef C_OP_BEFORE_WITH
    if (op == C_OP_BEFORE_WITH)
        return operands == 1 && kind == C_KIND_ENTER;
#endif
    return C_PLAIN_SUBSCRIPT(op, arg) && operands == 2 && kind == C_KIND_ITEM;
}

static void pop_operands(c_frame *f, int operands)
{
    int depth = frame_top(f) - operands;
    slot *at = f->localsplus + depth, *end = at + operands;
    frame_set_top(f, depth);
    for (; at < end; at++)
        slot_close(*at);
}

static void push_slot(c_frame *f, slot value)
{
    int top = frame_top(f);
    f->localsplus[top] = value;
    frame_set_top(f, top + 1);
}

/* Puts the object and the name into an AttributeError that has none, as CPython does. */
static void complete_attribute_error(c_frame *f)
{
    PyObject *error = PyErr_GetRaisedException();
    if (PyErr_GivenExceptionMatches(error, PyExc_AttributeError)) {
        PyAttributeErrorObject *raised = (PyAttributeErrorObject *)error;
        PyObject *name = PyTuple_GET_ITEM(frame_code(f)->co_names, ip_oparg(frame_ip(f)) >> 1);
        if (raised->name == NULL && raised->obj == NULL) {
            raised->name = Py_NewRef(name);
            raised->obj = Py_XNewRef(slot_object(f->localsplus[frame_top(f) - 1]));
        }
    }
    PyErr_SetRaisedException(error);
}

/* The generator returned: the default of next(), or NULL with StopIteration set. */
static PyObject *result_of_ended_generator(c_frame *f, int kind, int operands, PyObject *result)
{
    slot *base = f->localsplus + frame_top(f) - operands;
    int count = operands - 2 + (C_CALL_SELF(base) != NULL);
    if (kind == C_KIND_NEXT && count == 2) {
        Py_DECREF(result);
        PyObject *given = slot_object(f->localsplus[frame_top(f) - 1]);
        return Py_NewRef(given ? given : Py_None);
    }
    if (result == Py_None)
        PyErr_SetNone(PyExc_StopIteration);
    else
        _PyGen_SetStopIterationValue(result);
    Py_DECREF(result);
    return NULL;
}

/* The new object, or NULL when __init__ did not return None. */
static PyObject *result_of_init(c_frame *f, int operands, PyObject *result)
{
    slot *spare = &C_EMPTY_SLOT(f->localsplus + frame_top(f) - operands);
    PyObject *made = slot_object(*spare);
    if (result == Py_None && made != NULL) {
        Py_INCREF(made);
    } else {
        PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                     Py_TYPE(result)->tp_name);
        made = NULL;
    }
    Py_DECREF(result);
    return made;
}

/* With an exception, if there is no result. */
static PyObject *leave_context(c_frame *f, int operands, PyObject *result)
{
    const slot *base = f->localsplus + frame_top(f) - operands;
    PyObject *error = PyErr_GetRaisedException();
    if (PyContext_Exit(c_context_of_run(C_CALL_TARGET(base), C_CALL_SELF(base))) < 0) {
        Py_CLEAR(result);
        Py_CLEAR(error);
    } else if (error != NULL) {
        PyErr_SetRaisedException(error);
    }
    return result;
}

/* The step that was sent something, by SEND or by a call of its send(). */
static PyObject *step_of_frame(c_frame *f, int operands)
{
    slot *base = f->localsplus + frame_top(f) - operands;
    if (operands == 1)
        return slot_object(base[-1]);
    PyObject *callable = C_CALL_TARGET(base), *self = C_CALL_SELF(base);
    if (Py_IS_TYPE(callable, &PyCFunction_Type))
        return PyCFunction_GET_SELF(callable);
    return self != NULL ? self : slot_object(base[2]);
}

/* SEND of a step that has ended: what that gave instead of NULL, and the jump; else 0 units. */
static int finish_send(c_frame *f, PyObject **result)
{
    int jump = ip_oparg(frame_ip(f));
    if (*result != NULL)
        return C_STEP_OVER(SEND);
    return _PyGen_FetchStopIterationValue(result) == 0 ? C_STEP_OVER(SEND) + jump : 0;
}

static int units_of_kind(int kind, int op)
{
    switch (kind) {
    case C_KIND_ITEM:
        return C_STEP_OVER(C_OP_SUBSCRIPT);
    case C_KIND_ATTR:
    case C_KIND_METHOD:
        return C_STEP_OVER(LOAD_ATTR);
    case C_KIND_STAR:
        return C_STEP_OVER(C_OP_CALL_EX);
    case C_KIND_ENTER:
    case C_KIND_EXCEPT:
        return C_STEP_OVER(WITH_EXCEPT_START); /* as BEFORE_WITH, without caches */
    default:
        return op == C_OP_CALL_KW ? C_STEP_OVER(op) : C_STEP_OVER(C_OP_CALL);
    }
}

int c_splice_finish(c_frame *f, PyObject *result, int yielded)
{
    int kind = f->return_offset >> 8 & 15, operands = f->return_offset & 255;
    f->return_offset = 0;
    if (result == NULL && (kind == C_KIND_ATTR || kind == C_KIND_METHOD))
        complete_attribute_error(f);
    if (result != NULL && !yielded && (kind == C_KIND_NEXT || kind == C_KIND_SEND))
        result = result_of_ended_generator(f, kind, operands, result);
    if (result != NULL && kind == C_KIND_INIT)
        result = result_of_init(f, operands, result);
    if (kind == C_KIND_RUN)
        result = leave_context(f, operands, result);
    if (kind == C_KIND_STEP)
        result = c_step_end(step_of_frame(f, operands), result, yielded);
    int units = kind == C_KIND_STEP && operands == 1 ? finish_send(f, &result)
                                                     : units_of_kind(kind, ip_opcode(frame_ip(f)));
    if (result == NULL || kind != C_KIND_ENTER) /* the __exit__ stays */
        pop_operands(f, operands);
    if (result == NULL)
        return 0;
    if (kind == C_KIND_METHOD && C_ATTRIBUTE_AFTER_NULL)
        push_slot(f, SLOT_NULL);
    push_slot(f, slot_steal(result));
    if (kind == C_KIND_METHOD && !C_ATTRIBUTE_AFTER_NULL)
        push_slot(f, SLOT_NULL);
    frame_set_ip(f, frame_ip(f) + units);
    return 1;
}

#endif
