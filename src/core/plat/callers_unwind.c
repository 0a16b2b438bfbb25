/* The return addresses on the C stack, found by the compiler's unwinder.
 *
 * On x86-64 every call puts its return address right below the end of the caller's frame, and the
 * unwinder knows that address for code compiled without frame pointers too.  Each return address is
 * compared with what lies there; the first that differs ends the list.  Elsewhere (on aarch64 a
 * function may keep it anywhere) nothing is found.
 */
#include "plat/plat.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <unwind.h>

typedef struct {
    uintptr_t *slots;
    int found, max;
} walk;

/* For a frame that was unwound to, this is its stack pointer at the call. */
static _Unwind_Reason_Code add_slot(struct _Unwind_Context *context, void *arg)
{
    walk *w = arg;
    uintptr_t sp = _Unwind_GetCFA(context), slot = sp - sizeof(void *);
    if (sp == 0 || *(uintptr_t *)slot != _Unwind_GetIP(context))
        return w->found ? _URC_END_OF_STACK : _URC_NO_REASON;
    if (w->found == w->max)
        return _URC_END_OF_STACK;
    w->slots[w->found++] = slot;
    return _URC_NO_REASON;
}

int p_callers(uintptr_t *slots, int max)
{
    walk w = {slots, 0, max};
    _Unwind_Backtrace(add_slot, &w);
    return w.found;
}

#else

int p_callers(uintptr_t *slots, int max)
{
    (void)slots, (void)max;
    return 0;
}

#endif
