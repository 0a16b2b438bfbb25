/* The runner of runner.h. */
#include "runner.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST 120 /* seconds; only a test that hangs takes that long */

static runner_test *first;
static uint64_t bits;
int runner_allocations = -1;

void runner_register(runner_test *test)
{
    test->next = first;
    first = test;
}

uint64_t runner_random(void)
{
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    return bits;
}

/* Whether the next allocation fails. */
static int is_failed_allocation(void)
{
    if (runner_allocations > 0)
        runner_allocations--;
    else if (runner_allocations == 0) {
        runner_allocations = -1;
        return 1;
    }
    return 0;
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_realloc(void *block, size_t size)
{
    return is_failed_allocation() ? NULL : __real_realloc(block, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_failed_allocation() ? NULL : __real_calloc(count, size);
}

/* ---- signals ------------------------------------------------------------------------ */

typedef struct {
    void (*body)(void);
    int ended;
} interrupted;

static void on_signal(int number)
{
    (void)number;
}

static void *run_interrupted(void *argument)
{
    interrupted *self = argument;
    self->body();
    __atomic_store_n(&self->ended, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

void runner_interrupt(void (*body)(void))
{
    pthread_t thread;
    interrupted self = {body, 0};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    CHECK(pthread_create(&thread, NULL, run_interrupted, &self) == 0);
    while (!__atomic_load_n(&self.ended, __ATOMIC_SEQ_CST)) {
        usleep(1000); /* between two signals */
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
}

/* ---- running ------------------------------------------------------------------------ */

static void run_here(const runner_test *test)
{
    bits = 0x9E3779B97F4A7C15u;
    runner_allocations = -1;
    alarm(LONGEST);
    test->run();
    printf("ok %s\n", test->name);
    fflush(stdout);
}

/* In a process of its own; 1 when it failed. */
static int run_apart(const runner_test *test)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_here(test);
        exit(0);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    printf("FAILED %s\n", test->name);
    return 1;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;
    int failed = wanted != NULL;
    for (runner_test *test = first; test != NULL; test = test->next) {
        if (wanted == NULL) {
            failed += run_apart(test);
        } else if (strcmp(wanted, "--list") == 0) {
            puts(test->name);
            failed = 0;
        } else if (strcmp(wanted, test->name) == 0) {
            run_here(test);
            failed = 0;
        }
    }
    return failed != 0;
}

size_t runner_resident(void *at, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    char *low = (char *)((uintptr_t)at & ~(page - 1)), *high = (char *)at + size;
    for (; low < high; low += page) {
        unsigned char known = 0;
        CHECK(mincore(low, page, &known) == 0);
        count += known & 1;
    }
    return count;
}

void runner_run_four(void *(*work)(void *number))
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
