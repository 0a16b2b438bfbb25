/* base/b_spin.h: when a spin pays. */
#include "base/b_spin.h"
#include "runner.h"

#define SHORT 1000
#define LONG (B_SPIN_TIME * 100)

/* One sleep; whether it began with a spin. */
static int sleep_once(b_spin *e, int64_t took)
{
    int64_t spun = b_spin_time(e);
    CHECK(spun == 0 || spun == B_SPIN_TIME);
    b_spin_learn(e, spun, took, 0);
    return spun > 0;
}

TEST(an_idle_sleeper_never_spins)
{
    b_spin e = B_SPIN_BEGIN;
    for (int i = 0; i < 1000; i++)
        CHECK(!sleep_once(&e, LONG));
}

TEST(a_sleeper_whose_peer_answers_at_once_spins)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleep_once(&e, SHORT));
    for (int i = 0; i < 1000; i++)
        CHECK(sleep_once(&e, SHORT));
}

TEST(a_sleep_that_was_mostly_wake_ups_is_short)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleep_once(&e, B_SPIN_TIME * 2));
    CHECK(sleep_once(&e, SHORT));
}

TEST(a_spin_that_ends_a_little_too_soon_is_in_vain)
{
    b_spin e = B_SPIN_BEGIN;
    CHECK(!sleep_once(&e, SHORT));
    CHECK(sleep_once(&e, B_SPIN_TIME + 1));
    CHECK(!sleep_once(&e, SHORT));
    CHECK(sleep_once(&e, SHORT));
}

TEST(spins_in_vain_become_rare)
{
    b_spin e = B_SPIN_BEGIN;
    int count = 0;
    for (int i = 0; i < 100000; i++)
        count += sleep_once(&e, b_spin_time(&e) > 0 ? LONG : SHORT);
    CHECK(count > 100 && count < 110);
}

TEST(a_peer_that_answers_at_once_again_is_soon_spun_for)
{
    b_spin e = B_SPIN_BEGIN;
    for (int i = 0; i < 5000; i++)
        sleep_once(&e, b_spin_time(&e) > 0 ? LONG : SHORT);
    while (!sleep_once(&e, SHORT))
        ;
    for (int i = 0; i < 10; i++)
        CHECK(sleep_once(&e, SHORT));
    CHECK(sleep_once(&e, LONG));
    CHECK(!sleep_once(&e, SHORT));
    CHECK(sleep_once(&e, SHORT));
}

/* The back-off grows faster by a spin in vain than it shrinks by a success. */
TEST(one_success_for_two_spins_in_vain_does_not_pay)
{
    b_spin e = B_SPIN_BEGIN;
    int count = 0;
    for (int i = 0; i < 100000; i++)
        if (sleep_once(&e, b_spin_time(&e) > 0 && count % 3 != 0 ? LONG : SHORT))
            count++;
    CHECK(count < 3000);
}

TEST(a_long_sleep_without_a_spin_changes_nothing)
{
    b_spin e = B_SPIN_BEGIN;
    sleep_once(&e, SHORT);
    CHECK(sleep_once(&e, LONG));
    CHECK(!sleep_once(&e, LONG));
    CHECK(!sleep_once(&e, SHORT));
    CHECK(sleep_once(&e, SHORT));
}

/* The system has taken the processor from the spin, so the peer could answer. */
TEST(a_spin_on_a_crowded_processor_is_in_vain)
{
    b_spin e = B_SPIN_BEGIN;
    int count = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t spun = b_spin_time(&e);
        count += spun > 0;
        b_spin_learn(&e, spun, SHORT, spun > 0);
    }
    CHECK(count > 100 && count < 110);
}

/* Else two threads that the system has put on one processor would stay there. */
TEST(a_short_sleep_on_a_crowded_processor_is_short)
{
    b_spin e = B_SPIN_BEGIN;
    b_spin_learn(&e, b_spin_time(&e), SHORT, 1);
    CHECK(sleep_once(&e, SHORT));
}

TEST(a_failure_counts_up_to_the_limit_of_the_caller)
{
    b_spin e = {0, 0};
    for (int i = 0; i < 100; i++)
        b_spin_fail(&e, 5000);
    CHECK(e.needed == 5000 && e.vain == 5000);
}
