/* See frame.h. */
#include "http/frame.h"

#include <string.h>

#include "http/utf8.h"

#define FINAL 0x80
#define COMPRESSED 0x40 /* the first reserved bit */
#define RESERVED 0x30
#define MASKED 0x80

enum { CONTINUATION = 0, TEXT = 1, BYTES = 2, CLOSE = 8, PONG = 10 };

/* A frame of so many bytes is kept here until all of it has come; a longer one is handed on. */
#define MOST_KEPT 65536

/* How many bytes a payload is checked at once. */
#define CHECKED 512

typedef struct {
    unsigned first, second, opcode;
    uint64_t payload;
    size_t head;
} frame_head;

enum { UNKNOWN, KNOWN, WRONG };

static uint64_t read_length(const char *at, int count)
{
    uint64_t number = 0;
    for (int i = 0; i < count; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

/* What no client may send, as far as the first two bytes show it.  The other reader says what that
 * means. */
static int is_mistake(const t_frames *frames, const frame_head *found)
{
    unsigned first = found->first;
    if (!(found->second & MASKED) || first & RESERVED)
        return 1;
    if (found->opcode >= CLOSE)
        return found->opcode > PONG || (found->second & 0x7f) > 125 || !(first & FINAL) ||
               first & COMPRESSED;
    if (found->opcode == CONTINUATION)
        return !frames->in_message || first & COMPRESSED;
    return found->opcode > BYTES || frames->in_message;
}

/* Whether a length is too large, or written in more bytes than it needs. */
static int is_wrong_length(const t_frames *frames, const frame_head *found, int bytes)
{
    if (bytes > 0 && (found->payload < (bytes == 2 ? 126 : 65536) || found->payload >> 63))
        return 1;
    return found->opcode < CLOSE && !(found->first & COMPRESSED) && found->payload > frames->most;
}

/* The head of a frame, or UNKNOWN while some of it is missing and nothing is WRONG with the rest.
 */
static int read_frame_head(const t_frames *frames, frame_head *found, const char *bytes,
                           size_t size)
{
    if (size < 2)
        return UNKNOWN;
    found->first = (unsigned char)bytes[0];
    found->second = (unsigned char)bytes[1];
    found->opcode = found->first & 15;
    if (is_mistake(frames, found))
        return WRONG;
    unsigned length = found->second & 0x7f;
    int more = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (size < 2 + (size_t)more)
        return UNKNOWN;
    found->payload = more == 0 ? length : read_length(bytes + 2, more);
    found->head = 2 + (size_t)more + 4;
    if (is_wrong_length(frames, found, more))
        return WRONG;
    return size < found->head ? UNKNOWN : KNOWN;
}

static int pass_bytes(t_frames *frames, size_t size, size_t *used)
{
    uint64_t count = frames->given_up || size < frames->passing ? size : frames->passing;
    frames->passing -= frames->given_up ? 0 : count;
    *used = (size_t)count;
    return T_FRAME_OTHER;
}

static int give_up(t_frames *frames, size_t size, size_t *used)
{
    frames->given_up = 1;
    return pass_bytes(frames, size, used);
}

/* Whether the text that has come of a frame can still become UTF-8. */
static int check_text(t_frames *frames, const t_frame *frame)
{
    while (frames->checked < frame->payload.size && frames->utf8 != T_UTF8_WRONG) {
        char part[CHECKED];
        t_frame next = *frame;
        size_t left = frame->payload.size - frames->checked;
        next.payload =
            (t_text){frame->payload.at + frames->checked, left < CHECKED ? left : CHECKED};
        for (unsigned i = 0; i < 4; i++)
            next.mask[i] = frame->mask[(frames->checked + i) % 4];
        t_unmask(part, &next);
        frames->utf8 = t_check_utf8(frames->utf8, part, next.payload.size);
        frames->checked += (uint32_t)next.payload.size;
    }
    return frames->utf8 != T_UTF8_WRONG;
}

/* A frame whose payload is a whole message. */
static int read_message(t_frames *frames, const frame_head *found, const char *bytes, size_t size,
                        size_t *used, t_frame *frame)
{
    size_t come = size - found->head;
    memcpy(frame->mask, bytes + found->head - 4, 4);
    frame->payload = (t_text){bytes + found->head, come};
    if (come < found->payload) {
        if (found->opcode == TEXT && !check_text(frames, frame))
            return give_up(frames, size, used);
        return T_FRAME_PART;
    }
    frames->checked = 0;
    frames->utf8 = T_UTF8_WHOLE;
    frame->payload.size = (size_t)found->payload;
    *used = found->head + frame->payload.size;
    return found->opcode == TEXT ? T_FRAME_TEXT : T_FRAME_BYTES;
}

int t_next_frame(t_frames *frames, const char *bytes, size_t size, size_t *used, t_frame *frame)
{
    frame_head found;
    *used = 0;
    if (frames->given_up || frames->passing > 0)
        return pass_bytes(frames, size, used);
    int known = read_frame_head(frames, &found, bytes, size);
    if (known == UNKNOWN)
        return T_FRAME_PART;
    if (known == WRONG || found.opcode == CLOSE)
        return give_up(frames, size, used);
    if (found.first == (FINAL | TEXT) || found.first == (FINAL | BYTES)) {
        if (found.payload <= MOST_KEPT || size - found.head >= found.payload)
            return read_message(frames, &found, bytes, size, used, frame);
    } else if (found.opcode < CLOSE) {
        frames->in_message = !(found.first & FINAL);
    }
    frames->passing = found.head + found.payload;
    return pass_bytes(frames, size, used);
}

void t_unmask(char *to, const t_frame *frame)
{
    const char *from = frame->payload.at;
    size_t size = frame->payload.size, i = 0;
    uint32_t half;
    memcpy(&half, frame->mask, 4);
    uint64_t whole = (uint64_t)half << 32 | half;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, from + i, 8);
        word ^= whole;
        memcpy(to + i, &word, 8);
    }
    for (; i < size; i++)
        to[i] = (char)(from[i] ^ frame->mask[i % 4]);
}

size_t t_write_frame_head(char to[T_FRAME_HEAD], int is_text, uint64_t size)
{
    int more = size < 126 ? 0 : size < 65536 ? 2 : 8;
    to[0] = (char)(FINAL | (is_text ? TEXT : BYTES));
    to[1] = (char)(more == 0 ? size : more == 2 ? 126 : 127);
    for (int i = 0; i < more; i++)
        to[2 + i] = (char)(size >> (8 * (more - 1 - i)));
    return 2 + (size_t)more;
}
