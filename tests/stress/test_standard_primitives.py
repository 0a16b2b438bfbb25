"""CPython's own tests of locks, conditions and queues, on those of loomlet.sync.

Left out (None) is what the documentation of `threading` does not promise: texts of repr(), names
with an underscore, a refusal of a timeout because it is long, and a condition of a builtin lock.
Some ten seconds, most of which these tests wait.
"""

import unittest

import pytest

from loomlet import sync

lock_tests = pytest.importorskip("test.lock_tests", reason="this Python is without its own tests")
test_queue = pytest.importorskip("test.test_queue", reason="this Python is without its own tests")


class Queue(test_queue.QueueTest, unittest.TestCase):
    queue = sync


class LifoQueue(test_queue.LifoQueueTest, unittest.TestCase):
    queue = sync


class PriorityQueue(test_queue.PriorityQueueTest, unittest.TestCase):
    queue = sync


class SimpleQueue(test_queue.BaseSimpleQueueTest, unittest.TestCase):
    queue = sync

    def setUp(self):
        self.type2test = sync.SimpleQueue
        super().setUp()


class Lock(lock_tests.LockTests):
    locktype = staticmethod(sync.Lock)
    test_repr = test_locked_repr = test_timeout = None


class RLock(lock_tests.RLockTests):
    locktype = staticmethod(sync.RLock)
    test_repr = test_locked_repr = test_timeout = None


class LockOfACondition(lock_tests.LockTests):
    def locktype(self):
        return sync.Condition(sync.Lock())

    test_repr = test_locked_repr = test_timeout = test_at_fork_reinit = None


class RLockOfACondition(lock_tests.RLockTests):
    def locktype(self):
        return sync.Condition()

    test_repr = test_locked_repr = test_timeout = None
    test__is_owned = test_recursion_count = test_release_save_unacquired = None


class Event(lock_tests.EventTests):
    eventtype = staticmethod(sync.Event)
    test_repr = test_at_fork_reinit = None


class Condition(lock_tests.ConditionTests):
    condtype = staticmethod(sync.Condition)
    test_acquire = None


class Semaphore(lock_tests.SemaphoreTests):
    semtype = staticmethod(sync.Semaphore)
    test_repr = None


class BoundedSemaphore(lock_tests.BoundedSemaphoreTests):
    semtype = staticmethod(sync.BoundedSemaphore)
    test_repr = None


class Barrier(lock_tests.BarrierTests):
    barriertype = staticmethod(sync.Barrier)
    test_repr = None
