/* heap/: learned sizes are always large enough; kept blocks come back once. */
#include <pthread.h>

#include "heap/heap.h"
#include "runner.h"

TEST(a_first_chunk_holds_what_is_needed)
{
    for (uintptr_t key = 0; key < 5000; key++) {
        size_t need = runner_random() % 10000;
        CHECK(h_chunk_size((void *)(key * 16), need) >= need);
        if (key % 3 == 0)
            h_chunk_outgrown((void *)(key * 16), runner_random() % 10000);
    }
}

TEST(a_chunk_that_was_outgrown_is_larger_next_time)
{
    static char key[16];
    size_t size = h_chunk_size(key, 100);
    CHECK(h_chunk_size(key, 100) == size);
    for (int i = 0; i < 20; i++) {
        h_chunk_outgrown(key, size);
        size_t next = h_chunk_size(key, 100);
        CHECK(next > size || (next == size && size == 4096));
        h_chunk_outgrown(key, 256);
        CHECK(h_chunk_size(key, 100) == next);
        size = next;
    }
    CHECK(size == 4096);
    CHECK(h_chunk_size(key, 100000) >= 100000);
}

TEST(the_cache_keeps_some_blocks_and_no_block_twice)
{
    static void *blocks[100];
    int kept = 0, taken = 0;
    char seen[100] = {0};
    CHECK(h_cache_take() == NULL);
    while (kept < 100 && h_cache_give(&blocks[kept]))
        kept++;
    CHECK(kept == 64);
    for (void **block; (block = h_cache_take()) != NULL; taken++)
        CHECK(!seen[block - blocks]++);
    CHECK(taken == kept);
}

static struct {
    void *link; /* the cache's, while it keeps the block */
    int owners; /* threads that have it */
} shared[8];

static void *take_and_give(void *unused)
{
    for (int i = 0; i < 50000; i++) {
        void *block = h_cache_take_locked();
        if (block == NULL)
            continue;
        int *owners = (int *)((void **)block + 1);
        CHECK(++*owners == 1);
        --*owners;
        CHECK(h_cache_give_locked(block));
    }
    return unused;
}

TEST(threads_never_share_a_kept_block)
{
    pthread_t threads[4];
    for (int i = 0; i < 8; i++)
        CHECK(h_cache_give_locked(&shared[i]));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, take_and_give, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    int left = 0;
    while (h_cache_take_locked() != NULL)
        left++;
    CHECK(left == 8);
}
