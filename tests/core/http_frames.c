/* http/: frames of a WebSocket: which are read here, which are handed on, and that nothing is lost
 * on the way; texts that come in parts. */
#include <string.h>

#include "http/frame.h"
#include "http/utf8.h"
#include "runner.h"

#define MOST 1000
#define ROOM 300000

typedef struct {
    char bytes[ROOM];
    size_t size;
} text;

/* ---- frames -------------------------------------------------------------------------------- */

static void put_frame(text *to, unsigned first, size_t size)
{
    int more = size < 126 ? 0 : size < 65536 ? 2 : 8;
    to->bytes[to->size++] = (char)first;
    to->bytes[to->size++] = (char)(0x80 | (more == 0 ? size : more == 2 ? 126 : 127));
    for (int i = more; i > 0; i--)
        to->bytes[to->size++] = (char)((uint64_t)size >> (8 * (i - 1)));
    for (size_t i = 0; i < size + 4; i++)
        to->bytes[to->size++] = (char)(i < 4 ? "\1\2\3\4"[i] : (int)('a' ^ "\1\2\3\4"[i % 4]));
}

/* What has been read so far: `T` and `B` for messages, and the bytes that were handed on. */
typedef struct {
    char kinds[64];
    size_t messages;
    text other;
} result;

static void read_part(t_frames *frames, text *kept, result *found)
{
    size_t at = 0, used = 0;
    for (int kind = -1; at < kept->size && kind != T_FRAME_PART; at += used) {
        t_frame frame;
        kind = t_next_frame(frames, kept->bytes + at, kept->size - at, &used, &frame);
        CHECK(kind == T_FRAME_PART ? used == 0 : used > 0);
        if (kind == T_FRAME_TEXT || kind == T_FRAME_BYTES) {
            static char clear[ROOM];
            t_unmask(clear, &frame);
            for (size_t i = 0; i < frame.payload.size; i++)
                CHECK(clear[i] == 'a');
            found->kinds[found->messages++] = kind == T_FRAME_TEXT ? 'T' : 'B';
        } else if (kind == T_FRAME_OTHER) {
            memcpy(found->other.bytes + found->other.size, kept->bytes + at, used);
            found->other.size += used;
        }
    }
    memmove(kept->bytes, kept->bytes + at, kept->size - at);
    kept->size -= at;
}

/* Reads them in pieces of so many bytes; returns how many are still kept. */
static size_t read_pieces(const text *from, size_t piece, uint64_t most, result *found)
{
    static text kept;
    t_frames frames = {.most = most};
    kept.size = 0;
    *found = (result){.messages = 0};
    for (size_t at = 0; at < from->size; at += piece) {
        size_t left = from->size - at, count = piece < left ? piece : left;
        memcpy(kept.bytes + kept.size, from->bytes + at, count);
        kept.size += count;
        read_part(&frames, &kept, found);
    }
    return kept.size;
}

static int is_found(const result *found, const char *kinds, const text *other)
{
    return found->messages == strlen(kinds) && memcmp(found->kinds, kinds, strlen(kinds)) == 0 &&
           found->other.size == other->size &&
           memcmp(found->other.bytes, other->bytes, other->size) == 0;
}

TEST(whole_messages_are_read_however_they_come)
{
    static text frames, other;
    static result found;
    static const size_t sizes[] = {0, 1, 3, 4, 5, 7, 8, 9, 125, 126, 127, 999, 1000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        put_frame(&frames, i % 2 ? 0x82 : 0x81, sizes[i]);
    for (size_t piece = 1; piece < 200; piece++) {
        CHECK(read_pieces(&frames, piece, MOST, &found) == 0);
        CHECK(is_found(&found, "TBTBTBTBTBTBT", &other));
    }
}

TEST(long_messages_are_read_when_they_come_whole)
{
    static text frames, last, none;
    static result found;
    put_frame(&frames, 0x82, 65535);
    put_frame(&frames, 0x81, 65536);
    put_frame(&frames, 0x82, 70000);
    put_frame(&last, 0x82, 70000);
    CHECK(read_pieces(&frames, ROOM, ROOM, &found) == 0 && is_found(&found, "BTB", &none));
    CHECK(read_pieces(&frames, 30000, ROOM, &found) == 0 && is_found(&found, "BT", &last));
}

TEST(other_frames_are_handed_on_as_they_are)
{
    static text frames, other;
    static result found;
    static const unsigned kinds[] = {0x89, 0x8a, 0x01, 0x00, 0x89, 0x80, 0xc1, 0x42, 0x80};
    put_frame(&frames, 0x81, 5);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        put_frame(&frames, kinds[i], 7 * i);
        put_frame(&other, kinds[i], 7 * i);
        if (i == 0 || i == 5)
            put_frame(&frames, 0x82, 9);
    }
    put_frame(&frames, 0x81, 5);
    for (size_t piece = 1; piece < 100; piece++) {
        CHECK(read_pieces(&frames, piece, MOST, &found) == 0);
        CHECK(is_found(&found, "TBBT", &other));
    }
}

/* From a frame that may not come on, and behind a goodbye, everything is handed on. */
static void check_given_up(const char *head, size_t size)
{
    static text frames, other;
    static result found;
    frames.size = other.size = 0;
    put_frame(&frames, 0x82, 3);
    text *both[] = {&frames, &other};
    for (size_t i = 0; i < 2; i++) {
        memcpy(both[i]->bytes + both[i]->size, head, size);
        both[i]->size += size;
        put_frame(both[i], 0x81, 4);
    }
    for (size_t piece = 1; piece < 20; piece++) {
        CHECK(read_pieces(&frames, piece, MOST, &found) == 0);
        CHECK(is_found(&found, "B", &other));
    }
}

TEST(after_a_mistake_everything_is_handed_on)
{
    static const char *const heads[] = {
        "\x81\1x",  "\x83\x80", "\x91\x80", "\xa1\x80", "\xc0\x80",       "\xc9\x80", "\x8b\x80",
        "\x80\x80", "\x09\x80", "\x88\x80", "\x89\xfe", "\x81\xfe\3\xe9", "\xff\xff",
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        check_given_up(heads[i], strlen(heads[i]));
    check_given_up("\x82\xfe\0\x7d", 4);
    check_given_up("\x82\xff\0\0\0\0\0\0\xff\xff", 10);
    check_given_up("\x82\xff\x80\0\0\0\0\0\0\0", 10);
    check_given_up("\x01\x80zzzz\x81\x80zzzz", 12);
    check_given_up("\x81\xfe\3\xe8zzzz\x85", 9); /* no text, although more of it is to come */
}

TEST(heads_are_as_short_as_they_can_be)
{
    static const struct {
        uint64_t size;
        size_t head;
        const char *bytes;
    } cases[] = {{0, 2, "\x82\0"},
                 {125, 2, "\x82\x7d"},
                 {126, 4, "\x82\x7e\0\x7e"},
                 {65535, 4, "\x82\x7e\xff\xff"},
                 {65536, 10, "\x82\x7f\0\0\0\0\0\1\0\0"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char head[T_FRAME_HEAD];
        CHECK(t_write_frame_head(head, 0, cases[i].size) == cases[i].head);
        CHECK(memcmp(head, cases[i].bytes, cases[i].head) == 0);
        CHECK(t_write_frame_head(head, 1, cases[i].size) == cases[i].head && head[0] == '\x81');
    }
}

/* ---- UTF-8 --------------------------------------------------------------------------------- */

static int write_character(char *to, uint32_t code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    for (int i = more; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(first[more] | code);
    return more + 1;
}

TEST(every_character_is_utf8_and_no_surrogate)
{
    for (uint32_t code = 0; code < 0x112000; code++) {
        char bytes[4];
        int size = write_character(bytes, code), right = code < 0x110000 && code >> 11 != 0x1b;
        unsigned char end = T_UTF8_WHOLE;
        for (int i = 0; i < size; i++) {
            CHECK(i == 0 || !right || (end != T_UTF8_WHOLE && end != T_UTF8_WRONG));
            end = t_check_utf8(end, bytes + i, 1);
        }
        CHECK(end == (right ? T_UTF8_WHOLE : T_UTF8_WRONG));
    }
}

TEST(texts_that_are_not_utf8)
{
    static const char *const bad[] = {"\x80",     "\xff",         "\xc0\x80",     "\xc1\xbf",
                                      "\xe0\x9f", "\xed\xa0",     "\xf0\x8f",     "\xf4\x90",
                                      "\xf5",     "a\xc3\x28",    "\xe2\x82\x28", "\xf0\x9f\x98 ",
                                      "\xc3\xc3", "\xe2\x82\xe2", "\xc3\xa9\x80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(t_check_utf8(T_UTF8_WHOLE, bad[i], strlen(bad[i])) == T_UTF8_WRONG);
    CHECK(t_check_utf8(T_UTF8_WRONG, "a", 1) == T_UTF8_WRONG);
}
