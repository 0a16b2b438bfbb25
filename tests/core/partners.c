/* base/b_partners.h: how often a thread is interrupted for one that was woken. */
#include "base/b_partners.h"
#include "runner.h"

#define ONE ((uintptr_t)0x7f0000001000)
#define BEGIN INT64_C(1000000000)

/* Another address with the same slot in the table, or with another one. */
static uintptr_t address_beside(uintptr_t who, int same)
{
    uintptr_t other = who + 64;
    while ((b_partner_slot(other) == b_partner_slot(who)) != same)
        other += 64;
    return other;
}

TEST(a_thread_that_computes_is_always_interrupted)
{
    b_partners partners = {0};
    CHECK(b_partner_wait(&partners, ONE, BEGIN) == 0);
    b_partner_interrupt(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, ONE, BEGIN + 1) == 0);
}

TEST(a_partner_is_interrupted_once_and_again_after_the_pause)
{
    b_partners partners = {0};
    b_partner_note(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, ONE, BEGIN) == 0);
    b_partner_interrupt(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, ONE, BEGIN + 1) == B_PARTNER_PAUSE - 1);
    CHECK(b_partner_wait(&partners, ONE, BEGIN + B_PARTNER_PAUSE - 1) == 1);
    CHECK(b_partner_wait(&partners, ONE, BEGIN + B_PARTNER_PAUSE) == 0);
}

TEST(all_partners_share_one_pause)
{
    b_partners partners = {0};
    uintptr_t other = address_beside(ONE, 0);
    b_partner_note(&partners, ONE, BEGIN);
    b_partner_note(&partners, other, BEGIN);
    b_partner_interrupt(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, other, BEGIN + 1) > 0);
}

TEST(what_is_interrupted_while_it_computes_begins_no_pause)
{
    b_partners partners = {0};
    b_partner_interrupt(&partners, address_beside(ONE, 0), BEGIN);
    b_partner_note(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, ONE, BEGIN) == 0);
}

TEST(who_has_met_nobody_for_long_computes)
{
    b_partners partners = {0};
    b_partner_note(&partners, ONE, BEGIN);
    CHECK(b_is_partner(&partners, ONE, BEGIN + B_PARTNER_TIME - 1));
    CHECK(!b_is_partner(&partners, ONE, BEGIN + B_PARTNER_TIME));
}

TEST(the_latest_in_a_slot_is_known)
{
    b_partners partners = {0};
    uintptr_t other = address_beside(ONE, 1);
    b_partner_note(&partners, ONE, BEGIN);
    b_partner_note(&partners, other, BEGIN);
    CHECK(!b_is_partner(&partners, ONE, BEGIN));
    CHECK(b_is_partner(&partners, other, BEGIN));
}

TEST(a_clock_that_is_read_late_makes_no_longer_pause)
{
    b_partners partners = {0};
    b_partner_note(&partners, ONE, BEGIN);
    b_partner_interrupt(&partners, ONE, BEGIN);
    CHECK(b_partner_wait(&partners, ONE, BEGIN - 1000) == B_PARTNER_PAUSE);
}
