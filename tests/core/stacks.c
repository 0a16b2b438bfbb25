/* plat/stack_mmap.c: stacks are apart, aligned, counted, reused, and run out politely. */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

#define MANY 300

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

TEST(stacks_are_apart_and_usable_from_end_to_end)
{
    p_stack *stacks[MANY];
    for (int i = 0; i < MANY; i++) {
        CHECK((stacks[i] = p_stack_new()) != NULL);
        CHECK((uintptr_t)stacks[i] % 64 == 0);
        CHECK((char *)stacks[i] - stacks[i]->low == (ptrdiff_t)stacks[i]->size);
        CHECK(stacks[i]->size + 4096 > P_STACK_SIZE && stacks[i]->size < P_STACK_SIZE);
        stacks[i]->low[0] = stacks[i]->low[stacks[i]->size - 1] = 1;
    }
    CHECK(p_stacks_live() == MANY);
    qsort(stacks, MANY, sizeof(stacks[0]), by_address);
    for (int i = 1; i < MANY; i++)
        CHECK(stacks[i]->low >= (char *)(stacks[i - 1] + 1));
    for (int i = 0; i < MANY; i++)
        p_stack_free(stacks[i]);
    CHECK(p_stacks_live() == 0);
}

TEST(tops_do_not_share_a_page_offset)
{
    unsigned long seen[64] = {0};
    int different = 0;
    for (int i = 0; i < 16; i++)
        seen[(uintptr_t)p_stack_new() % 4096 / 64]++;
    for (int i = 0; i < 64; i++)
        different += seen[i] > 0;
    CHECK(different == 16);
}

TEST(a_returned_stack_is_taken_first)
{
    p_stack *a = p_stack_new(), *b = p_stack_new();
    p_stack_free(a);
    p_stack_free(b);
    CHECK(p_stack_new() == b);
    CHECK(p_stack_new() == a);
}

TEST(a_stack_that_was_returned_is_empty_and_usable)
{
    p_stack *stack = p_stack_new();
    p_stack before = *stack;
    memset(stack->low, 0x5A, stack->size);
    stack->limits[0] = 1;
    p_stack_free(stack);
    CHECK(p_stack_new() == stack);
    CHECK(memcmp(stack, &before, sizeof(before)) == 0);
    for (size_t i = 0; i < stack->size; i++)
        CHECK(stack->low[i] == 0);
    memset(stack->low, 0x5A, stack->size);
    p_stack_free(stack);
}

TEST(stacks_that_were_returned_hold_no_pages)
{
    p_stack *stacks[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            stacks[i] = p_stack_new();
            stacks[i]->low[stacks[i]->size - 1] = 1;
            CHECK(runner_resident(stacks[i]->low, P_STACK_SIZE) >= 1);
        }
        for (int i = 0; i < MANY; i++) {
            char *low = stacks[i]->low;
            p_stack_free(stacks[i]);
            CHECK(runner_resident(low, P_STACK_SIZE) == 0);
        }
    }
    CHECK(p_stacks_made() == MANY);
}

static void *take_and_give(void *seed)
{
    uint64_t bits = (uintptr_t)seed;
    p_stack *mine[8] = {NULL};
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        p_stack **slot = &mine[bits >> 61];
        if (*slot == NULL) {
            *slot = p_stack_new();
            *(void **)(*slot)->low = seed;
        } else {
            CHECK(*(void **)(*slot)->low == seed);
            p_stack_free(*slot);
            *slot = NULL;
        }
    }
    for (int i = 0; i < 8; i++)
        if (mine[i] != NULL)
            p_stack_free(mine[i]);
    return NULL;
}

TEST(threads_never_get_the_same_stack)
{
    runner_run_four(take_and_give);
    CHECK(p_stacks_live() == 0);
}

static int stop;

static void *hammer(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        p_stack_free(p_stack_new());
    return unused;
}

TEST(a_forked_child_can_take_stacks)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, hammer, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            p_stacks_after_fork();
            _exit(p_stack_new() == NULL);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

/* Address space in use, in bytes. */
static size_t in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Not under an emulator, which does not enforce the limit. */
TEST(without_address_space_there_is_no_stack)
{
    size_t limit = in_use() + 200 * P_STACK_SIZE;
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) == 0);
    p_stack *last = NULL, *stack;
    int count = 0;
    while (count < 1000 && (stack = p_stack_new()) != NULL) {
        last = stack;
        count++;
    }
    CHECK(count >= 16 && count <= 200);
    CHECK(p_stacks_live() == count);
    p_stack_free(last);
    CHECK(p_stack_new() == last);
    CHECK(p_stack_new() == NULL);
}
