/* Frames and strings read as plain memory, by a reader without a thread state.
 *
 * Nothing here locks, allocates, counts a reference or trusts what it finds: the reader lives in a
 * copy of the process (plat.h) that was made at an arbitrary moment, and a chain may be half
 * linked.  An object that is not a code object ends the chain; one that is not a str is written as
 * a question mark.  In the process itself these functions serve for objects that the caller knows
 * to be alive.
 */
#include "cpython/layout.h"

#define LONGEST_CHAIN 100000

static const c_frame *skip_entry_frames(const c_frame *f)
{
    for (int left = LONGEST_CHAIN; f != NULL && frame_is_entry(f) && left > 0; left--)
        f = f->previous;
    return f;
}

int c_peek_frames(PyThreadState *ts, const c_state *state, c_location *found, int room, int *more)
{
    int count = 0;
    *more = 0;
    const c_frame *f = skip_entry_frames(ts != NULL ? thread_frame(ts) : state->frame);
    for (; f != NULL && f != C_BELOW && *more < LONGEST_CHAIN; f = skip_entry_frames(f->previous)) {
        PyCodeObject *code = frame_code(f);
        if (code == NULL || !Py_IS_TYPE((PyObject *)code, &PyCode_Type))
            break;
        if (count == room) {
            ++*more;
            continue;
        }
        found[count++] =
            (c_location){(PyObject *)code, (int)((char *)frame_ip(f) - (char *)_PyCode_CODE(code))};
    }
    return count;
}

int c_peek_innermost(PyThreadState *ts, c_location *found)
{
    const c_frame *f = skip_entry_frames(thread_frame(ts));
    if (f == NULL || f == C_BELOW)
        return 0;
    PyCodeObject *code = frame_code(f);
    *found =
        (c_location){(PyObject *)code, (int)((char *)frame_ip(f) - (char *)_PyCode_CODE(code))};
    return 1;
}

const void *c_peek_frame(PyThreadState *ts)
{
    return thread_frame(ts);
}

int c_peek_line(const c_location *location)
{
    return PyCode_Addr2Line((PyCodeObject *)location->code, location->offset);
}

PyObject *c_peek_function(const c_location *location)
{
    return ((PyCodeObject *)location->code)->co_qualname;
}

PyObject *c_peek_file(const c_location *location)
{
    return ((PyCodeObject *)location->code)->co_filename;
}

/* Bytes of one character in UTF-8: 1 to 4. */
static size_t encode_utf8(Py_UCS4 c, unsigned char *to)
{
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    if (c < 0x80) {
        to[0] = (unsigned char)(c < 0x20 || c == 0x7F ? '?' : c);
        return 1;
    }
    if (c >= 0xD800 && c < 0xE000)
        c = 0xFFFD;
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        to[i] = (unsigned char)(0x80 | (c & 0x3F));
    to[0] = (unsigned char)(first[size] | c);
    return size;
}

size_t c_peek_text(PyObject *text, char *to, size_t room)
{
    size_t used = 0;
    if (text == NULL || !Py_IS_TYPE(text, &PyUnicode_Type) || !PyUnicode_IS_COMPACT(text)) {
        memcpy(to, "?", 2);
        return 1;
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < length && used + 5 < room; i++)
        used += encode_utf8(PyUnicode_READ_CHAR(text, i), (unsigned char *)to + used);
    to[used] = '\0';
    return used;
}
