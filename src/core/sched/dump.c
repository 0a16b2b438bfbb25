/* What a copy of the process writes about its tasklets: all of them, or one that stalls.
 *
 * It runs in the copy alone (plat.h, p_copy), reads as plain memory what the threads were
 * just doing, locks and allocates nothing.  Each tasklet is one step under p_copy_try: one
 * that was half made costs its own line, a broken roll ends the dump, and the reader is
 * told of both.  All loops are bounded.
 *
 * Lines of fields with tabs between them; the reader is loomlet.observe.
 *   loomlet-dump 1
 *   P  pid, ns from the question to the copy
 *   S  thread, id of its current tasklet, 1 when it runs, ms, ready ones, and who held the
 *      core longest: ms, id, name, function, file, line
 *   C  key, function, file        of a code object, before its first use (and maybe again)
 *   T  id, state, kept, ms since it got or left the core, name, kind of wait, ms to its
 *      deadline or -, things waited for, frames (innermost first, key:line, at last +more)
 *   H  id                          of a tasklet that could not be read
 *   X  errno                       no copy could be made
 *   E  ok or partial
 * A thing waited for: address, type, name, id of the holder, thread of the holder, each with
 * a \2 behind it, and a \1 at the end.
 *
 * Rejected: a binary form, which would save the reader little and need a second one to be
 * looked at by people.
 */
#include "sched/dump.h"

#include <stdio.h>

#include "sched/internal.h"

#define FRAMES 48
#define TARGETS 8
#define CALLERS 8  /* in the report of a stall */
#define LINE 32768 /* no line is longer */
#define SEEN 4096
#define MOST 100000000

static struct {
    int fd, broken;
    size_t used, line;
    char text[4 * LINE];
} out;

static struct {
    const s_sched *s;
    const b_link *at;
    const s_tasklet *t;
    uint32_t now;
    long ready;
} here;

static PyObject *seen[SEEN];

/* ---- writing -------------------------------------------------------------------------- */

static void flush(void)
{
    out.broken |= p_copy_write(out.fd, out.text, out.used) < 0;
    out.used = 0;
}

static void put(const char *text)
{
    while (*text != '\0' && out.used < sizeof(out.text) - 1)
        out.text[out.used++] = *text++;
}

static void put_number(uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    for (*at = '\0'; number >= 10; number /= 10)
        *--at = (char)('0' + number % 10);
    *--at = (char)('0' + number);
    put(at);
}

static void put_text(PyObject *text)
{
    char words[400];
    c_peek_text(text, words, sizeof(words));
    put(words);
}

static void begin_line(const char *kind)
{
    if (out.used > sizeof(out.text) - LINE)
        flush();
    out.line = out.used;
    put(kind);
}

static void field(uint64_t number)
{
    put("\t");
    put_number(number);
}

static void end_line(void)
{
    put("\n");
    out.line = out.used;
}

static uint64_t milliseconds(uint32_t ticks)
{
    return (int32_t)ticks < 0 ? 0 : ((uint64_t)ticks << 20) / 1000000;
}

/* ---- one tasklet ------------------------------------------------------------------------- */

size_t s_peek_name(const s_tasklet *t, char *to, size_t room)
{
    if (t->name != NULL)
        return c_peek_text(t->name, to, room);
    if (t->is_main)
        return (size_t)snprintf(to, room, "main");
    PyObject *name = t->state == S_DONE ? t->func : c_function_name(t->func);
    size_t used = c_peek_text(name, to, room - 24);
    if (name == NULL)
        used = (size_t)snprintf(to, room - 24, "%s", t->func ? Py_TYPE(t->func)->tp_name : "?");
    used += (size_t)snprintf(to + used, 24, "-%llu", (unsigned long long)t->id);
    return used;
}

/* Its code is told before the line in which it is used. */
static void tell_code(const c_location *place)
{
    PyObject **known = &seen[((uintptr_t)place->code >> 5) % SEEN];
    if (*known == place->code)
        return;
    begin_line("C");
    field((uintptr_t)place->code);
    put("\t");
    put_text(c_peek_function(place));
    put("\t");
    put_text(c_peek_file(place));
    end_line();
    *known = place->code;
}

static int runs(const s_sched *s, const s_tasklet *t)
{
    return s->current == t && t->state == S_RUNNING;
}

static int frames_of(const s_tasklet *t, c_location *found, int *more)
{
    *more = 0;
    if (runs(here.s, t))
        return c_peek_frames(here.s->ts, &t->c, found, FRAMES, more);
    if (!t->started || (t->kept == S_LIVE && t->state != S_BLOCKED))
        return 0;
    return c_peek_frames(NULL, &t->c, found, FRAMES, more);
}

static void put_target(const s_target *target)
{
    put_number((uintptr_t)target->object);
    put("\2");
    put(target->object != NULL ? Py_TYPE(target->object)->tp_name : "");
    put("\2");
    if (target->name != NULL)
        put_text(target->name);
    put("\2");
    put_number(target->holder);
    put("\2");
    put_number(target->thread);
    put("\2\1");
}

static void put_wait(const s_tasklet *t)
{
    const s_wait_kind *kind = t->state == S_BLOCKED ? t->kind : NULL;
    put("\t");
    put(kind != NULL ? kind->name : "");
    put("\t");
    if (kind != NULL && t->timer != NULL) {
        int64_t left = t->timer->node.when - s_now((s_sched *)here.s);
        put_number(left > 0 ? (uint64_t)left / 1000000 : 0);
    } else {
        put("-");
    }
    put("\t");
    for (int i = 0; kind != NULL && kind->target != NULL && i < TARGETS; i++) {
        s_target target = {NULL, NULL, 0, 0};
        if (!kind->target(t, i, &target))
            break;
        put_target(&target);
    }
}

static void put_tasklet(void *unused)
{
    const s_tasklet *t = here.t;
    c_location places[FRAMES];
    char name[400];
    int more, count = frames_of(t, places, &more);
    (void)unused;
    for (int i = 0; i < count; i++)
        tell_code(&places[i]);
    s_peek_name(t, name, sizeof(name));
    begin_line("T");
    field(t->id);
    field(t->state);
    field(t->kept);
    field(milliseconds(here.now - t->since));
    put("\t");
    put(name);
    put_wait(t);
    put("\t");
    for (int i = 0; i < count; i++) {
        put_number((uintptr_t)places[i].code);
        put(":");
        put_number((uint64_t)c_peek_line(&places[i]));
        put(" ");
    }
    if (more > 0) {
        put("+");
        put_number((uint64_t)more);
    }
    end_line();
}

static void tell_tasklet(const s_tasklet *t)
{
    here.t = t;
    if (p_copy_try(put_tasklet, NULL) == 0)
        return;
    out.used = out.line;
    begin_line("H");
    end_line();
}

/* ---- one scheduler ------------------------------------------------------------------------ */

static void count_ready(void *unused)
{
    (void)unused;
    here.ready = 0;
    for (const b_link *at = here.s->ready.next; at != &here.s->ready; at = at->next) {
        if (at == NULL || ++here.ready > MOST)
            break;
    }
}

static void put_scheduler(void *unused)
{
    const s_sched *s = here.s;
    const s_hold_record *r = &s->longest;
    (void)unused;
    begin_line("S");
    field(s->thread_id);
    field(s->current->id);
    field((uint64_t)runs(s, s->current));
    field(milliseconds(here.now - s->current->since));
    field((uint64_t)here.ready);
    field(milliseconds(r->ticks));
    field(r->id);
    put("\t");
    put(r->name);
    put("\t");
    put(r->function);
    put("\t");
    put(r->file);
    field((uint64_t)r->line);
    end_line();
}

static void step(void *unused)
{
    (void)unused;
    here.at = here.at->next;
}

/* 0, or -1 when the roll is broken. */
static int tell_roll(const s_sched *s)
{
    here.at = &s->all;
    for (long count = 0; count < MOST && !out.broken; count++) {
        if (p_copy_try(step, NULL) < 0 || here.at == NULL)
            return -1;
        if (here.at == &s->all)
            return 0;
        tell_tasklet(B_CONTAINER(here.at, s_tasklet, all));
    }
    return -1;
}

static int tell_scheduler(const s_sched *s)
{
    here.s = s;
    int whole = p_copy_try(count_ready, NULL) == 0;
    if (p_copy_try(put_scheduler, NULL) < 0)
        return -1;
    if (s->main != NULL)
        tell_tasklet(s->main);
    return whole ? tell_roll(s) : -1;
}

/* ---- one stall ---------------------------------------------------------------------------- */

static struct {
    const s_tasklet *held;
    int64_t now, nanoseconds;
    long waiting;
} stall;

/* Those that are ready, whose time has come, and whose descriptors may be. */
static void count_waiting(void *unused)
{
    const s_sched *s = here.s;
    count_ready(unused);
    stall.waiting = here.ready + (s->has_mail != 0) + (long)s->io_waits;
    for (size_t i = 0; i < s->timers.used; i++)
        stall.waiting += s->timers.entries[i].when <= stall.now;
}

static void put_place(const c_location *place)
{
    put_text(c_peek_file(place));
    put(":");
    put_number((uint64_t)c_peek_line(place));
    put(" in ");
    put_text(c_peek_function(place));
    put("\n");
}

static void put_stall(void *unused)
{
    c_location places[FRAMES];
    char name[400];
    int more, count = frames_of(stall.held, places, &more);
    uint64_t tenths = (uint64_t)stall.nanoseconds / 100000000;
    (void)unused;
    s_peek_name(stall.held, name, sizeof(name));
    begin_line("loomlet: tasklet ");
    put(name);
    put(" has held the core for ");
    put_number(tenths / 10);
    put(".");
    put_number(tenths % 10);
    put(" s, and others wait (");
    put_number((uint64_t)stall.waiting);
    put("): ");
    if (count == 0)
        put("?\n");
    for (int i = 0; i < count && i < CALLERS; i++) {
        put(i ? "  called at " : "");
        put_place(&places[i]);
    }
}

int s_dump_stall(int fd, const s_sched *s, const s_tasklet *held, int64_t nanoseconds)
{
    out.fd = fd;
    here.s = s;
    stall.held = held;
    stall.now = p_now();
    stall.nanoseconds = nanoseconds;
    if (!runs(s, held) || p_copy_try(count_waiting, NULL) < 0 || stall.waiting == 0)
        return 1;
    if (p_copy_try(put_stall, NULL) < 0)
        put("\n");
    flush();
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

void s_dump(int fd, int64_t asked_at)
{
    int whole = 1;
    int64_t now = p_now();
    out.fd = fd;
    here.now = s_tick_of(now);
    begin_line("loomlet-dump\t1\nP");
    field((uint64_t)p_parent_id());
    field((uint64_t)(now - asked_at));
    end_line();
    for (const s_sched *s = s_first(); s != NULL; s = s->next) {
        if (!s->ended && tell_scheduler(s) < 0)
            whole = 0;
    }
    begin_line(whole ? "E\tok" : "E\tpartial");
    end_line();
    flush();
}
