/* plat/work_pool.c: each errand is run once, and those that hang hold up no others. */
#include <pthread.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

#define MANY 20000
#define FEW 2000
#define HANGING 100

static long run_count;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int arrived, opened;

static void count_one(p_work *errand)
{
    (void)errand;
    __atomic_add_fetch(&run_count, 1, __ATOMIC_SEQ_CST);
}

static void hang(p_work *errand)
{
    pthread_mutex_lock(&gate);
    arrived++;
    pthread_cond_broadcast(&news);
    while (!opened)
        pthread_cond_wait(&news, &gate);
    pthread_mutex_unlock(&gate);
    count_one(errand);
}

static void wait_for_runs(long count)
{
    while (__atomic_load_n(&run_count, __ATOMIC_SEQ_CST) < count)
        usleep(100); /* lets the threads of the errands run */
}

/* All of an array of errands. */
static void send(p_work *errands, int count, void (*run)(p_work *errand))
{
    for (int i = 0; i < count; i++) {
        errands[i] = (p_work){NULL, run};
        CHECK(p_work_submit(&errands[i]) == 0);
    }
}

static void wait_until_hanging(int count)
{
    pthread_mutex_lock(&gate);
    while (arrived < count)
        pthread_cond_wait(&news, &gate);
    pthread_mutex_unlock(&gate);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate);
    opened = 1;
    pthread_cond_broadcast(&news);
    pthread_mutex_unlock(&gate);
}

static void *send_many(void *errands)
{
    send(errands, MANY, count_one);
    return NULL;
}

TEST(each_errand_is_run_once_whoever_sends_it)
{
    static p_work errands[3][MANY];
    pthread_t senders[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&senders[i], NULL, send_many, errands[i]) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(senders[i], NULL);
    wait_for_runs(3 * MANY);
    usleep(2000); /* one that is run twice would be so by now */
    CHECK(run_count == 3 * MANY);
}

TEST(errands_that_follow_each_other_find_a_thread_each_time)
{
    p_work errand;
    for (long i = 1; i <= FEW; i++) {
        send(&errand, 1, count_one);
        wait_for_runs(i);
    }
    CHECK(run_count == FEW);
}

TEST(errands_that_hang_are_all_begun)
{
    static p_work errands[HANGING];
    send(errands, HANGING, hang);
    wait_until_hanging(HANGING);
    CHECK(run_count == 0);
    CHECK(p_work_busy() == HANGING);
    open_gate();
    wait_for_runs(HANGING);
    while (p_work_busy() > 0)
        usleep(100); /* lets the threads find out that nothing is left */
}

TEST(who_hangs_holds_up_nobody)
{
    static p_work hanging[HANGING], quick[MANY];
    send(hanging, HANGING / 2, hang);
    send(quick, MANY, count_one);
    send(hanging + HANGING / 2, HANGING / 2, hang);
    wait_for_runs(MANY);
    wait_until_hanging(HANGING);
    CHECK(run_count == MANY);
    open_gate();
    wait_for_runs(MANY + HANGING);
}
