/* Conditional requests and ranges.  See choice.h.
 *
 * A condition that cannot be read counts as not sent, if it is a date, and as one that nothing
 * fulfils, if it is a tag.  Ranges that cannot be read are ignored, and so are those of a client
 * that asks for more bytes, or in more pieces, than the whole has: that is no resumed download but
 * a way to make a server work.
 */
#include "http/choice.h"

#include <string.h>

#include "http/chars.h"
#include "http/date.h"

/* A field that has one value: 1, 0 when it is not there, or -1 when it is there more than once:
 * then it is a list, which cannot be read. */
static int find_value(const t_head *head, const char *bytes, const char *name, t_text *value)
{
    int at = t_find_field(head, bytes, name, 0);
    if (at < 0)
        return 0;
    *value = t_text_of(bytes, head->fields[at].value);
    return t_find_field(head, bytes, name, (unsigned)(at + 1)) < 0 ? 1 : -1;
}

/* ---- tags ---------------------------------------------------------------------------------- */

static const char *skip_separators(const char *at, const char *end)
{
    while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Whether the list holds the tag; `weak`: W/ in front of one of them does not matter. */
static int holds_tag(t_text list, t_text tag, int weak)
{
    const char *at = list.at, *end = at + list.size;
    if (list.size == 1 && *at == '*')
        return 1;
    while ((at = skip_separators(at, end)) < end) {
        int is_weak = end - at > 2 && at[0] == 'W' && at[1] == '/';
        at += is_weak ? 2 : 0;
        const char *close =
            end - at > 1 && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
        if (close == NULL)
            return 0;
        size_t size = (size_t)(close + 1 - at);
        if ((weak || !is_weak) && size == tag.size && memcmp(at, tag.at, size) == 0)
            return 1;
        at = close + 1;
    }
    return 0;
}

/* Any of the fields of that name: 1, 0, or -1 when there is none. */
static int any_holds_tag(const t_head *head, const char *bytes, const char *name, t_text tag,
                         int weak)
{
    int found = -1, at = -1;
    while (found != 1 && (at = t_find_field(head, bytes, name, (unsigned)(at + 1))) >= 0)
        found = holds_tag(t_text_of(bytes, head->fields[at].value), tag, weak);
    return found;
}

/* ---- conditions ---------------------------------------------------------------------------- */

static int is_reading(const t_head *head)
{
    return head->method_known == T_GET || head->method_known == T_HEAD_ONLY;
}

/* 1: not modified since the date of that field; 0: it was; -1: no such date. */
static int is_unmodified(const t_head *head, const char *bytes, const char *name,
                         const t_entity *entity, int64_t now)
{
    t_text value;
    int64_t since;
    if (find_value(head, bytes, name, &value) <= 0 || !t_read_date(value, now, &since))
        return -1;
    return entity->modified <= since;
}

/* 0: no condition is against it; or the status. */
static int judge_conditions(const t_head *head, const char *bytes, const t_entity *entity,
                            int64_t now)
{
    int match = any_holds_tag(head, bytes, "if-match", entity->tag, 0);
    if (match < 0)
        match = is_unmodified(head, bytes, "if-unmodified-since", entity, now);
    if (match == 0)
        return 412;
    int none_match = any_holds_tag(head, bytes, "if-none-match", entity->tag, 1);
    if (none_match == 1)
        return is_reading(head) ? 304 : 412;
    if (none_match < 0 && is_reading(head) &&
        is_unmodified(head, bytes, "if-modified-since", entity, now) == 1)
        return 304;
    return 0;
}

/* ---- ranges -------------------------------------------------------------------------------- */

/* Digits from *at on: a number, at most the largest; -1: there are none. */
static int64_t read_position(const char **at, const char *end)
{
    size_t digits = t_run(T_DIGIT, *at, end);
    int64_t number = 0;
    for (size_t i = 0; i < digits; i++)
        number = number > (INT64_MAX - 9) / 10 ? INT64_MAX : number * 10 + ((*at)[i] - '0');
    *at += digits;
    return digits > 0 ? number : -1;
}

/* first-last, first- or -count: 1 with a range, 0 for one beyond the end, -1 for no range.  The
 * last bytes of what is empty are there, but no answer can name them: no range. */
static int read_range(const char **at, const char *end, int64_t size, t_range *range)
{
    int64_t first = read_position(at, end);
    if (*at == end || **at != '-')
        return -1;
    ++*at;
    int64_t last = read_position(at, end);
    if ((first < 0 && last < 0) || (first >= 0 && last >= 0 && last < first))
        return -1;
    if (first < 0 && last > 0 && size == 0)
        return -1;
    if (first < 0) {
        range->size = last < size ? last : size;
        range->from = size - range->size;
        return range->size > 0;
    }
    if (first >= size)
        return 0;
    range->from = first;
    range->size = (last < 0 || last >= size ? size - 1 : last) - first + 1;
    return 1;
}

/* What a Range field asks for: 206, 416, or 200 when it is ignored. */
static int read_ranges(t_text value, int64_t size, t_choice *choice)
{
    static const char unit[] = "bytes=";
    const size_t skip = sizeof(unit) - 1;
    int64_t sum = 0;
    int asked = 0;
    if (value.size < skip || !t_equals(value.at, skip, unit))
        return 200;
    const char *at = value.at + skip, *end = value.at + value.size;
    for (choice->count = 0; (at = skip_separators(at, end)) < end;) {
        t_range range;
        int found = read_range(&at, end, size, &range);
        if (found < 0 || (at < end && *at != ',' && *at != ' ' && *at != '\t'))
            return 200;
        asked = 1;
        if (found == 0)
            continue;
        sum += range.size;
        if (choice->count == T_MOST_RANGES || sum > size)
            return 200;
        choice->ranges[choice->count++] = range;
    }
    return choice->count > 0 ? 206 : asked ? 416 : 200;
}

/* Whether If-Range lets a range be asked for: the same tag, or exactly the same date. */
static int allows_range(const t_head *head, const char *bytes, const t_entity *entity, int64_t now)
{
    t_text value;
    int64_t date;
    int found = find_value(head, bytes, "if-range", &value);
    if (found <= 0)
        return found == 0;
    if (value.size > 0 && value.at[0] == '"')
        return value.size == entity->tag.size && memcmp(value.at, entity->tag.at, value.size) == 0;
    return t_read_date(value, now, &date) && date == entity->modified;
}

void t_choose(const t_head *head, const char *bytes, const t_entity *entity, int64_t now,
              t_choice *choice)
{
    t_text value;
    choice->count = 0;
    choice->status = judge_conditions(head, bytes, entity, now);
    if (choice->status != 0)
        return;
    choice->status = 200;
    if (head->method_known == T_GET && find_value(head, bytes, "range", &value) > 0 &&
        allows_range(head, bytes, entity, now))
        choice->status = read_ranges(value, entity->size, choice);
}
