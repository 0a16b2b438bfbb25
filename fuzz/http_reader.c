/* Reads requests with the HTTP engine and prints what it has read, for fuzz/requests.py.
 *
 * Standard input: a size and a step (four bytes each, little-endian) and so many bytes, as often as
 * wanted; they are read as if they came in pieces of the step.  Output for each, in hexadecimal
 * digits where it is data:
 *
 *   request METHOD TARGET MINOR     field NAME VALUE     data BYTES     end
 *                                   (MINOR: the last digit of the version, as it was sent)
 *   stop CODE                       T_MORE, T_HTTP2, or minus a status; the last line
 */
#include <stdio.h>
#include <stdlib.h>

#include "http/http.h"

static void print_hex(const char *word, const char *at, size_t size)
{
    printf("%s", word);
    for (size_t i = 0; i < size; i++)
        printf("%02x", (unsigned char)at[i]);
}

static void print_head(const t_head *head, const char *bytes)
{
    print_hex("request ", bytes + head->method.at, head->method.size);
    print_hex(" ", bytes + head->target.at, head->target.size);
    printf(" %c\n", bytes[head->target.at + head->target.size + sizeof("HTTP/1.")]);
    for (unsigned i = 0; i < head->count; i++) {
        print_hex("field ", bytes + head->fields[i].name.at, head->fields[i].name.size);
        print_hex(" ", bytes + head->fields[i].value.at, head->fields[i].value.size);
        printf("\n");
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* T_HEAD, T_HTTP2, T_MORE or minus a status. */
static int read_head(t_head *head, const char *bytes, size_t size, size_t step)
{
    int code = T_MORE;
    t_begin_head(head);
    for (size_t end = 0; code == T_MORE && end < size;) {
        end = least(end + step, size);
        code = t_read_head(head, bytes, end);
    }
    return code;
}

/* T_END, T_MORE or minus a status. */
static int print_body(const t_head *head, const char *bytes, size_t size, size_t step, size_t *used)
{
    t_body body;
    t_text part;
    size_t count;
    int event = T_MORE;
    *used = 0;
    t_begin_body(&body, head, 1 << 20);
    do {
        event = t_read_body(&body, bytes + *used, least(size - *used, step), &count, &part);
        *used += count;
        if (event == T_DATA) {
            print_hex("data ", part.at, part.size);
            printf("\n");
        }
    } while (event == T_DATA || event == T_TRAILER || (event == T_MORE && *used < size));
    if (event < 0 && t_read_body(&body, bytes, size, &count, &part) != event)
        abort(); /* what was refused stays refused */
    return event;
}

static void print_requests(const char *bytes, size_t size, size_t step)
{
    int code = T_HEAD;
    while (code == T_HEAD) {
        t_head head;
        size_t used;
        code = read_head(&head, bytes, size, step);
        if (code != T_HEAD)
            break;
        print_head(&head, bytes);
        bytes += head.size, size -= head.size;
        code = print_body(&head, bytes, size, step, &used);
        bytes += used, size -= used;
        if (code != T_END)
            break;
        printf("end\n");
        code = head.keeps_alive ? T_HEAD : T_END;
    }
    printf("stop %d\n\n", code);
    fflush(stdout);
}

static size_t number_of(const unsigned char *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (size_t)at[3] << 24;
}

int main(void)
{
    unsigned char head[8];
    while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
        size_t size = number_of(head), step = number_of(head + 4);
        char *bytes = malloc(size + 1); /* exactly so many, for the address sanitizer */
        if (bytes == NULL || fread(bytes, 1, size, stdin) != size)
            return 1;
        print_requests(bytes, size, step);
        free(bytes);
    }
    return 0;
}
