/* heap/: learned sizes are always large enough; blocks are handed out once. */
#include <pthread.h>
#include <string.h>

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
        CHECK(next > size || (next == size && size == 8192));
        h_chunk_outgrown(key, 256);
        CHECK(h_chunk_size(key, 100) == next);
        size = next;
    }
    CHECK(size == 8192);
    CHECK(h_chunk_size(key, 100000) >= 100000);
}

TEST(no_block_is_handed_out_twice)
{
    static char *blocks[100];
    for (int i = 0; i < 100; i++) {
        blocks[i] = h_block_take();
        CHECK(blocks[i] != NULL && h_block_is_ours(blocks[i]));
        CHECK(blocks[i][0] == 0);
        memset(blocks[i], i + 1, H_BLOCK);
    }
    for (int i = 0; i < 100; i++)
        CHECK(blocks[i][0] == i + 1 && blocks[i][H_BLOCK - 1] == i + 1);
    for (int i = 0; i < 100; i++)
        h_block_give(blocks[i]);
    CHECK(!h_block_is_ours(&blocks[0]) && !h_block_is_ours(NULL));
}

TEST(few_of_the_freed_blocks_keep_their_pages)
{
    char *blocks[100];
    int warm = 0;
    for (int i = 0; i < 100; i++) {
        blocks[i] = h_block_take();
        blocks[i][H_CHUNK] = 1;
    }
    for (int i = 0; i < 100; i++)
        h_block_give(blocks[i]);
    for (int i = 0; i < 100; i++)
        warm += ((char *)h_block_take())[H_CHUNK];
    CHECK(warm == H_WARM);
    for (int i = 0; i < 100; i++)
        h_block_give(blocks[i]);
}

TEST(the_block_given_last_is_taken_first)
{
    void *first = h_block_take(), *second = h_block_take();
    h_block_give(first);
    CHECK(h_block_take() == first);
    h_block_give(second);
    h_block_give(first);
    CHECK(h_block_take() == first && h_block_take() == second);
    h_block_give(first);
    h_block_give(second);
}

static void *take_and_give(void *unused)
{
    for (int i = 0; i < 50000; i++) {
        int *block = h_block_take_locked();
        CHECK(++*block == 1);
        --*block;
        h_block_give_locked(block);
    }
    return unused;
}

TEST(threads_never_share_a_block)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        int *block = h_block_take();
        *block = 0;
        h_block_give(block);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, take_and_give, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
