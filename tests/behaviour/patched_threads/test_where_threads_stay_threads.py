"""Threads of the system are started where no scheduler would run a tasklet, or none is wanted."""

import asyncio
import threading
import time

import loomlet
from loomlet import patch


def a_new_thread_is_a_tasklet():
    """Whether it runs as one, or is a thread of the system."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(not loomlet.current().is_main))
    thread.start()
    thread.join()
    return seen[0]


def test_outside_run():
    """No scheduler would run it."""
    assert not a_new_thread_is_a_tasklet()


def test_in_a_thread_that_has_no_run():
    """One of the system's, also while another one is inside run()."""
    seen = []

    def main():
        patch.uninstall()
        begun = threading.Event()
        other = threading.Thread(
            target=lambda: (
                begun.wait(),
                seen.append(a_new_thread_is_a_tasklet()),
            )
        )
        other.start()
        patch.install(threads=True)
        begun.set()
        other.join()

    loomlet.run(main)
    assert seen == [False]


def test_each_run_has_its_own():
    """In a second thread with a run() threads are tasklets of that thread."""
    seen = []

    def main():
        seen.append(a_new_thread_is_a_tasklet())

    other = threading.Thread(target=loomlet.run, args=(main,))
    other.start()
    other.join()
    assert seen == [True]


def test_without_threads_in_install():
    """install() alone leaves them to the system."""
    patch.uninstall()
    patch.install()
    assert not loomlet.run(a_new_thread_is_a_tasklet)


def test_once_asked_for_it_stays():
    """A later install() without `threads`, of a library say, takes nothing back."""
    patch.install()
    assert loomlet.run(a_new_thread_is_a_tasklet)


def test_running_threads_continue_after_uninstall():
    """They end as tasklets do, and their joiners continue."""

    def main():
        thread = threading.Thread(target=time.sleep, args=(0.001,))
        thread.start()
        patch.uninstall()
        thread.join()
        assert not thread.is_alive()
        assert not a_new_thread_is_a_tasklet()

    loomlet.run(main)


def test_code_of_a_running_event_loop():
    """What asyncio gives to a thread is there because it blocks."""

    async def main():
        return await asyncio.to_thread(threading.get_native_id)

    assert loomlet.run(asyncio.run, main()) != threading.get_native_id()
