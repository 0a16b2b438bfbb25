/* heap/chunk_pool.c: chunks are apart, counted, taken again, and give their pages back. */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/heap.h"
#include "runner.h"

#define MANY 40000

static struct {
    unsigned char *at;
    size_t size;
    unsigned char mark;
} chunks[MANY];

static size_t random_size(void)
{
    uint64_t bits = runner_random();
    return bits % 50 == 0 ? 8193 + bits / 50 % 9000 : 1 + bits / 50 % 8192;
}

static void take(int i)
{
    chunks[i].size = random_size();
    chunks[i].at = h_chunk_take(chunks[i].size);
    chunks[i].mark = (unsigned char)runner_random();
    CHECK(chunks[i].at != NULL && (uintptr_t)chunks[i].at % 16 == 0);
    memset(chunks[i].at, chunks[i].mark, chunks[i].size);
}

static void give(int i)
{
    for (size_t k = 0; k < chunks[i].size; k += 61)
        CHECK(chunks[i].at[k] == chunks[i].mark);
    CHECK(chunks[i].at[chunks[i].size - 1] == chunks[i].mark);
    h_chunk_give(chunks[i].at, chunks[i].size);
    chunks[i].at = NULL;
}

static h_chunk_counts count(void)
{
    h_chunk_counts counts;
    h_chunks_count(&counts);
    return counts;
}

/* The counts are those of the chunks that the test has. */
static void check_counts(void)
{
    h_chunk_counts known = count(), expected = {0};
    size_t bytes = 0;
    for (int i = 0; i < MANY; i++) {
        if (chunks[i].at == NULL)
            continue;
        if (chunks[i].size > H_CHUNK_LARGEST) {
            expected.large++;
            expected.large_bytes += chunks[i].size;
            continue;
        }
        expected.in_use[h_class_for(chunks[i].size)]++;
        bytes += h_class_sizes[h_class_for(chunks[i].size)];
    }
    expected.resident_bytes = known.resident_bytes;
    CHECK(memcmp(&known, &expected, sizeof(known)) == 0);
    CHECK(known.resident_bytes >= bytes);
}

TEST(a_class_is_the_smallest_that_holds_the_size)
{
    for (size_t size = 0; size <= H_CHUNK_LARGEST; size++) {
        int found = h_class_for(size);
        CHECK(h_class_sizes[found] >= size);
        CHECK(found == 0 || h_class_sizes[found - 1] < size);
    }
}

TEST(no_chunk_overlaps_another)
{
    for (int phase = 0; phase < 4; phase++) {
        unsigned often = phase % 2 ? 1 : 7; /* of 8 */
        for (int n = 0; n < 3 * MANY; n++) {
            int i = (int)(runner_random() % MANY);
            if (chunks[i].at == NULL && runner_random() % 8 < often)
                take(i);
            else if (chunks[i].at != NULL && runner_random() % 8 >= often)
                give(i);
        }
        check_counts();
    }
    for (int i = 0; i < MANY; i++)
        if (chunks[i].at != NULL)
            give(i);
    check_counts();
}

TEST(the_chunk_given_last_is_taken_first)
{
    void *a = h_chunk_take(300), *b = h_chunk_take(300);
    h_chunk_give(a, 300);
    CHECK(h_chunk_take(384) == a);
    h_chunk_give(b, 300);
    h_chunk_give(a, 300);
    CHECK(h_chunk_take(300) == a && h_chunk_take(300) == b);
    h_chunk_give(NULL, 300);
}

/* Takes many chunks, gives them back in another order, and counts the pages that stay. */
static size_t fill_and_empty(size_t size)
{
    static char *all[MANY];
    char *low = NULL, *high = NULL;
    for (int i = 0; i < MANY; i++) {
        all[i] = h_chunk_take(size);
        memset(all[i], 1, size);
        low = low == NULL || all[i] < low ? all[i] : low;
        high = all[i] + size > high ? all[i] + size : high;
    }
    for (int i = MANY; i-- > 1;) {
        int other = (int)(runner_random() % (unsigned)(i + 1));
        char *kept = all[i];
        all[i] = all[other];
        all[other] = kept;
    }
    for (int i = 0; i < MANY; i++)
        h_chunk_give(all[i], size);
    return runner_resident(low, (size_t)(high - low));
}

TEST(what_is_given_back_in_any_order_leaves_few_pages)
{
    fill_and_empty(256);
    for (int round = 0; round < 3; round++) {
        CHECK(fill_and_empty(1000) <= 20 * 16); /* of 10 000 */
        CHECK(count().resident_bytes < (size_t)2 << 20);
    }
    h_chunks_trim();
    CHECK(count().resident_bytes == 0);
    fill_and_empty(6144);
    h_chunks_trim();
    CHECK(count().resident_bytes == 0);
}

TEST(a_load_that_goes_up_and_down_keeps_its_pages)
{
    enum { LOW = 8000, HIGH = 10000 };
    static char *all[HIGH];
    for (int i = 0; i < HIGH; i++)
        all[i] = h_chunk_take(1024);
    size_t held = count().resident_bytes;
    for (int i = LOW; i < HIGH; i++)
        h_chunk_give(all[i], 1024);
    CHECK(count().resident_bytes == held);
    for (int i = LOW; i < HIGH; i++)
        all[i] = h_chunk_take(1024);
    CHECK(count().resident_bytes == held);
}

#define PASSED 64

static void *slots[PASSED]; /* chunks on their way from thread to thread */

static void *pass_on(void *seed)
{
    uint64_t bits = (uintptr_t)seed;
    for (int i = 0; i < 100000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        unsigned *chunk = h_chunk_take_locked(512);
        CHECK(chunk != NULL);
        chunk[2] = chunk[127] = (unsigned)(bits >> 32);
        chunk = __atomic_exchange_n(&slots[bits >> 58], chunk, __ATOMIC_ACQ_REL);
        CHECK(chunk == NULL || chunk[2] == chunk[127]);
        h_chunk_give_locked(chunk, 512);
    }
    return NULL;
}

TEST(a_chunk_may_be_given_back_by_any_thread)
{
    runner_run_four(pass_on);
    size_t left = 0;
    for (int i = 0; i < PASSED; i++)
        left += slots[i] != NULL;
    CHECK(count().in_use[h_class_for(512)] == left);
    for (int i = 0; i < PASSED; i++)
        h_chunk_give_locked(slots[i], 512);
    h_chunks_trim();
    CHECK(count().resident_bytes == 0);
}

static int stop;

static void *hammer(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        h_chunk_give_locked(h_chunk_take_locked(256), 256);
    return unused;
}

TEST(a_forked_child_can_take_chunks_and_give_back_those_of_its_parent)
{
    pthread_t thread;
    void *mine = h_chunk_take_locked(256);
    CHECK(pthread_create(&thread, NULL, hammer, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            h_chunks_after_fork();
            void *chunk = h_chunk_take_locked(256);
            h_chunk_give_locked(mine, 256);
            h_chunk_give_locked(chunk, 256);
            h_chunks_trim();
            _exit(chunk == NULL);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

/* Not under an emulator, which does not enforce the limit. */
TEST(without_address_space_chunks_come_from_the_c_library)
{
    void *kept = malloc(1 << 20); /* so that the limit leaves the C library some room */
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    free(kept);
    size_t limit = pages * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)1 << 24);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) == 0);
    char *chunk = h_chunk_take(256);
    CHECK(chunk != NULL && count().large == 1 && count().resident_bytes == 0);
    h_chunk_give(chunk, 256);
    h_chunks_trim();
    CHECK(count().large == 0 && count().large_bytes == 0);
}
