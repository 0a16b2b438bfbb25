/* Content codings that a client takes.  See coding.h.
 *
 * Which of those it takes it likes better does not matter: the server knows which is smallest.  A
 * coding that is named by itself is not meant by the star.  What cannot be read names nothing.
 */
#include "http/coding.h"

#include "http/chars.h"

static unsigned coding_of(const char *at, size_t size)
{
    if (t_equals(at, size, "gzip") || t_equals(at, size, "x-gzip"))
        return T_GZIP;
    if (t_equals(at, size, "br"))
        return T_BROTLI;
    if (t_equals(at, size, "zstd"))
        return T_ZSTD;
    return size == 1 && *at == '*' ? T_CODINGS : 0;
}

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Whether the parameters in front of the next comma are a weight of zero. */
static int is_refused(const char *at, const char *end)
{
    at = skip_spaces(at, end);
    if (at == end || *at != ';')
        return 0;
    at = skip_spaces(at + 1, end);
    if (end - at < 3 || t_lower(at[0]) != 'q' || at[1] != '=' || at[2] != '0')
        return 0;
    for (at += 3; at < end && (*at == '.' || *at == '0'); at++)
        continue;
    return skip_spaces(at, end) == end;
}

typedef struct {
    unsigned named, taken, others; /* others: what the star stands for */
} t_codings;

static void read_list(const char *at, const char *end, t_codings *wishes)
{
    while (at < end) {
        const char *next = at;
        while (next < end && *next != ',')
            next++;
        at = skip_spaces(at, next);
        size_t size = t_run(T_TOKEN, at, next);
        unsigned coding = coding_of(at, size), taken = is_refused(at + size, next) ? 0 : coding;
        if (coding == T_CODINGS) {
            wishes->others = taken;
        } else {
            wishes->named |= coding;
            wishes->taken |= taken;
        }
        at = next + 1;
    }
}

unsigned t_accepted_codings(const t_head *head, const char *bytes)
{
    t_codings wishes = {0};
    int at = -1;
    while ((at = t_find_field(head, bytes, "accept-encoding", (unsigned)(at + 1))) >= 0) {
        t_text list = t_text_of(bytes, head->fields[at].value);
        read_list(list.at, list.at + list.size, &wishes);
    }
    return wishes.taken | (wishes.others & ~wishes.named);
}
