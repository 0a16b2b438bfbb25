/* The names of header fields that most requests have, as Python objects that are made once.
 *
 * A table with open addressing, twice as large as needed, filled when it is first asked.  Names
 * that clients make up are not put into it.
 */
#include "bind/http/names.h"
#include "http/chars.h"

#include <string.h>

#define BUCKETS 128

static const char *const names[] = {"accept",
                                    "accept-charset",
                                    "accept-encoding",
                                    "accept-language",
                                    "authorization",
                                    "cache-control",
                                    "connection",
                                    "content-encoding",
                                    "content-length",
                                    "content-type",
                                    "cookie",
                                    "dnt",
                                    "expect",
                                    "forwarded",
                                    "host",
                                    "if-match",
                                    "if-modified-since",
                                    "if-none-match",
                                    "if-range",
                                    "if-unmodified-since",
                                    "keep-alive",
                                    "origin",
                                    "pragma",
                                    "priority",
                                    "range",
                                    "referer",
                                    "sec-ch-ua",
                                    "sec-ch-ua-mobile",
                                    "sec-ch-ua-platform",
                                    "sec-fetch-dest",
                                    "sec-fetch-mode",
                                    "sec-fetch-site",
                                    "sec-fetch-user",
                                    "te",
                                    "traceparent",
                                    "tracestate",
                                    "transfer-encoding",
                                    "upgrade",
                                    "upgrade-insecure-requests",
                                    "user-agent",
                                    "via",
                                    "x-csrf-token",
                                    "x-forwarded-for",
                                    "x-forwarded-host",
                                    "x-forwarded-port",
                                    "x-forwarded-proto",
                                    "x-real-ip",
                                    "x-request-id",
                                    "x-requested-with"};

static bind_http_name table[BUCKETS];

static unsigned bucket_of_name(const char *at, size_t size)
{
    unsigned hash = (unsigned)size;
    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + (unsigned char)t_lower(at[i]);
    return hash % BUCKETS;
}

PyObject *bind_http_environ_key(const char *name, size_t size)
{
    char key[BIND_HTTP_MOST_NAME + 5] = "HTTP_";
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        key[5 + i] = c == '-' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    int has_prefix =
        !t_equals(name, size, "content-type") && !t_equals(name, size, "content-length");
    return PyUnicode_FromStringAndSize(key + (has_prefix ? 0 : 5),
                                       (Py_ssize_t)size + (has_prefix ? 5 : 0));
}

static int add_name(const char *text)
{
    size_t size = strlen(text);
    unsigned bucket = bucket_of_name(text, size);
    while (table[bucket].text != NULL)
        bucket = (bucket + 1) % BUCKETS;
    PyObject *key = bind_http_environ_key(text, size);
    PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    if (key == NULL || bytes == NULL) {
        Py_XDECREF(key);
        Py_XDECREF(bytes);
        return -1;
    }
    PyUnicode_InternInPlace(&key);
    table[bucket] = (bind_http_name){text, size, key, bytes};
    return 0;
}

int bind_http_make_names(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (add_name(names[i]) < 0)
            return -1;
    return 0;
}

const bind_http_name *bind_http_find_name(const char *at, size_t size)
{
    unsigned bucket = bucket_of_name(at, size);
    for (; table[bucket].text != NULL; bucket = (bucket + 1) % BUCKETS)
        if (table[bucket].size == size && t_same(at, table[bucket].text, size))
            return &table[bucket];
    return NULL;
}
