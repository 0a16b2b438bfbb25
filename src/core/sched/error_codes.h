/* Every error code, written once.
 *
 * S_ERROR_CODES(X) is X(NAME, what it says) for each: S_E_NAME is minus its position in the list.
 * bind/errors.c exports the numbers by name, and loomlet.errors makes an exception of each.
 */
#ifndef LOOMLET_SCHED_ERROR_CODES_H
#define LOOMLET_SCHED_ERROR_CODES_H

#define S_ERROR_CODES(X)                                                                           \
    X(SET, "a Python exception is set")                                                            \
    X(MEMORY, "there is no memory")                                                                \
    X(KILLED, "no error: the exception that kill() raises")                                        \
    X(DEAD, "the tasklet has ended")                                                               \
    X(THREAD, "it belongs to another thread")                                                      \
    X(TRAPPED, "no switch is possible inside a scheduler callback")                                \
    X(BLOCKED, "the tasklet is blocked, and must not be")                                          \
    X(CURRENT, "the tasklet is the current one")                                                   \
    X(CANCELLED, "its scope is cancelled")                                                         \
    X(CLOSED, "the channel is closed")                                                             \
    X(TIMEOUT, "the time is over")                                                                 \
    X(MAIN, "it is the main tasklet")                                                              \
    X(NESTED, "run() inside run()")                                                                \
    X(DEADLOCK, "deadlock: nothing can wake a tasklet any more")                                   \
    X(FREE, "release of a lock that is not held")                                                  \
    X(NOT_HELD, "the tasklet does not hold the lock of a condition")                               \
    X(FOREIGN, "release of a reentrant lock that another tasklet holds")                           \
    X(NO_ITEM, "a queue has no item")                                                              \
    X(NO_ROOM, "a queue has no room for another item")                                             \
    X(SHUT, "a queue was shut down")                                                               \
    X(NO_TASK, "all tasks of a queue are done already")                                            \
    X(FULL, "a semaphore would have more permits than it may")                                     \
    X(STUCK, "C frames hold the tasklet where it is")                                              \
    X(KEPT, "C frames of the tasklet cannot be dropped")                                           \
    X(SCOPE_USED, "a scope is entered a second time")                                              \
    X(SCOPE_ORDER, "a scope is left out of order, or by another tasklet")                          \
    X(SCOPE_LATE, "the time of a timeout scope is over")                                           \
    X(GROUP_CLOSED, "a group takes no more children")                                              \
    X(LAST, "Stackless: the last runnable tasklet must not block")                                 \
    X(NO_SENDER, "Stackless: main receives and no sender is left")                                 \
    X(NO_RECEIVER, "Stackless: main sends and no receiver is left")                                \
    X(BLOCK_TRAP, "Stackless: the tasklet does not want to wait")                                  \
    X(RECURSIVE, "Stackless: a channel is used inside a channel callback")                         \
    X(UNBOUND, "Stackless: there is no function to be called")                                     \
    X(ALIVE, "Stackless: the tasklet has not ended")                                               \
    X(SNAPSHOT, "a snapshot does not fit")                                                         \
    X(NOT_FREEZABLE, "a tasklet cannot be frozen where it is")                                     \
    X(DESCRIPTOR, "the descriptor is closed")                                                      \
    X(ENDED, "the peer has sent less than was asked for")                                          \
    X(NO_THREAD, "the system cannot start a thread")                                               \
    X(EXITING, "the interpreter is shutting down")                                                 \
    X(NO_SCHEDULER, "no living thread with that id has used loomlet")                              \
    X(GREENLETS, "another tasklet of the thread uses the extension module greenlet")               \
    X(FORKED, "in the child of a fork: the function's thread is not here")                         \
    X(AWAY, "C frames hold the tasklet in a thread that is not its scheduler's own")               \
    X(NOT_PINNED, "the tasklet is not inside pinned()")                                            \
    X(TOO_DEEP, "the tasklet is inside pinned() as often as can be counted")

#define S_ERROR_POSITION(name, text) S_POSITION_##name,
enum { S_OK, S_ERROR_CODES(S_ERROR_POSITION) };
#undef S_ERROR_POSITION

#define S_ERROR_NUMBER(name, text) S_E_##name = -S_POSITION_##name,
enum {
    S_ERROR_CODES(S_ERROR_NUMBER) S_E_SYSTEM = -1000, /* minus an errno: the system refused */
};
#undef S_ERROR_NUMBER

#endif
