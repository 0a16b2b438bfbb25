/* Text written by a copy of the process: see text.h. */
#include "debug/text.h"

#define LINE 32768 /* no line is longer */
#define MOST_READY 100000000

static struct {
    int fd, broken;
    size_t used, line;
    char text[4 * LINE];
} out;

void d_begin_text(int fd)
{
    out.fd = fd;
    out.used = out.line = 0;
    out.broken = 0;
}

void d_flush_text(void)
{
    out.broken |= p_process_copy_write(out.fd, out.text, out.used) < 0;
    out.used = 0;
}

int d_text_is_broken(void)
{
    return out.broken;
}

void d_begin_line(const char *kind)
{
    if (out.used > sizeof(out.text) - LINE)
        d_flush_text();
    out.line = out.used;
    d_put(kind);
}

void d_drop_line(void)
{
    out.used = out.line;
}

void d_end_line(void)
{
    d_put("\n");
    out.line = out.used;
}

void d_put(const char *text)
{
    while (*text != '\0' && out.used < sizeof(out.text) - 1)
        out.text[out.used++] = *text++;
}

void d_put_number(uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    for (*at = '\0'; number >= 10; number /= 10)
        *--at = (char)('0' + number % 10);
    *--at = (char)('0' + number);
    d_put(at);
}

void d_put_text(PyObject *text)
{
    char words[D_NAME];
    c_peek_text(text, words, sizeof(words));
    d_put(words);
}

void d_put_field(uint64_t number)
{
    d_put("\t");
    d_put_number(number);
}

int d_is_running(const s_sched *s, const s_tasklet *t)
{
    return s->current == t && t != s->idler && t->state == S_RUNNING;
}

int d_frames_of(const s_sched *s, const s_tasklet *t, c_location *found, int *more)
{
    *more = 0;
    if (d_is_running(s, t))
        return c_peek_frames(s->ts, &t->c, found, D_FRAMES, more);
    if (!t->started || (t->saved_as == S_LIVE && t->state != S_BLOCKED))
        return 0;
    return c_peek_frames(NULL, &t->c, found, D_FRAMES, more);
}

long d_count_list(const b_link *list)
{
    long length = 0;
    for (const b_link *at = list->next; at != NULL && at != list; at = at->next) {
        if (++length > MOST_READY)
            break;
    }
    return length;
}

long d_count_ready(const s_sched *s)
{
    return d_count_list(&s->ready);
}
