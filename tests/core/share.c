/* base/b_share.h: how much of the time some may go before others. */
#include "base/b_share.h"
#include "runner.h"

#define HALF (B_SHARE_WHOLE / 2)
#define SECOND INT64_C(1000000000)

TEST(what_is_saved_can_be_spent_at_once)
{
    b_share bucket;
    b_share_begin(&bucket, HALF, 100);
    CHECK(b_share_wait(&bucket, 100) == 0);
    b_share_spend(&bucket, B_SHARE_MOST - 1);
    CHECK(b_share_wait(&bucket, 100) == 0);
    b_share_spend(&bucket, 1);
    CHECK(b_share_wait(&bucket, 100) > 0);
}

TEST(a_debt_is_paid_off_at_the_rate_of_the_share)
{
    b_share bucket;
    b_share_begin(&bucket, B_SHARE_WHOLE / 4, 0);
    b_share_spend(&bucket, B_SHARE_MOST + 1000);
    CHECK(b_share_wait(&bucket, 0) == 4001);
    CHECK(b_share_wait(&bucket, 3000) == 1001);
    CHECK(b_share_wait(&bucket, 4000) == 1);
    CHECK(b_share_wait(&bucket, 4001) == 0);
}

TEST(a_long_pause_saves_no_more_than_the_most)
{
    b_share bucket;
    b_share_begin(&bucket, HALF, 0);
    CHECK(b_share_wait(&bucket, INT64_MAX / 2) == 0);
    b_share_spend(&bucket, B_SHARE_MOST);
    CHECK(b_share_wait(&bucket, INT64_MAX / 2) > 0);
}

TEST(a_clock_that_is_read_late_takes_nothing_back)
{
    b_share bucket;
    b_share_begin(&bucket, HALF, 1000);
    b_share_spend(&bucket, B_SHARE_MOST + 100);
    int64_t wait = b_share_wait(&bucket, 1000);
    CHECK(b_share_wait(&bucket, 500) == wait);
    CHECK(b_share_wait(&bucket, 1000 + wait) == 0);
}

TEST(a_share_of_nothing_never_goes_first)
{
    b_share bucket;
    b_share_begin(&bucket, 0, 0);
    CHECK(b_share_wait(&bucket, 0) == B_SHARE_NEVER);
    CHECK(b_share_wait(&bucket, INT64_MAX) == B_SHARE_NEVER);
}

TEST(a_share_of_everything_never_waits)
{
    b_share bucket;
    b_share_begin(&bucket, B_SHARE_WHOLE, 0);
    for (int i = 0; i < 1000; i++)
        b_share_spend(&bucket, INT64_MAX);
    CHECK(b_share_wait(&bucket, 0) == 0);
}

TEST(a_debt_has_an_end)
{
    b_share bucket;
    b_share_begin(&bucket, HALF, 0);
    for (int i = 0; i < 100; i++)
        b_share_spend(&bucket, INT64_MAX);
    int64_t wait = b_share_wait(&bucket, 0);
    CHECK(wait <= 2 * (int64_t)B_SHARE_DEBT + 1);
    CHECK(b_share_wait(&bucket, wait) == 0);
}

/* ---- the model: one computes all the time, one wants to go first for `turn` after each `pause` --
 */

typedef struct {
    int64_t share, turn, pause;
} pattern;

/* What the second one got of `length` nanoseconds, by going first; checks that it is let in when
 * its announced wait is over. */
static int64_t play_pattern(const pattern *with, int64_t length)
{
    b_share bucket;
    int64_t now = 0, got = 0;
    b_share_begin(&bucket, with->share, now);
    while (now < length) {
        int64_t wait = b_share_wait(&bucket, now);
        if (wait > 0) {
            now += wait;
            CHECK(b_share_wait(&bucket, now) == 0);
        }
        now += with->turn;
        got += with->turn;
        b_share_spend(&bucket, with->turn);
        now += with->pause;
    }
    return got;
}

static const int64_t shares[] = {1, 1000, B_SHARE_WHOLE / 10, HALF, B_SHARE_WHOLE - 1};
static const int64_t times[] = {1, 999, 40000, 1000000, 5000000};

/* All patterns: the share is kept to the nanosecond, but for what can be saved and one turn. */
TEST(no_pattern_of_turns_gets_more_than_the_share)
{
    for (int s = 0; s < 5; s++)
        for (int turn = 0; turn < 5; turn++)
            for (int pause = 0; pause < 5; pause++) {
                pattern with = {shares[s], times[turn], times[pause]};
                int64_t length = 20000 * (with.turn + with.pause);
                int64_t got = play_pattern(&with, length);
                int64_t fair = (int64_t)((double)length * (double)with.share / B_SHARE_WHOLE);
                CHECK(got <= fair + B_SHARE_MOST + 2 * with.turn + length / B_SHARE_WHOLE + 1);
            }
}

/* Whoever wants all the time gets the share, and whoever wants less than it never waits. */
TEST(the_share_is_there_for_whoever_wants_it)
{
    pattern always = {HALF, 40000, 1};
    int64_t got = play_pattern(&always, 10 * SECOND);
    CHECK(got >= 5 * SECOND);
    pattern seldom = {HALF, 40000, 1000000};
    got = play_pattern(&seldom, 10 * SECOND);
    CHECK(got / seldom.turn >= 10 * SECOND / (seldom.turn + seldom.pause));
}
