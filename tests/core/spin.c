/* base/b_spin.h: who is worth staying awake for. */
#include "base/b_spin.h"
#include "runner.h"

#define SHORT 1000
#define LONG (B_SPIN_TIME * 100)

/* One sleep; whether it began with a watch. */
static int sleeps(b_spin *e, int64_t took)
{
    int64_t watched = b_spin_time(e);
    CHECK(watched == 0 || watched == B_SPIN_TIME);
    b_spin_learn(e, watched, took);
    return watched > 0;
}

TEST(an_idle_one_never_watches)
{
    b_spin e = B_SPIN_BEGIN;
    for (int i = 0; i < 1000; i++)
        CHECK(!sleeps(&e, LONG));
}

TEST(one_whose_peer_answers_at_once_watches)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleeps(&e, SHORT));
    for (int i = 0; i < 1000; i++)
        CHECK(sleeps(&e, SHORT));
}

TEST(a_sleep_that_was_mostly_wake_ups_is_short)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleeps(&e, B_SPIN_TIME * 2));
    CHECK(sleeps(&e, SHORT));
}

TEST(a_watch_that_ends_a_little_too_soon_is_in_vain)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleeps(&e, SHORT));
    CHECK(sleeps(&e, B_SPIN_TIME + 1));
    CHECK(!sleeps(&e, SHORT));
    CHECK(sleeps(&e, SHORT));
}

TEST(watches_in_vain_become_rare)
{
    b_spin e = B_SPIN_BEGIN;
    int count = 0;
    for (int i = 0; i < 100000; i++)
        count += sleeps(&e, b_spin_time(&e) > 0 ? LONG : SHORT);
    CHECK(count > 770 && count < 800);
}

TEST(one_watch_in_time_forgives_all)
{
    b_spin e = B_SPIN_BEGIN;
    for (int i = 0; i < 5000; i++)
        sleeps(&e, b_spin_time(&e) > 0 ? LONG : SHORT);
    while (!sleeps(&e, SHORT))
        ;
    CHECK(sleeps(&e, LONG));
    CHECK(!sleeps(&e, SHORT));
    CHECK(sleeps(&e, SHORT));
}

TEST(a_long_sleep_without_a_watch_changes_nothing)
{
    b_spin e = B_SPIN_BEGIN;
    sleeps(&e, SHORT);
    CHECK(sleeps(&e, LONG));
    CHECK(!sleeps(&e, LONG));
    CHECK(!sleeps(&e, SHORT));
    CHECK(sleeps(&e, SHORT));
}
