/* http/: what an answer is chosen by: dates, conditions and ranges, and the paths of files. */
#include <string.h>

#include "http/choice.h"
#include "http/coding.h"
#include "http/date.h"
#include "http/path.h"
#include "runner.h"

static t_text text_at(const char *string)
{
    return (t_text){string, strlen(string)};
}

/* ---- dates --------------------------------------------------------------------------------- */

TEST(dates_are_written_and_read)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {784111777, "Sunday, 06-Nov-94 08:49:37 GMT"},
        {784111777, "Sun Nov  6 08:49:37 1994"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
        {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[T_DATE + 1] = "";
        int64_t seconds;
        CHECK(t_read_date(text_at(cases[i].text), 1700000000, &seconds));
        CHECK(seconds == cases[i].seconds);
        t_write_date(text, seconds);
        CHECK(strlen(cases[i].text) != T_DATE || cases[i].text[3] != ',' ||
              strcmp(text, cases[i].text) == 0);
    }
}

TEST(every_date_is_read_as_it_was_written)
{
    for (int64_t seconds = 0; seconds < 253402300800; seconds += 86400 * 17 + 3601) {
        char text[T_DATE];
        int64_t found = -1;
        t_write_date(text, seconds);
        CHECK(t_read_date((t_text){text, T_DATE}, seconds, &found) && found == seconds);
    }
}

TEST(texts_that_are_no_dates)
{
    static const char *const bad[] = {"",
                                      "now",
                                      "Sun, 06 Nov 1994 08:49:37 PST",
                                      "Sun, 06 Nov 1994 08:49:37 GXT",
                                      "Sun, 06 Nov 1994 hh:49:37 GMT",
                                      "Sun, 0D Nov 1994 08:49:37 GMT",
                                      "Sun, 31 Nov 1994 08:49:37 GMT",
                                      "Sun, 29 Feb 1995 08:49:37 GMT",
                                      "Sun, 06 Foo 1994 08:49:37 GMT",
                                      "Sun, 32 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, xx Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1969 08:49:37 GMT",
                                      "Sun, 06-Nov-1994 08:49:37 GMT"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t seconds;
        CHECK(!t_read_date(text_at(bad[i]), 1700000000, &seconds));
    }
}

/* ---- choices ------------------------------------------------------------------------------- */

static t_choice choose(const char *fields)
{
    static const t_entity entity = {.size = 1000, .modified = 784111777, .tag = {"\"t\"", 3}};
    char text[1000] = "GET / HTTP/1.1\r\nHost: a\r\n";
    t_head head;
    t_choice choice;
    strcat(strcat(text, fields), "\r\n\r\n");
    t_begin_head(&head);
    CHECK(t_read_head(&head, text, strlen(text)) == T_HEAD);
    t_choose(&head, text, &entity, 1700000000, &choice);
    return choice;
}

#define SAME_DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define LATER "Mon, 07 Nov 1994 08:49:37 GMT"
#define EARLIER "Sat, 05 Nov 1994 08:49:37 GMT"

TEST(conditions_in_their_order)
{
    static const struct {
        int status;
        const char *fields;
    } cases[] = {
        {200, "X: y"},
        {304, "If-None-Match: \"t\""},
        {304, "If-None-Match: \"a\", W/\"t\""},
        {304, "If-None-Match: *"},
        {200, "If-None-Match: \"a\""},
        {200, "If-None-Match: t"},
        {200, "If-None-Match: \"a\"\r\nIf-Modified-Since: " LATER},
        {304, "If-Modified-Since: " SAME_DATE},
        {304, "If-Modified-Since: " LATER},
        {200, "If-Modified-Since: " EARLIER},
        {200, "If-Modified-Since: never"},
        {200, "If-Modified-Since: " SAME_DATE "\r\nIf-Modified-Since: " SAME_DATE},
        {200, "Range: bytes=0-0\r\nRange: bytes=2-3"},
        {200, "Range: bytes=0-0\r\nIf-Range: \"t\"\r\nIf-Range: \"t\""},
        {200, "If-Match: \"t\""},
        {412, "If-Match: W/\"t\""},
        {412, "If-Match: \"a\""},
        {200, "If-Match: *"},
        {412, "If-Unmodified-Since: " EARLIER},
        {200, "If-Unmodified-Since: " SAME_DATE},
        {200, "If-Match: \"t\"\r\nIf-Unmodified-Since: " EARLIER},
        {206, "Range: bytes=0-0"},
        {206, "Range: bytes=0-0\r\nIf-Range: \"t\""},
        {200, "Range: bytes=0-0\r\nIf-Range: \"a\""},
        {200, "Range: bytes=0-0\r\nIf-Range: W/\"t\""},
        {206, "Range: bytes=0-0\r\nIf-Range: " SAME_DATE},
        {200, "Range: bytes=0-0\r\nIf-Range: " LATER},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK(choose(cases[i].fields).status == cases[i].status);
}

TEST(ranges)
{
    static const struct {
        int status, count;
        int64_t from, size;
        const char *fields;
    } cases[] = {
        {206, 1, 0, 1, "Range: bytes=0-0"},
        {206, 1, 10, 990, "Range: bytes=10-"},
        {206, 1, 900, 100, "Range: bytes=-100"},
        {206, 1, 0, 1000, "Range: bytes=-2000"},
        {206, 1, 5, 995, "Range: BYTES=5-9999"},
        {206, 2, 1, 2, "Range: bytes=1-2, 4-5"},
        {206, 1, 1, 2, "Range: bytes=1-2,2000-"},
        {416, 0, 0, 0, "Range: bytes=1000-"},
        {416, 0, 0, 0, "Range: bytes=-0"},
        {200, 0, 0, 0, "Range: bytes=2-1"},
        {200, 0, 0, 0, "Range: bytes=a-b"},
        {200, 0, 0, 0, "Range: bytes="},
        {200, 0, 0, 0, "Range: bytes=-"},
        {200, 0, 0, 0, "Range: lines=1-2"},
        {200, 0, 0, 0, "Range: bytes=0-,0-"},
        {200, 0, 0, 0, "Range: bytes=1-2x"},
        {416, 0, 0, 0, "Range: bytes=99999999999999999999-"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t_choice found = choose(cases[i].fields);
        CHECK(found.status == cases[i].status);
        CHECK(found.status != 206 || found.count == cases[i].count);
        CHECK(found.status != 206 ||
              (found.ranges[0].from == cases[i].from && found.ranges[0].size == cases[i].size));
    }
}

/* ---- paths --------------------------------------------------------------------------------- */

TEST(content_codings)
{
    static const struct {
        unsigned accepted;
        const char *fields;
    } cases[] = {
        {0, "X: gzip"},
        {0, "Accept-Encoding:"},
        {0, "Accept-Encoding: identity, deflate, gzipped, g"},
        {T_GZIP, "Accept-Encoding: GZIP"},
        {T_GZIP, "Accept-Encoding: ,, x-gzip ;q=0.001,"},
        {T_GZIP | T_BROTLI, "Accept-Encoding: gzip;q=1\r\nX: y\r\naccept-encoding: br"},
        {T_CODINGS, "Accept-Encoding: *"},
        {T_ZSTD, "Accept-Encoding: br;q=0, *, gzip; Q=0.000"},
        {T_BROTLI, "Accept-Encoding: *;q=0, br"},
        {0, "Accept-Encoding: gzip;q=0 , br;q=0."},
        {T_GZIP, "Accept-Encoding: gzip;q"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000] = "GET / HTTP/1.1\r\nHost: a\r\n";
        t_head head;
        strcat(strcat(text, cases[i].fields), "\r\n\r\n");
        t_begin_head(&head);
        CHECK(t_read_head(&head, text, strlen(text)) == T_HEAD);
        CHECK(t_accepted_codings(&head, text) == cases[i].accepted);
    }
}

TEST(paths_of_files)
{
    static const struct {
        int64_t code;
        const char *path, *file;
    } cases[] = {
        {0, "/", ""},
        {0, "", ""},
        {0, "/a", "a"},
        {0, "/a/b/", "a/b/"},
        {0, "//a///b", "a/b"},
        {0, "/a/./b/../c", "a/c"},
        {0, "/a/..", ""},
        {0, "/%61%20b", "a b"},
        {0, "/a/%2e%2e/b", "b"},
        {-404, "/..", NULL},
        {-404, "/a/../../b", NULL},
        {-404, "/%2e%2e/etc/passwd", NULL},
        {-404, "/.git/config", NULL},
        {-404, "/a/.b", NULL},
        {-404, "/...", NULL},
        {-400, "/a%2fb", NULL},
        {-400, "/a%00", NULL},
        {-400, "/%", NULL},
        {-400, "/%a", NULL},
        {-400, "/%ag", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[100];
        int64_t size = t_path_of_file(text_at(cases[i].path), out);
        if (cases[i].code < 0)
            CHECK(size == cases[i].code);
        else
            CHECK(size == (int64_t)strlen(cases[i].file) &&
                  memcmp(out, cases[i].file, (size_t)size) == 0);
    }
}
