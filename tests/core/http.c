/* http/: requests are read the same in one piece and in many, and what is not right is refused. */
#include <string.h>

#include "http/answer.h"
#include "http/chars.h"
#include "runner.h"

#define HOST "Host: a\r\n"

/* ---- heads --------------------------------------------------------------------------------- */

/* Reads a head that arrives in pieces of so many bytes. */
static int read_pieces(t_head *head, const char *bytes, size_t size, size_t piece)
{
    int code = T_MORE;
    t_begin_head(head);
    for (size_t end = piece; code == T_MORE && end < size + piece; end += piece)
        code = t_read_head(head, bytes, end < size ? end : size);
    return code;
}

static int read_text(t_head *head, const char *text)
{
    const size_t size = strlen(text);
    int code = read_pieces(head, text, size, size);
    for (size_t piece = 1; piece < size && piece < 40; piece++) {
        t_head other;
        CHECK(read_pieces(&other, text, size, piece) == code);
        CHECK(code < 0 || memcmp(&other.method, &head->method, 6 * sizeof(t_span)) == 0);
        CHECK(other.count == head->count || code < 0);
    }
    return code;
}

static int is_text(const char *bytes, t_span span, const char *text)
{
    return span.size == strlen(text) && memcmp(bytes + span.at, text, span.size) == 0;
}

TEST(a_head_is_spans_of_what_arrived)
{
    static const char text[] = "POST /a/b?c=d HTTP/1.1\r\nHost: example.org:80\r\nX-Empty:\r\n"
                               "Content-Length: 12\r\nX-Blank: \t a b \t \r\n\r\nbody";
    t_head head;
    CHECK(read_text(&head, text) == T_HEAD);
    CHECK(is_text(text, head.method, "POST") && head.method_known == T_POST);
    CHECK(is_text(text, head.path, "/a/b") && is_text(text, head.query, "c=d"));
    CHECK(is_text(text, head.host, "example.org:80"));
    CHECK(head.count == 4 && head.minor == 1 && head.keeps_alive);
    CHECK(is_text(text, head.fields[1].value, "") && is_text(text, head.fields[3].value, "a b"));
    CHECK(head.framing == T_LENGTH && head.length == 12);
    CHECK(strcmp(text + head.size, "body") == 0);
    CHECK(t_find_field(&head, text, "x-blank", 0) == 3 && t_find_field(&head, text, "y", 0) == -1);
}

/* What comes of a head: T_HEAD, T_HTTP2, T_MORE, or minus a status. */
static const struct {
    int code;
    const char *text;
} heads[] = {
    {T_HEAD, "GET / HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "\r\nGET / HTTP/1.1\r\n" HOST "\r\n"},
    {-400, "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "GET / HTTP/1.0\r\n\r\n"},
    {T_HEAD, "GET / HTTP/1.7\r\n" HOST "\r\n"},
    {-400, "M-SEARCH * HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "GET http://b/c?d HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "GET https://b/c?d HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "GET HTTP://[::1]:8080 HTTP/1.1\r\n" HOST "\r\n"},
    {T_HEAD, "GET /%zz|^`{} HTTP/1.1\r\n" HOST "\r\n"},
    {T_MORE, "GET / HTTP/1.1\r\n" HOST},
    {T_MORE, "GET / HT"},
    {T_MORE, ""},
    {T_HTTP2, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    /* the request line */
    {-400, " GET / HTTP/1.1\r\n"},
    {-400, "GET  / HTTP/1.1\r\n"},
    {-400, "GET /  HTTP/1.1\r\n"},
    {-400, "GET / HTTP/1.1 \r\n"},
    {-400, "GET /\r\n"},
    {-400, "GET\r\n"},
    {-400, "GET / http/1.1\r\n"},
    {-400, "GET / HTTP/1.11\r\n"},
    {-400, "GET / HTTP/1\r\n"},
    {-400, "GET / HTTX/1.1\r\n"},
    {-505, "GET / HTTP/2.0\r\n"},
    {-505, "GET / HTTP/0.9\r\n"},
    {-400, "GET\t/ HTTP/1.1\r\n"},
    {-400, "G(T / HTTP/1.1\r\n"},
    {-400, "GET /\x01 HTTP/1.1\r\n"},
    {-400, "GET /\x80 HTTP/1.1\r\n"},
    {-400, "GET /a#b HTTP/1.1\r\n"},
    {-400, "GET a HTTP/1.1\r\n"},
    {-400, "GET * HTTP/1.1\r\n"},
    {-400, "GET ftp://a/ HTTP/1.1\r\n"},
    {-400, "GET http:///a HTTP/1.1\r\n"},
    {-400, "GET http://u@a/ HTTP/1.1\r\n"},
    {-400, "GET http://:80/ HTTP/1.1\r\n"},
    {-400, "GET https://u@a/ HTTP/1.1\r\n"},
    {-501, "CONNECT a:80 HTTP/1.1\r\n"},
    {-400, "\x16\x03\x01"},
    {-400, "GET / HTTP/1.1\n" HOST "\n"},
    {-400, "GET / HTTP/1.1\r\r\n"},
    {-400, "GET /\rx HTTP/1.1\r\n"},
    /* fields */
    {-400, "GET / HTTP/1.1\r\n Host: a\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X : a\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST ": a\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X[]: a\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X: a\x01\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X: a\x7f\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "X: a\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "\n"},
    {T_HEAD, "GET / HTTP/1.1\r\n" HOST "X: \xc3\xa9\r\n\r\n"},
    /* hosts */
    {-400, "GET / HTTP/1.1\r\n\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "host: a\r\n"},
    {-400, "GET / HTTP/1.0\r\n" HOST "host: a\r\n"},
    {-400, "GET http://b/ HTTP/1.1\r\n\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: a b\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: a/b\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: a:b\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: a:123456\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: [::1\r\n"},
    {-400, "GET / HTTP/1.1\r\nHost: u@a\r\n"},
    {T_HEAD, "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
    {T_HEAD, "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"},
    {T_HEAD, "GET / HTTP/1.1\r\nHost: a:\r\n\r\n"},
    /* framing */
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1_0\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n"},
    {-413, "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"},
    {-400, "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n"},
    {-400,
     "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, gzip\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n"},
    {-400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n"},
    {-501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n"},
    {T_HEAD, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: CHUNKED\r\n\r\n"},
    {-417, "POST / HTTP/1.1\r\n" HOST "Expect: something\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "Connection: (\r\n"},
    {-400, "GET / HTTP/1.1\r\n" HOST "Connection: x close\r\n"},
};

TEST(heads_that_are_read_and_refused)
{
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        t_head head;
        int code = read_text(&head, heads[i].text);
        if (code != heads[i].code)
            fprintf(stderr, "%d instead of %d: %s\n", code, heads[i].code, heads[i].text);
        CHECK(code == heads[i].code);
    }
}

TEST(a_connection_that_stays_open)
{
    static const struct {
        int stays;
        const char *text;
    } cases[] = {
        {1, "GET / HTTP/1.1\r\n" HOST "\r\n"},
        {0, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"},
        {0, "GET / HTTP/1.1\r\n" HOST "Connection: x, CLOSE\r\n\r\n"},
        {0, "GET / HTTP/1.1\r\n" HOST "Connection: x\r\nConnection: close\r\n\r\n"},
        {1, "GET / HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n"},
        {0, "GET / HTTP/1.0\r\n\r\n"},
        {1, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"},
        {0, "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t_head head;
        CHECK(read_text(&head, cases[i].text) == T_HEAD);
        CHECK(head.keeps_alive == cases[i].stays);
    }
}

TEST(the_host_of_an_absolute_target_counts)
{
    static const char text[] = "GET http://b:1/c?d HTTP/1.1\r\nHost: a\r\n\r\n";
    t_head head;
    CHECK(read_text(&head, text) == T_HEAD && is_text(text, head.host, "b:1"));
    CHECK(is_text(text, head.path, "/c") && is_text(text, head.query, "d"));
}

TEST(an_absolute_target_without_a_path_means_the_root)
{
    static const char *const texts[] = {"GET http://b HTTP/1.1\r\n" HOST "\r\n",
                                        "GET http://b?d HTTP/1.1\r\n" HOST "\r\n"};
    for (int i = 0; i < 2; i++) {
        t_head head;
        CHECK(read_text(&head, texts[i]) == T_HEAD && is_text(texts[i], head.path, "/"));
        CHECK(is_text(texts[i], head.host, "b") && is_text(texts[i], head.query, i ? "d" : ""));
    }
}

static int read_long(const char *line, char filler, size_t count)
{
    static char text[2 * T_MOST_HEAD];
    t_head head;
    size_t size = strlen(line);
    memcpy(text, line, size);
    memset(text + size, filler, count);
    t_begin_head(&head);
    return t_read_head(&head, text, size + count);
}

TEST(what_is_too_long)
{
    char fields[T_MOST_FIELDS * 8 + 100] = "GET / HTTP/1.1\r\n" HOST;
    t_head head;
    CHECK(read_long("GET /", 'a', 100) == T_MORE);
    CHECK(read_long("GET /", 'a', T_MOST_TARGET + 100) == -414);
    CHECK(read_long("", 'G', T_MOST_TARGET + 100) == -414);
    CHECK(read_long("GET / HTTP/1.1\r\nX: ", 'a', T_MOST_HEAD) == -431);
    for (int i = 0; i < T_MOST_FIELDS - 1; i++)
        strcat(fields, "X: a\r\n");
    CHECK(read_pieces(&head, fields, strlen(fields), strlen(fields)) == T_MORE);
    strcat(fields, "X: a\r\n");
    CHECK(read_pieces(&head, fields, strlen(fields), strlen(fields)) == -431);
}

/* ---- bodies -------------------------------------------------------------------------------- */

typedef struct {
    char data[256], trailers[256];
    size_t used;
    int code;
} body_read;

static void add(char *to, t_text part)
{
    size_t size = strlen(to);
    if (size + part.size < sizeof(((body_read *)0)->data))
        memcpy(to + size, part.at, part.size);
}

static body_read read_body(const char *text, t_framing framing, uint64_t length, size_t piece)
{
    t_head head = {.framing = (unsigned char)framing, .length = length};
    body_read found = {.code = T_MORE};
    t_body body;
    size_t size = strlen(text), used;
    t_text part;
    t_begin_body(&body, &head, 100);
    while (found.code >= 0 && found.code != T_END && found.used < size) {
        size_t left = size - found.used;
        found.code =
            t_read_body(&body, text + found.used, left < piece ? left : piece, &used, &part);
        if (found.code < 0)
            break;
        if (found.code == T_DATA)
            add(found.data, part);
        if (found.code == T_TRAILER)
            add(found.trailers, part);
        found.used += used;
    }
    if (found.code >= 0 && found.code != T_END)
        found.code = t_read_body(&body, "", 0, &used, &part);
    return found;
}

static const struct {
    int code;
    const char *text, *data, *trailers;
    size_t used;
} bodies[] = {
    {T_END, "5\r\nhello\r\n0\r\n\r\nGET", "hello", "", 15},
    {T_END, "5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n", "hello0123456789", "", 32},
    {T_END, "1;a=b;c=\"d\\\";\"\r\nx\r\n0\r\n\r\n", "x", "", 24},
    {T_END, "1 ; a\r\nx\r\n0;b\r\n\r\n", "x", "", 17},
    {T_END, "0\r\nA: b\r\nC: d\r\n\r\n", "", "A: b\r\nC: d\r\n", 17},
    {T_MORE, "5\r\nhel", "hel", "", 6},
    {-400, "\r\n", "", "", 0},
    {-400, "x\r\n", "", "", 0},
    {-400, "-1\r\n", "", "", 0},
    {-400, "0x1\r\n", "", "", 0},
    {-400, " 1\r\n", "", "", 0},
    {-400, "1 \r\nx", "", "", 0},
    {-400, "1\nx\r\n", "", "", 0},
    {-400, "1\r\nxx\r\n", "x", "", 0},
    {-400, "1\r\nx\n", "x", "", 0},
    {-400, "1\r\nx\rx", "x", "", 0},
    {-400, "1;a\n", "", "", 0},
    {-400, "1;a=\"\r\n", "", "", 0},
    {-400, "1;a=b/c\r\n", "", "", 0},
    {-400, "1;\xc3\r\n", "", "", 0},
    {-400, "0\r\n A: b\r\n\r\n", "", "", 0},
    {-400, "0\r\nA b\r\n\r\n", "", "", 0},
    {-400, "0\r\n: b\r\n\r\n", "", "", 0},
    {-400, "0\r\nA: b\n\r\n", "", "", 0},
    {-413, "fffffffffffffffff\r\n", "", "", 0},
    {-413, "65\r\n", "", "", 0},
    {T_MORE, "64\r\n", "", "", 4},
};

TEST(bodies_in_chunks)
{
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        for (size_t piece = 1; piece < 40; piece++) {
            body_read found = read_body(bodies[i].text, T_CHUNKED, 0, piece);
            int code = bodies[i].code;
            if (found.code != code)
                fprintf(stderr, "%d instead of %d: %s\n", found.code, code, bodies[i].text);
            CHECK(found.code == code);
            CHECK(code < 0 || strcmp(found.data, bodies[i].data) == 0);
            CHECK(code != T_END || strcmp(found.trailers, bodies[i].trailers) == 0);
            CHECK(code != T_END || found.used == bodies[i].used);
        }
    }
}

TEST(bodies_of_a_length)
{
    for (size_t piece = 1; piece < 10; piece++) {
        body_read found = read_body("hello", T_LENGTH, 5, piece);
        CHECK(found.code == T_END && strcmp(found.data, "hello") == 0 && found.used == 5);
        CHECK(read_body("hell", T_LENGTH, 5, piece).code == T_MORE);
    }
    CHECK(read_body("GET", T_NO_BODY, 0, 3).used == 0);
}

/* The end of a body stands behind what is refused, where who reads on would find it. */
TEST(a_body_that_was_refused_stays_refused)
{
    static const char text[] = "0\r\n\n\r\n\r\n";
    const t_head head = {.framing = T_CHUNKED};
    t_body body;
    size_t used;
    t_text part;
    t_begin_body(&body, &head, 100);
    CHECK(t_read_body(&body, text, strlen(text), &used, &part) == -400);
    CHECK(t_read_body(&body, "\r\n\r\n", 4, &used, &part) == -400 && used == 0);
    CHECK(t_read_body(&body, "", 0, &used, &part) == -400 && !t_body_is_over(&body));
}

TEST(what_is_beside_the_data_is_limited)
{
    static char text[40000] = "1;";
    memset(text + 2, 'a', sizeof(text) - 3);
    CHECK(read_body(text, T_CHUNKED, 0, 1000).code == -413);
    memcpy(text, "0\r\n", 3);
    CHECK(read_body(text, T_CHUNKED, 0, 1000).code == -431);
}

/* ---- answers ------------------------------------------------------------------------------- */

static t_text text_of(const char *string)
{
    return (t_text){string, strlen(string)};
}

static int is_written(const t_buffer *buffer, const char *text)
{
    return buffer->size == strlen(text) && memcmp(buffer->bytes, text, buffer->size) == 0;
}

#define DATE "Thu, 01 Jan 1970 00:00:00 GMT"
#define OURS "Date: " DATE "\r\nServer: loomlet\r\n"

TEST(an_answer_in_one_buffer)
{
    static const struct {
        const char *name, *value, *text;
        int minor, keeps_alive, status;
    } cases[] = {
        {"Content-Length", "2", "HTTP/1.1 200 OK\r\n" OURS "Content-Length: 2\r\n\r\n", 1, 1, 200},
        {"Content-Length", "2",
         "HTTP/1.1 200 OK\r\n" OURS "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n", 0, 1,
         200},
        {"X", "y", "HTTP/1.1 200 OK\r\nX: y\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n", 1, 1,
         200},
        {"X", "y", "HTTP/1.1 200 OK\r\nX: y\r\n" OURS "Connection: close\r\n\r\n", 0, 1, 200},
        {"Connection", "close",
         "HTTP/1.1 200 OK\r\n" OURS "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", 1, 1,
         200},
        {"Transfer-Encoding", "gzip", "HTTP/1.1 204 No Content\r\n" OURS "\r\n", 1, 1, 204},
        {"X", "y", "HTTP/1.1 205 Reset Content\r\nX: y\r\n" OURS "Content-Length: 0\r\n\r\n", 1, 1,
         205},
        {"Content-Length", "7", "HTTP/1.1 304 Not Modified\r\n" OURS "Content-Length: 7\r\n\r\n", 1,
         1, 304},
        {"Date", "x",
         "HTTP/1.1 299 \r\nDate: x\r\nServer: loomlet\r\nTransfer-Encoding: chunked\r\n\r\n", 1, 1,
         299},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t_buffer to = {NULL, 0, 0};
        t_answer answer;
        CHECK(t_begin_answer(&answer, &to, cases[i].status, text_of("")) == 0);
        CHECK(t_put_field(&answer, &to, text_of(cases[i].name), text_of(cases[i].value)) == 0);
        CHECK(t_end_fields(&answer, &to, cases[i].minor, cases[i].keeps_alive, DATE) == 0);
        if (!is_written(&to, cases[i].text))
            fprintf(stderr, "%.*s\ninstead of\n%s\n", (int)to.size, to.bytes, cases[i].text);
        CHECK(is_written(&to, cases[i].text));
        t_release(&to);
    }
}

TEST(fields_of_an_application_that_are_none)
{
    static const char *const bad[][2] = {{"", "a"},          {"a b", "c"},
                                         {"a", "b\r\nc: d"}, {"a", "b\n"},
                                         {"a:", "b"},        {"Content-Length", "x"},
                                         {"a", "\x7f"},      {"Content-Length", ""}};
    t_buffer to = {NULL, 0, 0};
    t_answer answer;
    CHECK(t_begin_answer(&answer, &to, 200, text_of("Fine\r\n")) == T_BAD_FIELD);
    CHECK(t_begin_answer(&answer, &to, 1000, text_of("")) == T_BAD_FIELD);
    CHECK(t_begin_answer(&answer, &to, 200, text_of("Fine")) == 0);
    size_t size = to.size;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(t_put_field(&answer, &to, text_of(bad[i][0]), text_of(bad[i][1])) == T_BAD_FIELD);
    CHECK(to.size == size);
    t_release(&to);
}

TEST(any_byte_at_any_place_of_a_value)
{
    t_buffer to = {NULL, 0, 0};
    t_answer answer;
    char value[20];
    for (size_t size = 1; size <= sizeof(value); size++)
        for (size_t place = 0; place < size; place++)
            for (int byte = 0; byte < 256; byte++) {
                int may_stand = byte == '\t' || (byte >= ' ' && byte != 0x7f);
                memset(value, 'a', size);
                value[place] = (char)byte;
                to.size = 0;
                CHECK(t_begin_answer(&answer, &to, 200, text_of("")) == 0);
                CHECK(t_put_field(&answer, &to, text_of("X"), (t_text){value, size}) ==
                      (may_stand ? 0 : T_BAD_FIELD));
            }
    t_release(&to);
}

TEST(a_name_is_known_in_any_case_and_by_all_its_bytes)
{
    static const char *const names[] = {"close", "date", "content-length", "transfer-encoding"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = strlen(names[i]);
        for (size_t place = 0; place < size; place++)
            for (int byte = 0; byte < 256; byte++) {
                char text[32];
                memcpy(text, names[i], size);
                text[place] = (char)byte;
                CHECK(t_equals(text, size, names[i]) == (t_lower((char)byte) == names[i][place]));
            }
        CHECK(!t_equals(names[i], size - 1, names[i]));
        CHECK(!t_equals(names[i], size, names[(i + 1) % 4]));
    }
}

TEST(an_answer_without_memory)
{
    for (int calls = 0;; calls++) {
        t_buffer to = {NULL, 0, 0};
        runner_allocations = calls;
        int code = t_put_refusal(&to, 400, 0, 1, DATE);
        runner_allocations = -1;
        if (code == 0)
            CHECK(is_written(&to, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n" OURS
                                  "Content-Length: 12\r\nConnection: close\r\n\r\nBad Request\n"));
        t_release(&to);
        if (code == 0)
            break;
        CHECK(code == -1);
    }
}

TEST(a_head_request_that_is_refused_gets_no_body)
{
    t_buffer to = {NULL, 0, 0};
    CHECK(t_put_refusal(&to, 417, T_HEAD_ONLY, 1, DATE) == 0);
    CHECK(is_written(&to, "HTTP/1.1 417 Expectation Failed\r\nContent-Type: text/plain\r\n" OURS
                          "Content-Length: 19\r\nConnection: close\r\n\r\n"));
    t_release(&to);
}

TEST(a_refusal_behind_which_requests_are_read)
{
    t_buffer to = {NULL, 0, 0};
    CHECK(t_put_refusal(&to, 503, 0, 0, DATE) == 0);
    CHECK(is_written(&to,
                     "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
                     "Retry-After: 1\r\n" OURS "Content-Length: 20\r\n\r\nService Unavailable\n"));
    t_release(&to);
}

TEST(chunks_are_read_as_they_were_written)
{
    t_buffer to = {NULL, 0, 0};
    CHECK(t_begin_chunk(&to, 26) == 0 && t_reserve(&to, 26) == 0);
    t_put(&to, "abcdefghijklmnopqrstuvwxyz", 26);
    CHECK(t_end_chunk(&to) == 0 && t_end_chunks(&to) == 0 && t_reserve(&to, 1) == 0);
    t_put(&to, "", 1);
    body_read found = read_body(to.bytes, T_CHUNKED, 0, 7);
    CHECK(found.code == T_END && strcmp(found.data, "abcdefghijklmnopqrstuvwxyz") == 0);
    t_release(&to);
}
