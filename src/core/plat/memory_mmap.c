/* Reserved address space (mmap).  Huge pages are refused: one touched byte must not cost 2 MiB. */
#include <sys/mman.h>

#include "plat/plat.h"

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
