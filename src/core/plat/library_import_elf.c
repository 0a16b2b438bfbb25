/* A function that one library imports is replaced, for that library alone.
 *
 * A library calls what it imports through a word in its own memory, which the loader has filled.
 * The library's table of relocations says which word belongs to which name.  Replacing the word
 * changes nothing for other libraries, and nothing for calls inside the library that defines the
 * function.  The loader makes the pages of such words read-only when it has filled all at once:
 * they are made writable for the moment of the change.
 *
 * Threads.  A word is written at once; a call that runs meanwhile takes the old or the new
 * function.
 *
 * Rejected: preloading a library with that name (programs are started without us), and changing the
 * code of the function (everybody calls it).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plat/plat.h"

#if defined(__x86_64__)
#define IS_FUNCTION_WORD(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#else
#define IS_FUNCTION_WORD(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

typedef struct {
    uintptr_t inside;
    const char *name;
    void *function;
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
    uintptr_t sealed_from, sealed_to; /* made read-only by the loader */
    int replaced;
} search;

static void read_library_segments(search *found, const struct dl_phdr_info *info)
{
    found->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            found->dynamic = (const void *)at;
        if (segment->p_type == PT_GNU_RELRO) {
            found->sealed_from = at;
            found->sealed_to = at + segment->p_memsz;
        }
    }
}

static int holds_address(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= at && address < at + segment->p_memsz)
            return 1;
    }
    return 0;
}

static uintptr_t dynamic_entry(const search *found, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *at = found->dynamic; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == tag && (tag == DT_RELASZ || tag == DT_PLTRELSZ))
            return at->d_un.d_val;
        if (at->d_tag == tag)
            return at->d_un.d_ptr < found->base ? at->d_un.d_ptr + found->base : at->d_un.d_ptr;
    }
    return 0;
}

static void write_word(search *found, void **word)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)word & ~(page - 1));
    int sealed = (uintptr_t)word >= found->sealed_from && (uintptr_t)word < found->sealed_to;
    if (sealed && mprotect(start, page, PROT_READ | PROT_WRITE) < 0)
        return;
    __atomic_store_n(word, found->function, __ATOMIC_RELEASE);
    if (sealed)
        mprotect(start, page, PROT_READ);
    found->replaced++;
}

static void replace_in_table(search *found, uintptr_t table, size_t size)
{
    const ElfW(Rela) *entry = (const void *)table;
    const ElfW(Sym) *symbols = (const void *)dynamic_entry(found, DT_SYMTAB);
    const char *names = (const char *)dynamic_entry(found, DT_STRTAB);
    for (size_t left = table ? size / sizeof(*entry) : 0; left > 0; left--, entry++) {
        const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(entry->r_info)];
        if (IS_FUNCTION_WORD(ELF64_R_TYPE(entry->r_info)) &&
            strcmp(names + symbol->st_name, found->name) == 0)
            write_word(found, (void **)(found->base + entry->r_offset));
    }
}

static int search_library(struct dl_phdr_info *info, size_t size, void *argument)
{
    search *found = argument;
    (void)size;
    if (!holds_address(info, found->inside))
        return 0;
    read_library_segments(found, info);
    if (found->dynamic != NULL) {
        replace_in_table(found, dynamic_entry(found, DT_JMPREL), dynamic_entry(found, DT_PLTRELSZ));
        replace_in_table(found, dynamic_entry(found, DT_RELA), dynamic_entry(found, DT_RELASZ));
    }
    return 1;
}

int p_library_replace_import(const void *inside, const char *name, void *function)
{
    search found = {.inside = (uintptr_t)inside, .name = name, .function = function};
    dl_iterate_phdr(search_library, &found);
    return found.replaced;
}
