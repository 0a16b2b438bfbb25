/* base/b_numbers.h: addresses keep the number with which they were added. */
#include "base/b_numbers.h"
#include "runner.h"

enum { MANY = 50000 };

static const void *address_of(uint64_t number)
{
    return (const void *)(uintptr_t)(number * 48 + 0x1000);
}

TEST(addresses_are_numbered_in_order)
{
    b_numbers table = {0};
    CHECK(b_number_of(&table, address_of(0)) == -1);
    for (int i = 0; i < MANY; i++) {
        CHECK(b_number_add(&table, address_of((uint64_t)i * 7919 % MANY)) == i);
        CHECK(b_number_of(&table, address_of((uint64_t)i * 7919 % MANY)) == i);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(b_number_add(&table, address_of((uint64_t)i * 7919 % MANY)) == i);
        CHECK(table.addresses[i] == address_of((uint64_t)i * 7919 % MANY));
    }
    CHECK(table.count == MANY);
    CHECK(b_number_of(&table, address_of(MANY)) == -1);
    b_numbers_free(&table);
    CHECK(b_number_of(&table, address_of(0)) == -1);
}

TEST(addresses_at_random_keep_their_numbers)
{
    b_numbers table = {0};
    static const void *added[MANY];
    for (int i = 0; i < MANY;) {
        const void *address = (const void *)(uintptr_t)runner_random();
        if (b_number_of(&table, address) >= 0)
            continue;
        added[i] = address;
        CHECK(b_number_add(&table, address) == i++);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(b_number_of(&table, added[i]) == i);
    b_numbers_free(&table);
}

TEST(a_table_without_memory_is_as_it_was)
{
    b_numbers table = {0};
    int count = 0;
    for (; count < 1000; count++) {
        int number, allocations = 0;
        do {
            runner_allocations = allocations++;
            number = b_number_add(&table, address_of((uint64_t)count));
            runner_allocations = -1;
            CHECK(number == count || number == -1);
            CHECK(table.count == count + (number >= 0));
        } while (number < 0);
    }
    for (int i = 0; i < count; i++)
        CHECK(b_number_of(&table, address_of((uint64_t)i)) == i);
    b_numbers_free(&table);
}
