/* What a copy of the process writes about its tasklets.
 *
 * It runs in the copy alone (plat.h, p_process_copy), reads as plain memory what the threads were
 * just doing, and neither locks nor allocates.  Each tasklet is one step under p_process_copy_try:
 * a tasklet that was half made costs its own line, a broken registry ends the dump, and the reader
 * learns of both.  All loops are bounded.
 *
 * Lines of fields with tabs between them; the parser is in loomlet.observe.
 *   loomlet-dump 1
 *   P  pid, ns from the question to the copy
 *   S  thread, id of its current tasklet, 1 while it runs, ms, ready tasklets, and the longest run
 *      so far: ms, id, name, function, file, line
 *   C  key, function, file        of a code object, before its first use (and maybe again)
 *   T  id, state, how it is saved, ms since it began or ceased to run, name, kind of wait, ms to
 *      its deadline or -, things waited for, frames (innermost first, key:line, at last +more)
 *   M  id, number of the thread    of a tasklet that sits there in a C call which was handed over
 *      (the system's), tasklets that can run only there, 1 if a signal waits for its end
 *   H  id                          of a tasklet that could not be read
 *   X  errno                       no copy could be made
 *   E  ok or partial
 * A thing waited for: address, type, name, id of the holder, thread of the holder, each with
 * a \2 behind it, and a \1 at the end.
 *
 * Rejected: a binary form, which would save the reader little and need a second form for people.
 */
#include "debug/debug.h"
#include "debug/text.h"
#include "sched/carrier.h"

#define TARGETS 8
#define CODES 4096
#define MOST_TASKLETS 100000000
#define MOST_CARRIERS 100000

/* What the step under p_process_copy_try is about: such a step takes no arguments of its own. */
static struct {
    const s_sched *s;
    const b_link *at;
    const s_tasklet *t;
    uint32_t now;
    long ready;
} here;

static PyObject *written_codes[CODES];

static uint64_t coarse_to_ms(uint32_t coarse)
{
    return (int32_t)coarse < 0 ? 0 : ((uint64_t)coarse << 20) / 1000000;
}

/* ---- one tasklet ------------------------------------------------------------------------- */

/* A code object is written before the first line that refers to it. */
static void put_code(const c_location *at)
{
    PyObject **known = &written_codes[((uintptr_t)at->code >> 5) % CODES];
    if (*known == at->code)
        return;
    d_begin_line("C");
    d_put_field((uintptr_t)at->code);
    d_put("\t");
    d_put_text(c_peek_function(at));
    d_put("\t");
    d_put_text(c_peek_file(at));
    d_end_line();
    *known = at->code;
}

static void put_target(const s_target *target)
{
    d_put_number((uintptr_t)target->object);
    d_put("\2");
    d_put(target->object != NULL ? Py_TYPE(target->object)->tp_name : "");
    d_put("\2");
    if (target->name != NULL)
        d_put_text(target->name);
    d_put("\2");
    d_put_number(target->holder);
    d_put("\2");
    d_put_number(target->thread);
    d_put("\2\1");
}

static void put_deadline(const s_tasklet *t)
{
    int64_t left = t->timer->node.when - s_now((s_sched *)here.s);
    d_put_number(left > 0 ? (uint64_t)left / 1000000 : 0);
}

static void put_wait(const s_tasklet *t)
{
    const s_wait_kind *kind = t->state == S_BLOCKED ? t->kind : NULL;
    d_put("\t");
    d_put(kind != NULL ? kind->name : "");
    d_put("\t");
    if (kind != NULL && t->timer != NULL)
        put_deadline(t);
    else
        d_put("-");
    d_put("\t");
    for (int i = 0; kind != NULL && kind->target != NULL && i < TARGETS; i++) {
        s_target target = {NULL, NULL, 0, 0};
        if (!kind->target(t, i, &target))
            break;
        put_target(&target);
    }
}

static void put_frames(const c_location *frames, int count, int more)
{
    d_put("\t");
    for (int i = 0; i < count; i++) {
        d_put_number((uintptr_t)frames[i].code);
        d_put(":");
        d_put_number((uint64_t)c_peek_line(&frames[i]));
        d_put(" ");
    }
    if (more > 0) {
        d_put("+");
        d_put_number((uint64_t)more);
    }
}

static void put_tasklet(void *unused)
{
    const s_tasklet *t = here.t;
    c_location frames[D_FRAMES];
    char name[D_NAME];
    int more, count = d_frames_of(here.s, t, frames, &more);
    (void)unused;
    for (int i = 0; i < count; i++)
        put_code(&frames[i]);
    s_peek_name(t, name, sizeof(name));
    d_begin_line("T");
    d_put_field(t->id);
    d_put_field(t->state);
    d_put_field(t->saved_as);
    d_put_field(coarse_to_ms(here.now - t->since));
    d_put("\t");
    d_put(name);
    put_wait(t);
    put_frames(frames, count, more);
    d_end_line();
}

static void dump_tasklet(const s_tasklet *t)
{
    here.t = t;
    if (p_process_copy_try(put_tasklet, NULL) == 0)
        return;
    d_drop_line();
    d_begin_line("H");
    d_end_line();
}

/* ---- one scheduler ------------------------------------------------------------------------ */

static void count_ready_here(void *unused)
{
    (void)unused;
    here.ready = 0;
    here.ready = d_count_ready(here.s);
}

static void put_scheduler(void *unused)
{
    const s_sched *s = here.s;
    const s_run_interval *longest = &s->longest;
    (void)unused;
    d_begin_line("S");
    d_put_field(s->thread_id);
    d_put_field(s->current->id);
    d_put_field((uint64_t)d_is_running(s, s->current));
    d_put_field(coarse_to_ms(here.now - s->current->since));
    d_put_field((uint64_t)here.ready);
    d_put_field(coarse_to_ms(longest->milliseconds));
    d_put_field(longest->id);
    d_put("\t");
    d_put(longest->name);
    d_put("\t");
    d_put(longest->function);
    d_put("\t");
    d_put(longest->file);
    d_put_field((uint64_t)longest->line);
    d_end_line();
}

static void put_sitters(void *unused)
{
    const s_carriers *all = here.s->carriers;
    const s_carrier_thread *c = s_first_carrier();
    (void)unused;
    for (long count = 0; all != NULL && c != NULL && count < MOST_CARRIERS; c = c->next, count++) {
        const s_tasklet *sitter = c->carrier.sitter;
        if (c->all != all || c->carrier.state != S_CARRIER_SITS || sitter == NULL)
            continue;
        d_begin_line("M");
        d_put_field(sitter->id);
        d_put_field(c_thread_native_id(c->ts));
        d_put_field((uint64_t)d_count_list(&c->aside));
        d_put_field(c == all->home && c_signal_waits_for(c->ts));
        d_end_line();
    }
}

static void step_to_next(void *unused)
{
    (void)unused;
    here.at = here.at->next;
}

/* 0, or -1 when the registry is broken. */
static int dump_registry(const s_sched *s)
{
    here.at = &s->all;
    for (long count = 0; count < MOST_TASKLETS; count++) {
        if (p_process_copy_try(step_to_next, NULL) < 0 || here.at == NULL)
            return -1;
        if (here.at == &s->all)
            return 0;
        dump_tasklet(B_CONTAINER(here.at, s_tasklet, all));
        if (d_text_is_broken())
            return -1;
    }
    return -1;
}

static int dump_scheduler(const s_sched *s)
{
    here.s = s;
    int whole = p_process_copy_try(count_ready_here, NULL) == 0;
    if (p_process_copy_try(put_scheduler, NULL) < 0)
        return -1;
    if (p_process_copy_try(put_sitters, NULL) < 0)
        whole = 0;
    if (s->main != NULL)
        dump_tasklet(s->main);
    return whole ? dump_registry(s) : -1;
}

void d_dump(int fd, int64_t asked_at)
{
    int whole = 1;
    int64_t now = p_now();
    d_begin_text(fd);
    here.now = s_coarse_ms(now);
    d_begin_line("loomlet-dump\t1\nP");
    d_put_field((uint64_t)p_parent_id());
    d_put_field((uint64_t)(now - asked_at));
    d_end_line();
    for (const s_sched *s = s_first_scheduler(); s != NULL; s = s->next) {
        if (!s->ended && dump_scheduler(s) < 0)
            whole = 0;
    }
    d_begin_line(whole ? "E\tok" : "E\tpartial");
    d_end_line();
    d_flush_text();
}
