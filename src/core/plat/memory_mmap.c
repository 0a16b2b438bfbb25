/* Reserved address space (mmap).  Huge pages are refused: one touched byte must not cost 2 MiB. */
#include <sys/mman.h>

#include "plat/plat.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

void *p_reserve(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, size, MADV_NOHUGEPAGE);
    return at;
}

void p_release_pages(void *at, size_t size)
{
    madvise(at, size, MADV_DONTNEED);
}

void p_trim_library(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
