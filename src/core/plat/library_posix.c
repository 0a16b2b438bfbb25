/* Functions of libraries that the process has loaded, by name.
 *
 * Nothing is loaded for that, and a library that is found stays loaded by whoever has loaded it.
 */
#include <dlfcn.h>

#include "plat/plat.h"

int p_library_functions(const char *path, const char *const *names, void **found, int count)
{
    int flags = path != NULL ? RTLD_LAZY | RTLD_NOLOAD : RTLD_LAZY;
    void *library = dlopen(path, flags);
    int missing = library == NULL;
    for (int i = 0; i < count && !missing; i++) {
        found[i] = dlsym(library, names[i]);
        missing = found[i] == NULL;
    }
    if (library != NULL)
        dlclose(library);
    return missing ? -1 : 0;
}
