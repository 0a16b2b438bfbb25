/* Splices: C callers between two activations of the interpreter that can be given up.
 *
 * When an instruction of one frame runs another frame through C, a switch inside must keep the C
 * stack, unless it is known what that C code would still do: then the two frames are joined
 * directly, and c_resume finishes the instruction of the lower frame when the upper one has
 * returned.  Known are:
 *
 *   FOR_ITER over a generator     push what it yields; end the loop
 *   next(generator), .send(x)     push what it yields; StopIteration, or the default
 *   object[key]                   __getitem__ written in Python
 *   object.name                   a property, __getattr__, __getattribute__
 *   partial_object(...)           functools.partial of a Python function
 *   Class(...)                    __init__; the value is the new object
 *   object(...)                   __call__ written in Python (instance_call.c)
 *   the same with name=value      (keyword_call.c)
 *   method(*args, **kwargs)       the function of a bound method (star_call.c)
 *   context.run(function, ...)    leave the context; the value is the function's
 *   with manager:                 __enter__ and __exit__ written in Python (with_call.c)
 *   await step, step.send(x)      steps of asynchronous generators (async_step.c)
 *
 * The proof has three parts:
 *
 * 1. It is this call.  The instruction's operands say which C function was entered, the types say
 *    what it calls, and the upper frame runs exactly that function (or generator) in the way
 *    CPython calls it, with no hook in between.
 * 2. The call is still in progress.  While the interpreter drops the operands of a call that has
 *    returned, a destructor may run the same function.  Where the operands stay visible meanwhile
 *    (C_DROPS_IN_PLACE) each must have another owner beside its slot, from the last one down,
 *    because those before it may have been freed already; and no operand's type has the function as
 *    its __del__.
 * 3. All references owned by the C code are known, and are dropped when it is given up.  Each must
 *    be seen on the C stack between the activations.
 *
 * In any doubt the switch is hard.  Refused, among others: a property of a type with __getattr__
 * (which sees its AttributeError), __getattr__ of a type that has its own __getattribute__ too,
 * more positional arguments than the C code keeps on its stack (it owns a block of memory), keyword
 * arguments of a partial object (a dictionary), a temporary generator on 3.12 and 3.13 (part 2:
 * next(gen()) looks like the end of gen()).
 *
 * How an instruction is finished is kept in the waiting frame's return_offset, so it needs nothing
 * on any C stack: kind << 8 | operands.
 */
#include "cpython/splice.h"
#include "cpython/async_step.h"
#include "cpython/bytecode.h"
#include "cpython/start.h"

#ifdef C_HAS_SOFT

typedef struct {
    c_frame *upper, *lower;
    PyCodeObject *code;
    const _Py_CODEUNIT *ip;
    slot *end;         /* after the operands */
    PyObject *func;    /* what `upper` runs, if it is a plain function */
    PyGenObject *gen;  /* or if it is a generator or coroutine */
    c_splice_plan *to; /* the result */
} join;

static int plan_splice(join *j, int kind, int operands)
{
    j->to->offset = C_SPLICED | kind << 8 | operands;
    return 1;
}

/* Whether C code between the two activations may own `object`: it is on the C stack. */
C_READS_STACK static int is_on_c_stack(const join *j, const void *object)
{
    c_stack_words words = c_stack_words_between(j->upper, j->lower);
    for (size_t i = 0; i < words.count; i++)
        if (words.at[i] == object)
            return 1;
    return 0;
}

/* Plans to drop the reference to `object` that the C code owns, when that code is given up. */
static int plan_release(join *j, PyObject *object)
{
    if (Py_REFCNT(object) < 2 || !is_on_c_stack(j, object))
        return 0;
    j->to->owned[j->to->count++] = object;
    return 1;
}

/* Part 2 of the proof. */
static B_INLINE int call_is_in_progress(const join *j, int operands)
{
    const slot *base = j->end - operands;
    PyObject *func = j->func;
    for (const slot *at = j->end - 1; at >= base; at--) {
        PyObject *object = slot_object(*at);
        if (object == NULL)
            continue;
        if (C_DROPS_IN_PLACE && Py_REFCNT(object) < 2)
            return 0;
        if (Py_TYPE(object)->tp_finalize != NULL && func != NULL &&
            _PyType_Lookup(Py_TYPE(object), c_facts.name_del) == func)
            return 0;
    }
    return 1;
}

static int instruction_offset(const join *j)
{
    return (int)((const char *)j->ip - (const char *)_PyCode_CODE(j->code));
}

/* The unit in front may also be an inline cache that looks like an instruction; where the depth is
 * computed from the bytecode, a cache has none. */
static int is_preceded_by(const join *j, int opcode)
{
    int before = instruction_offset(j) - (int)sizeof(*j->ip);
    return before >= 0 && ip_opcode(j->ip - 1) == opcode &&
           (C_FRAME_KNOWS_DEPTH || c_stack_depth_at(j->code, before) >= 0);
}

/* Whether the instruction's argument fits into its own unit: `limit` is the largest argument that
 * the code can need. */
static int fits_one_unit(const join *j, Py_ssize_t limit)
{
    return limit < 256 || !is_preceded_by(j, EXTENDED_ARG);
}

static int splice_for_iter(join *j)
{
    int jump = c_for_iter_jump(j->code, j->ip);
    if (j->gen == NULL || jump < 0 || slot_object(j->end[-1]) != (PyObject *)j->gen)
        return 0;
    j->to->offset = C_RETURN_FROM_FOR_ITER(jump);
    j->to->advance = C_WAIT_ADVANCE(C_OP_FOR_ITER);
    return 1;
}

/* Whether the type's attribute is the plain function that runs: the C code owns a reference. */
static int runs_type_hook(join *j, PyObject *object, PyObject *name)
{
    return _PyType_Lookup(Py_TYPE(object), name) == j->func && plan_release(j, j->func);
}

static int splice_subscript(join *j)
{
    PyObject *object = slot_object(j->end[-2]);
    if (!C_PLAIN_SUBSCRIPT(C_OP_SUBSCRIPT, ip_oparg(j->ip)) || j->func == NULL || object == NULL ||
        !call_is_in_progress(j, 2))
        return 0;
    PyMappingMethods *methods = Py_TYPE(object)->tp_as_mapping;
    if (methods == NULL || methods->mp_subscript != c_facts.item)
        return 0;
    return runs_type_hook(j, object, c_facts.name_getitem) && plan_splice(j, C_KIND_ITEM, 2);
}

static PyObject *member_at(PyObject *object, Py_ssize_t offset)
{
    return *(PyObject **)((char *)object + offset);
}

/* When the C code looks up a method, it keeps no reference to the name. */
static int runs_property(join *j, PyObject *object, PyObject *name, int method)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(object), name);
    return found != NULL && Py_IS_TYPE(found, &PyProperty_Type) &&
           member_at(found, c_facts.getter) == j->func && plan_release(j, found) &&
           (method || plan_release(j, name));
}

static int runs_getattr(join *j, PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *first = _PyType_Lookup(type, c_facts.name_getattribute);
    return first != NULL && Py_IS_TYPE(first, &PyWrapperDescr_Type) &&
           ((PyWrapperDescrObject *)first)->d_wrapped == (void *)PyObject_GenericGetAttr &&
           _PyType_Lookup(type, name) == NULL && runs_type_hook(j, object, c_facts.name_getattr);
}

static int splice_attribute(join *j)
{
    int arg = ip_oparg(j->ip), method = arg & 1, found = 0;
    PyObject *object = slot_object(j->end[-1]), *names = j->code->co_names;
    if (j->func == NULL || object == NULL || arg >> 1 >= PyTuple_GET_SIZE(names) ||
        !fits_one_unit(j, 2 * PyTuple_GET_SIZE(names)) || !call_is_in_progress(j, 1))
        return 0;
    PyObject *name = PyTuple_GET_ITEM(names, arg >> 1);
    getattrofunc get = Py_TYPE(object)->tp_getattro;
    if (get == PyObject_GenericGetAttr)
        found = runs_property(j, object, name, method);
    else if (get == c_facts.fallback)
        found = runs_getattr(j, object, name);
    else if (get == c_facts.attribute)
        found = runs_type_hook(j, object, c_facts.name_getattribute);
    return found && plan_splice(j, method ? C_KIND_METHOD : C_KIND_ATTR, 1);
}

/* The step whose `send` is called, plain or bound. */
static PyObject *step_of_send(PyObject *callable, PyObject *first, Py_ssize_t count)
{
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
        const PyMethodDescrObject *descr = (PyMethodDescrObject *)callable;
        return first != NULL && count == 2 && Py_IS_TYPE(first, descr->d_common.d_type) &&
                       strcmp(descr->d_method->ml_name, "send") == 0
                   ? first
                   : NULL;
    }
    return Py_IS_TYPE(callable, &PyCFunction_Type) && count == 1 &&
                   strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "send") == 0
               ? PyCFunction_GET_SELF(callable)
               : NULL;
}

static int runs_step(const join *j, PyObject *callable, PyObject *first, Py_ssize_t count)
{
    PyObject *step = step_of_send(callable, first, count);
    return step != NULL && c_step_is_running(step, j->gen);
}

/* next(generator [, default]), generator.send(value), or such a bound `send`. */
static int runs_generator(join *j, PyObject *callable, PyObject *first, Py_ssize_t count)
{
    PyObject *gen = (PyObject *)j->gen;
    if (callable == c_facts.next)
        return first == gen && count <= 2 ? C_KIND_NEXT : 0;
    void *function = NULL;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first == gen && count == 2)
        function = (void *)((PyMethodDescrObject *)callable)->d_method->ml_meth;
    else if (Py_IS_TYPE(callable, &PyCFunction_Type) && count == 1 &&
             PyCFunction_GET_SELF(callable) == gen)
        function = (void *)PyCFunction_GET_FUNCTION(callable);
    if (function != NULL && (function == c_facts.send || function == c_facts.awaited_send))
        return C_KIND_SEND;
    return runs_step(j, callable, first, count) ? C_KIND_STEP : 0;
}

/* The C code keeps this many arguments on its stack, and more in a block that it owns. */
#define C_MAX_ARRAY_ARGUMENTS 5

/* If it has a single argument of its own, partial makes an array of it and the given arguments in
 * place: its own one is put in front of the given ones, into the slot that is free there. */
static int runs_partial(join *j, PyObject *partial, slot *base, int given)
{
    PyObject *target = member_at(partial, c_facts.partial_func);
    PyObject *own = member_at(partial, c_facts.partial_args);
    PyObject *keywords = member_at(partial, c_facts.partial_keywords), *self = C_CALL_SELF(base);
    Py_ssize_t count = PyTuple_GET_SIZE(own) + given;
    int bound = target != j->func, reuses_tuple = given > 0 && PyTuple_GET_SIZE(own) == 1;
    if (bound && (!PyMethod_Check(target) || PyMethod_GET_FUNCTION(target) != j->func))
        return 0;
    if (PyDict_GET_SIZE(keywords) != 0 || (given > 0 && !C_PARTIAL_IS_VISIBLE))
        return 0;
    if (count + bound > C_MAX_ARRAY_ARGUMENTS && (bound || (given > 0 && !reuses_tuple)))
        return 0;
    if (reuses_tuple && C_DROPS_IN_PLACE) {
        j->to->borrowed = &C_EMPTY_SLOT(base);
        return self == PyTuple_GET_ITEM(own, 0);
    }
    return self == NULL;
}

/* Whether it is the tuple of the arguments, to which only the C code has a reference. */
static int holds_arguments(PyObject *tuple, const slot *args, int given)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != given || Py_REFCNT(tuple) != 1)
        return 0;
    for (int i = 0; i < given; i++)
        if (PyTuple_GET_ITEM(tuple, i) != slot_object(args[i]))
            return 0;
    return 1;
}

static int has_init(const join *j, PyTypeObject *type)
{
    return Py_TYPE(type)->tp_call == PyType_Type.tp_call && type->tp_vectorcall == NULL &&
           type->tp_new == PyBaseObject_Type.tp_new && type->tp_init == c_facts.init &&
           _PyType_Lookup(type, c_facts.name_init) == j->func;
}

/* Where the C code of Class(...) keeps the new object and the tuple of arguments was learned when
 * loomlet was imported; the stack must look the same now. */
static int runs_init(join *j, PyTypeObject *type, slot *base, int given)
{
    PyObject *object, *tuple = NULL;
    if (given >= C_MAX_ARRAY_ARGUMENTS || !has_init(j, type))
        return 0;
    c_stack_words words = c_stack_words_between(j->upper, j->lower);
    if (!c_find_new_object(words, j->func, &object, given > 0 ? &tuple : NULL) ||
        !Py_IS_TYPE(object, type) || (given > 0 && !holds_arguments(tuple, base + 2, given)) ||
        !plan_release(j, j->func))
        return 0;
    j->to->made = object;
    j->to->spare = &C_EMPTY_SLOT(base);
    if (given > 0)
        j->to->owned[j->to->count++] = tuple;
    return 1;
}

/* Of any type, also a class whose own class has such a __call__. */
static int runs_call(join *j, PyObject *callable, slot *base, int given)
{
    PyObject *tuple;
    if (given >= C_MAX_ARRAY_ARGUMENTS ||
        _PyType_Lookup(Py_TYPE(callable), c_facts.name_call) != j->func ||
        !c_instance_call_find(c_stack_words_between(j->upper, j->lower), j->func, &tuple) ||
        (given > 0 && !holds_arguments(tuple, base + 2, given)) || !plan_release(j, j->func))
        return 0;
    if (given > 0)
        j->to->owned[j->to->count++] = tuple;
    return 1;
}

static int is_object_with_call(PyObject *callable)
{
    return c_facts.call != NULL && Py_TYPE(callable)->tp_call == c_facts.call;
}

/* What these two own, and an array of all arguments with a dictionary of some. */
static int runs_with_keywords(join *j, PyObject *callable, slot *base, int count, PyObject *names)
{
    c_keyword_call call;
    int hooked = is_object_with_call(callable);
    Py_ssize_t given = count - PyTuple_GET_SIZE(names);
    if (given < 0 || given >= C_MAX_ARRAY_ARGUMENTS || C_CALL_SELF(base) != NULL ||
        (hooked ? _PyType_Lookup(Py_TYPE(callable), c_facts.name_call) != j->func
                : !PyType_Check(callable) || !has_init(j, (PyTypeObject *)callable)))
        return 0;
    c_keyword_query wanted = {j->func, hooked ? callable : NULL, names, base + 2, given};
    if (!c_keyword_call_find(c_stack_words_between(j->upper, j->lower), &wanted, &call) ||
        (given > 0 && !holds_arguments(call.tuple, base + 2, (int)given)) ||
        (!hooked && !Py_IS_TYPE(call.object, (PyTypeObject *)callable)) ||
        !plan_release(j, j->func))
        return 0;
    j->to->owned[j->to->count++] = call.dict;
    if (given > 0)
        j->to->owned[j->to->count++] = call.tuple;
    j->to->call = call.array;
    if (hooked)
        return C_KIND_CALL;
    j->to->made = call.object;
    j->to->spare = &C_EMPTY_SLOT(base);
    return C_KIND_INIT;
}

/* context.run(function, ...) or such a bound `run`: the context, or NULL. */
PyObject *c_context_of_run(PyObject *callable, PyObject *self)
{
    PyObject *context = NULL;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) &&
        (void *)((PyMethodDescrObject *)callable)->d_method->ml_meth == c_facts.run)
        context = self;
    else if (Py_IS_TYPE(callable, &PyCFunction_Type) && self == NULL &&
             (void *)PyCFunction_GET_FUNCTION(callable) == c_facts.run)
        context = PyCFunction_GET_SELF(callable);
    return context != NULL && PyContext_CheckExact(context) ? context : NULL;
}

/* Its C code owns nothing, but for a method the arguments again, behind self. */
static int runs_in_context(const join *j, const slot *base, int given)
{
    PyObject *target = given > 0 ? slot_object(base[2]) : NULL;
    if (target == j->func)
        return target != NULL;
    return target != NULL && Py_IS_TYPE(target, &PyMethod_Type) &&
           PyMethod_GET_FUNCTION(target) == j->func && given <= C_MAX_ARRAY_ARGUMENTS;
}

static int runs_function(join *j, PyObject *callable, slot *base, int given)
{
    if (c_facts.partial != NULL && Py_IS_TYPE(callable, c_facts.partial))
        return runs_partial(j, callable, base, given) ? C_KIND_CALL : 0;
    if (is_object_with_call(callable) && C_CALL_SELF(base) == NULL)
        return runs_call(j, callable, base, given) ? C_KIND_CALL : 0;
    if (PyType_Check(callable) && C_CALL_SELF(base) == NULL)
        return runs_init(j, (PyTypeObject *)callable, base, given) ? C_KIND_INIT : 0;
    if (c_context_of_run(callable, C_CALL_SELF(base)) != NULL)
        return runs_in_context(j, base, given) ? C_KIND_RUN : 0;
    return 0;
}

/* The names of keyword arguments, which are the last operand, or a constant that the instruction in
 * front has named.  NULL: none, or not known. */
static PyObject *keyword_names(const join *j, int named)
{
    PyObject *constants = j->code->co_consts;
    if (ip_opcode(j->ip) == C_OP_CALL_KW)
        return slot_object(j->end[-1]);
    return named && PyTuple_GET_SIZE(constants) < 256
               ? PyTuple_GET_ITEM(constants, ip_oparg(j->ip - 1))
               : NULL;
}

static int splice_call(join *j)
{
    int in_front = C_OP_KW_NAMES >= 0 && is_preceded_by(j, C_OP_KW_NAMES);
    int named = in_front || ip_opcode(j->ip) == C_OP_CALL_KW;
    int arg = ip_oparg(j->ip), operands = named ? C_KW_OPERANDS(arg) : arg + 2, kind = 0;
    slot *base = j->end - operands;
    if (operands > 255 || (named && operands > C_MAX_OPERANDS) ||
        base < j->lower->localsplus + j->code->co_nlocalsplus ||
        !fits_one_unit(j, j->code->co_stacksize) || !call_is_in_progress(j, operands))
        return 0;
    PyObject *callable = C_CALL_TARGET(base), *self = C_CALL_SELF(base);
    PyObject *first = self != NULL ? self : arg > 0 ? slot_object(base[2]) : NULL;
    PyObject *names = keyword_names(j, in_front);
    if (callable == NULL)
        return 0;
    if (named)
        kind = j->func && names ? runs_with_keywords(j, callable, base, arg, names) : 0;
    else if (j->gen != NULL)
        kind = runs_generator(j, callable, first, arg + (self != NULL));
    else
        kind = runs_function(j, callable, base, arg);
    return kind != 0 && plan_splice(j, kind, operands);
}

/* A step is awaited: the instruction drops what it sends, and keeps the step. */
static int splice_send(join *j)
{
    if (j->gen == NULL || j->end - 2 < j->lower->localsplus + j->code->co_nlocalsplus ||
        slot_object(j->end[-1]) != Py_None || is_preceded_by(j, EXTENDED_ARG))
        return 0;
    PyObject *step = slot_object(j->end[-2]);
    return step != NULL && c_step_is_running(step, j->gen) && plan_splice(j, C_KIND_STEP, 1);
}

static int splice_star_call(join *j)
{
    int oparg = ip_oparg(j->ip), operands = C_EX_OPERANDS(oparg);
    slot *base = j->end - operands, *first = j->lower->localsplus;
    c_star_call call;
    if (j->func == NULL || base < first + j->code->co_nlocalsplus)
        return 0;
    PyObject *args = slot_object(base[2]), *kwargs = NULL;
    if (C_EX_HAS_KEYWORDS(j->lower, base - first, oparg))
        kwargs = slot_object(base[3]);
    if (!c_star_call_find(c_stack_words_between(j->upper, j->lower), args, kwargs, &call))
        return 0;
    PyObject *method = C_EX_TARGET(base);
    if (!Py_IS_TYPE(method, &PyMethod_Type) || PyMethod_GET_FUNCTION(method) != j->func)
        return 0;
    j->to->call = call;
    return plan_splice(j, C_KIND_STAR, operands);
}

/* If the exception has another one by now, the C code's is not known. */
static int releases_traceback(join *j)
{
    PyObject *error = slot_object(j->end[-1]);
    PyObject *traceback = PyException_GetTraceback(error);
    Py_XDECREF(traceback);
    return traceback != NULL && plan_release(j, traceback);
}

/* The exception of a `with` block is given to __exit__, in an array of the C code's own. */
static int splice_exit_with_exception(join *j)
{
    PyObject *exit = slot_object(j->end[-C_WITH_OPERANDS]);
    if (exit == NULL || j->func == NULL)
        return 0;
    int runs = exit == j->func ||
               (Py_IS_TYPE(exit, &PyMethod_Type) && PyMethod_GET_FUNCTION(exit) == j->func);
    return runs && (!C_WITH_OWNS_TRACEBACK || releases_traceback(j)) &&
           plan_splice(j, C_KIND_EXCEPT, 0);
}

#ifdef C_OP_BEFORE_WITH

/* The instruction has dropped the manager, and puts its __exit__ in the place of it. */
static int splice_enter(join *j)
{
    PyObject *enter, *manager = slot_object(j->end[-1]);
    c_stack_words words = c_stack_words_between(j->upper, j->lower);
    if (j->func == NULL || !c_with_enter_find(words, manager, j->func, &enter, &j->to->made))
        return 0;
    j->to->spare = j->end - 1;
    j->to->owned[j->to->count++] = enter;
    return plan_splice(j, C_KIND_ENTER, 1);
}

/* A block that ends without an exception calls the bound __exit__ with three times None.  Meanwhile
 * the manager is in the slot of the method. */
static int splice_exit(join *j)
{
    slot *base = j->end - 4;
    if (j->func == NULL || ip_oparg(j->ip) != 2 ||
        base < j->lower->localsplus + j->code->co_nlocalsplus || slot_object(base[1]) != Py_None ||
        slot_object(base[2]) != Py_None || slot_object(base[3]) != Py_None)
        return 0;
    c_stack_words words = c_stack_words_between(j->upper, j->lower);
    j->to->made = c_with_exit_find(words, slot_object(base[0]), j->func);
    j->to->spare = base;
    return j->to->made != NULL && plan_splice(j, C_KIND_CALL, 4);
}

#else

static int splice_exit(join *j)
{
    (void)j;
    return 0;
}

#endif

static int splice_exit_or_call(join *j)
{
    return splice_exit(j) || splice_call(j);
}

/* How each instruction is spliced.  Most have no rule, and nothing more is asked. */
typedef int (*splice_function)(join *j);
static const splice_function rules[256] = {
    [C_OP_FOR_ITER] = splice_for_iter,
    [C_OP_CALL] = splice_exit_or_call,
#if C_OP_CALL_KW >= 0
    [C_OP_CALL_KW] = splice_call,
#endif
    [C_OP_CALL_EX] = splice_star_call,
    [C_OP_SUBSCRIPT] = splice_subscript,
    [SEND] = splice_send,
    [LOAD_ATTR] = splice_attribute,
    [WITH_EXCEPT_START] = splice_exit_with_exception,
#ifdef C_OP_BEFORE_WITH
    [C_OP_BEFORE_WITH] = splice_enter,
#endif
};

/* Finds out what the upper frame runs: 0 if CPython's own C code cannot have called it. */
static int identify_callee(join *j, const PyThreadState *ts)
{
    if (_PyInterpreterState_GetEvalFrameFunc(ts->interp) != _PyEval_EvalFrameDefault)
        return 0;
    if (j->upper->owner == FRAME_OWNED_BY_GENERATOR) {
        j->gen = frame_generator(j->upper);
        return PyGen_CheckExact(j->gen) || PyCoro_CheckExact(j->gen) ||
               PyAsyncGen_CheckExact(j->gen);
    }
    PyObject *func = slot_object(j->upper->f_funcobj);
    if (j->upper->owner != FRAME_OWNED_BY_THREAD || func == NULL || !PyFunction_Check(func) ||
        ((PyFunctionObject *)func)->vectorcall != c_function_vectorcall())
        return 0;
    j->func = func;
    return 1;
}

int c_splice(PyThreadState *ts, c_frame *upper, c_frame *lower, c_soft_point *out)
{
    if (lower == NULL || frame_is_entry(lower) || out->splices == C_MAX_SPLICES)
        return C_NESTED;
    splice_function rule = rules[ip_opcode(frame_ip(lower))];
    if (rule == NULL)
        return C_NESTED;
    c_splice_plan *to = &out->splice[out->splices];
    join j = {upper, lower, frame_code(lower), frame_ip(lower), NULL, NULL, NULL, to};
    int locals = j.code->co_nlocalsplus;
    int depth = C_FRAME_KNOWS_DEPTH ? frame_top(lower) - locals
                                    : c_stack_depth_at(j.code, instruction_offset(&j));
    if (depth < 1 || depth > j.code->co_stacksize || !identify_callee(&j, ts))
        return C_NESTED;
    to->upper = upper, to->lower = lower;
    to->made = to->spare = to->borrowed = NULL;
    to->call = (c_star_call){0};
    to->count = to->advance = 0;
    to->top = locals + depth;
    j.end = lower->localsplus + to->top;
    if (!rule(&j))
        return C_NESTED;
    out->splices++;
    return C_SOFT;
}

void c_splice_join(const c_soft_point *point, int i)
{
    const c_splice_plan *plan = &point->splice[i];
    c_frame *lower = plan->lower;
    for (int n = 0; n < plan->count; n++)
        Py_DECREF(plan->owned[n]);
    c_star_call_release(&plan->call);
    if (plan->borrowed != NULL)
        *(slot *)plan->borrowed = SLOT_NULL;
    if (plan->made != NULL)
        *(slot *)plan->spare = slot_steal(plan->made);
    plan->upper->previous = lower;
    frame_set_top(lower, plan->top);
    lower->return_offset = (uint16_t)plan->offset;
    frame_set_ip(lower, frame_ip(lower) + plan->advance);
}

#endif
