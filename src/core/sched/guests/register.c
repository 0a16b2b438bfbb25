/* All guests, in the order in which they receive events. */
#include "sched/guests/register.h"

#include "sched/events.h"

extern const s_guest s_listener_guest, s_trace_guest, s_event_loop_guest, s_identity_guest,
    s_fiber_guest, s_fixed_stack_guest, s_scope_guest, s_preempt_guest, s_detach_guest,
    s_stackless_run_guest, s_run_guest;

void s_register_guests(void)
{
    static const s_guest *const guests[] = {
        &s_listener_guest, &s_trace_guest,         &s_event_loop_guest, &s_identity_guest,
        &s_fiber_guest,    &s_fixed_stack_guest,   &s_scope_guest,      &s_preempt_guest,
        &s_detach_guest,   &s_stackless_run_guest, &s_run_guest};
    for (size_t i = 0; i < sizeof(guests) / sizeof(guests[0]); i++)
        s_register_guest(guests[i]);
}
