/* Notes each function of the core that is entered, with its caller: see walk.py.
 *
 * Preloaded, so that it comes before the C library's empty functions of these names.  Only entries
 * are noted: a soft switch abandons C stacks, and what was abandoned is never left.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#define MOST 1000000

static struct {
    const char *python; /* or NULL: a function of C */
    void *callee, *caller;
} entries[MOST];
static int count;
static __thread int on;

/* In the calling thread. */
__attribute__((visibility("default"))) void walk_switch(int wanted)
{
    on = wanted;
}

__attribute__((visibility("default"))) void walk_python(const char *entry)
{
    if (on && count < MOST)
        entries[count++].python = entry;
}

void __cyg_profile_func_enter(void *callee, void *caller)
{
    if (!on || count == MOST)
        return;
    entries[count].callee = callee;
    entries[count++].caller = caller;
}

void __cyg_profile_func_exit(void *callee, void *caller)
{
    (void)callee, (void)caller;
}

/* Its offset in the core, or 0 when it is elsewhere. */
static unsigned long offset_of(void *address, const void *core)
{
    Dl_info found;
    if (!dladdr(address, &found) || found.dli_fbase != core)
        return 0;
    return (unsigned long)((char *)address - (char *)found.dli_fbase);
}

/* `inside`: any address in the core. */
__attribute__((visibility("default"))) void walk_write(const char *path, void *inside)
{
    Dl_info core;
    FILE *file = fopen(path, "w");
    if (file == NULL || !dladdr(inside, &core))
        return;
    for (int i = 0; i < count; i++) {
        if (entries[i].python != NULL)
            fprintf(file, "python\t%s\n", entries[i].python);
        else
            fprintf(file, "c\t%lx\t%lx\n", offset_of(entries[i].callee, core.dli_fbase),
                    offset_of(entries[i].caller, core.dli_fbase));
    }
    fclose(file);
}
