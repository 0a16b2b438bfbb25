"""CPython's own tests of threads, queues, executors and logging, with install(sync=True).

What is left out is named with its reason.  Each module is run in a process of its own, because the
names have to be replaced before it is imported.  Most of the time these tests wait.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("helpers_standard_tests.py")

LEFT_OUT = {
    "test_threading": {
        "LockTests.test_timeout": "no timeout is too long for us",
        "ConditionAsRLockTests.test_timeout": "no timeout is too long for us",
        "ConditionAsRLockTests.test_repr": "a condition does not say what its lock is",
        "ConditionAsRLockTests.test_locked_repr": "a condition does not say what its lock is",
        "EventTests.test_at_fork_reinit": "an event has no condition inside",
        "test_signature": "a lock that is called with arguments is an error, not a warning",
        "test__all__": "the names of a module that says where its classes are from",
        "test_lock_no_subclass": "a lock may have subclasses",
        "test_disallow_instantiation": "the class of a lock may be called",
        "test_import_from_another_thread": "loomlet imports threading first",
    },
    "test_queue": {},
    "test_sched": {},
    "test_logging": {
        "test_relativeCreated_has_higher_precision": "loomlet imports logging first",
    },
    "test_concurrent_futures.test_thread_pool": {},
    "test_concurrent_futures.test_future": {},
}


def is_there(module):
    """Some interpreters come without their tests, or have them elsewhere."""
    try:
        return importlib.util.find_spec(f"test.{module}") is not None
    except ImportError:
        return False


@pytest.mark.parametrize("module", LEFT_OUT)
def test_a_module_of_the_standard_tests(module):
    if not is_there(module):
        pytest.skip(f"this Python is without test.{module}")
    command = [sys.executable, str(RUNNER), module, *LEFT_OUT[module]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 5
