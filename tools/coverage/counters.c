/* Part of the core when it is built with LOOMLET_COVERAGE: no counters are lost.
 *
 * gcov writes its counters in an exit handler.  Processes that leave by _exit(), the copy of the
 * process that writes a dump among them, call this instead (ld --wrap); os._exit() is replaced by
 * tools/coverage/in_each_process.py, which calls loomlet_coverage_write().
 */
#include <unistd.h>

void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
void loomlet_coverage_write(void) __attribute__((visibility("default")));

void loomlet_coverage_write(void)
{
    __gcov_dump();
}

void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
