/* Words of libraries that belong to a thread and point into its C stack.
 *
 * A library may keep a list of its own calls that are in progress: each call puts the address of a
 * local variable into a thread-local word, and puts the old one back when it returns.  pybind11
 * does, for the temporary objects of its calls, and ends the process when they do not return in
 * reverse order.  Where several C stacks take turns on one thread, such a word belongs to the
 * stack, not to the thread.
 *
 * It is recognised by what it does: it lies in the thread-local storage of a library that calls the
 * interpreter (its table of symbol names has theirs), and its value is an address on the current
 * stack, between the innermost frame and the base.  Where libraries keep such words by keys of
 * pthread_setspecific (pybind11 before 3.0), the keys are read too.
 *
 * Saving takes these words away when a stack is left and puts them back when it is resumed, so that
 * every stack sees its own.  A word that is stale by then is treated the same, which is harmless.
 * Finding asks more: that the address lies in a frame of that library, by the unwinder; so a stale
 * word does not count.  If the unwinder does not get that far, it does.
 *
 * The list of libraries is made anew after p_stack_words_refresh.  A thread keeps the addresses
 * of its own storage.  Libraries that call the interpreter are never unloaded.
 *
 * Rejected: the values of all libraries (one may be unloaded, and the memory be another's), finding
 * the library by its name (the code of pybind11 is in each extension module that uses it), and
 * looking for return addresses into it (which says nothing about other libraries).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "plat/plat.h"

#define MOST_LIBRARIES 128
#define MOST_WORDS 4096 /* of one library */
#define MOST_KEYS 256

typedef struct {
    char name[P_LIBRARY_NAME];
    uintptr_t from, to; /* its code and data */
    size_t module, words;
} library;

/* The argument of __tls_get_addr, which the C library has for compilers. */
typedef struct {
    unsigned long module, offset;
} tls_position;
extern void *__tls_get_addr(tls_position *index);

int p_stack_words_wanted = 1;

static p_lock lock; /* guards the list; a thread reads what it has copied */
static library libraries[MOST_LIBRARIES];
static int library_count, keys_wanted;
static int generation = 1, listed; /* of the list: as wanted, and as it is */

/* What a thread scans; made at its first call, freed at its end. */
typedef struct {
    int generation, count, keys;
    struct {
        uintptr_t *from, *to;
        int library;
    } range[MOST_LIBRARIES];
    uintptr_t stack_end;
} scan_list;
static __thread scan_list *scan __attribute__((tls_model("initial-exec")));
static pthread_key_t freed_at_end; /* 0: not made yet */

/* ---- the list of libraries ----------------------------------------------------------------- */

static int contains_text(const char *in, size_t size, const char *text)
{
    return memmem(in, size, text, strlen(text)) != NULL;
}

/* Whether its table of symbol names has functions of the interpreter. */
static int calls_interpreter(uintptr_t base, const ElfW(Dyn) * dynamic)
{
    uintptr_t names = 0;
    size_t size = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            names = dynamic->d_un.d_ptr;
        else if (dynamic->d_tag == DT_STRSZ)
            size = dynamic->d_un.d_val;
    }
    if (names != 0 && names < base)
        names += base;
    return names != 0 && (contains_text((const char *)names, size, "PyObject_") ||
                          contains_text((const char *)names, size, "PyErr_"));
}

static const char *name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void read_segments(const struct dl_phdr_info *info, library *found,
                          const ElfW(Dyn) * *dynamic)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            *dynamic = (const void *)at;
        if (segment->p_type == PT_TLS)
            found->words = segment->p_memsz / sizeof(uintptr_t);
        if (segment->p_type == PT_LOAD && (found->from == 0 || at < found->from))
            found->from = at;
        if (segment->p_type == PT_LOAD && at + segment->p_memsz > found->to)
            found->to = at + segment->p_memsz;
    }
}

static int add_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    library found = {.module = size >= sizeof(*info) ? info->dlpi_tls_modid : 0};
    const ElfW(Dyn) *dynamic = NULL;
    const char *name = info->dlpi_name != NULL ? name_of_file(info->dlpi_name) : "";
    uintptr_t own = (uintptr_t)&p_stack_words_save;
    (void)unused;
    read_segments(info, &found, &dynamic);
    if (*name == 0 || strncmp(name, "libpython", 9) == 0 || dynamic == NULL ||
        (own >= found.from && own < found.to) || !calls_interpreter(info->dlpi_addr, dynamic))
        return 0;
    if (found.module == 0 || found.words > MOST_WORDS)
        found.words = 0;
    strncpy(found.name, name, sizeof(found.name) - 1);
    if (library_count < MOST_LIBRARIES)
        libraries[library_count++] = found;
    return 0;
}

/* Locked. */
static void list_libraries(void)
{
    int scans = keys_wanted;
    library_count = 0;
    dl_iterate_phdr(add_library, NULL);
    for (int i = 0; i < library_count; i++)
        scans |= libraries[i].words > 0;
    listed = generation;
    __atomic_store_n(&p_stack_words_wanted, scans, __ATOMIC_RELAXED);
}

void p_stack_words_refresh(int keys)
{
    p_lock_take(&lock);
    keys_wanted |= keys;
    generation++;
    p_stack_words_wanted = 1;
    p_lock_give(&lock);
}

/* ---- what a thread scans -----------------------------------------------------------------------
 */

static uintptr_t end_of_thread_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)low + size;
}

/* Locked. */
static scan_list *make_scan(void)
{
    if (freed_at_end == 0 && pthread_key_create(&freed_at_end, free) != 0)
        return NULL;
    scan = calloc(1, sizeof(*scan));
    if (scan != NULL)
        pthread_setspecific(freed_at_end, scan);
    return scan;
}

/* -1 without memory. */
static int prepare_scan(void)
{
    p_lock_take(&lock);
    if (scan == NULL && make_scan() == NULL) {
        p_lock_give(&lock);
        return -1;
    }
    if (listed != generation)
        list_libraries();
    scan->generation = generation;
    scan->keys = keys_wanted;
    scan->count = 0;
    for (int i = 0; i < library_count; i++) {
        if (libraries[i].words == 0)
            continue;
        uintptr_t *from = __tls_get_addr(&(tls_position){libraries[i].module, 0});
        scan->range[scan->count].from = from;
        scan->range[scan->count].to = from + libraries[i].words;
        scan->range[scan->count++].library = i;
    }
    p_lock_give(&lock);
    if (scan->stack_end == 0)
        scan->stack_end = end_of_thread_stack();
    return 0;
}

/* `visit` returns 0 to go on. */
typedef int visit_word(void *arg, const p_stack_word *word, int of);

static void visit_words(uintptr_t from, uintptr_t to, visit_word *visit, void *arg)
{
    if ((scan == NULL || scan->generation != __atomic_load_n(&generation, __ATOMIC_RELAXED)) &&
        prepare_scan() < 0)
        return;
    uintptr_t room = (to ? to : scan->stack_end) - from;
    for (int i = 0; i < scan->count; i++) {
        for (uintptr_t *at = scan->range[i].from; at < scan->range[i].to; at++) {
            if (*at - from < room &&
                visit(arg, &(p_stack_word){at, 0, *at}, scan->range[i].library))
                return;
        }
    }
    for (unsigned key = 0; scan->keys && key < MOST_KEYS; key++) {
        uintptr_t value = (uintptr_t)pthread_getspecific(key);
        if (value - from < room && visit(arg, &(p_stack_word){NULL, key, value}, -1))
            return;
    }
}

/* ---- saving -----------------------------------------------------------------------------------
 */

static void store_word(const p_stack_word *word, uintptr_t value)
{
    if (word->at != NULL)
        *word->at = value;
    else
        pthread_setspecific(word->key, (void *)value);
}

static int take_word(void *arg, const p_stack_word *word, int of)
{
    p_stack_words *found = arg;
    (void)of;
    found->word[found->count++] = *word;
    return found->count == P_STACK_WORDS;
}

p_stack_words *p_stack_words_save(const void *end)
{
    p_stack_words found = {0};
    visit_words((uintptr_t)__builtin_frame_address(0), (uintptr_t)end, take_word, &found);
    p_stack_words *kept = found.count > 0 ? malloc(sizeof(found)) : NULL;
    if (kept == NULL)
        return NULL;
    *kept = found;
    for (int i = 0; i < kept->count; i++)
        store_word(&kept->word[i], 0);
    return kept;
}

void p_stack_words_restore(p_stack_words *kept)
{
    for (int i = 0; i < kept->count; i++)
        store_word(&kept->word[i], kept->word[i].value);
    free(kept);
}

/* ---- finding ----------------------------------------------------------------------------------
 */

typedef struct {
    uintptr_t value, ip; /* an address on the stack; where the frame that it is in stands */
    uintptr_t above;
} frame_search;

/* The stack pointer of each frame, from the innermost one outwards: the value lies in the last one
 * that begins below it. */
static _Unwind_Reason_Code take_frame_below(struct _Unwind_Context *context, void *arg)
{
    frame_search *search = arg;
    uintptr_t sp = _Unwind_GetCFA(context);
    if (sp > search->value) {
        search->above = sp;
        return _URC_END_OF_STACK;
    }
    search->ip = _Unwind_GetIP(context);
    return _URC_NO_REASON;
}

typedef struct {
    char *name;
    size_t room;
    int found;
} library_search;

static int lies_in_library(uintptr_t ip, int of)
{
    return ip >= libraries[of].from && ip < libraries[of].to;
}

static int find_library(void *arg, const p_stack_word *word, int of)
{
    library_search *wanted = arg;
    frame_search search = {word->value, 0, 0};
    _Unwind_Backtrace(take_frame_below, &search);
    if (search.above != 0 && of >= 0 && !lies_in_library(search.ip, of))
        return 0;
    for (int i = 0; of < 0 && i < library_count; i++) {
        if (lies_in_library(search.ip, i))
            of = i;
    }
    if (of < 0)
        return 0;
    strncpy(wanted->name, libraries[of].name, wanted->room - 1);
    wanted->name[wanted->room - 1] = 0;
    wanted->found = 1;
    return 1;
}

int p_stack_words_find(const void *end, char *name, size_t room)
{
    library_search wanted = {name, room, 0};
    visit_words((uintptr_t)__builtin_frame_address(0), (uintptr_t)end, find_library, &wanted);
    return wanted.found;
}

void p_stack_words_after_fork(void)
{
    lock.word = 0;
}
