/* A very small test runner for the rooms without Python.
 *
 * TEST(name) { ... } defines and registers a test; CHECK(condition) ends the
 * process with its file and line when the condition does not hold.  A test that hangs is
 * ended by an alarm.  Each test has a process of its own: `core_tests` runs them
 * one after the other, `core_tests NAME` only that one.
 */
#ifndef LOOMLET_TEST_RUNNER_H
#define LOOMLET_TEST_RUNNER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static runner_test self = {#name, name, NULL};                                             \
        runner_register(&self);                                                                    \
    }                                                                                              \
    static void name(void)

typedef struct runner_test {
    const char *name;
    void (*run)(void);
    struct runner_test *next;
} runner_test;

void runner_register(runner_test *test);
/* The same numbers in every run: a fresh sequence for each test. */
uint64_t runner_random(void);
/* Runs `body` on another thread and sends it signals until it has ended. */
void runner_interrupt(void (*body)(void));
/* Four threads at once, each of which calls work with its number, from 1 on, as a pointer; returns
 * when they have ended. */
void runner_run_four(void *(*work)(void *number));
/* How many pages of [at, at + size) are in memory. */
size_t runner_resident(void *at, size_t size);
/* How many of the following calls of realloc and calloc succeed before one fails; -1: all. */
extern int runner_allocations;

#endif
