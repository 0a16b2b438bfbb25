"""Each thread has a scheduler and a main tasklet of its own, made when they are first needed."""

import threading

import loomlet.compat.stackless as stackless


def test_the_first_caller_is_the_main_tasklet():
    """Spec 1, main tasklet: the code that uses stackless first is it; it runs."""
    main = stackless.getmain()
    assert main is stackless.getcurrent()
    assert type(main) is stackless.tasklet
    assert main.is_main
    assert main.is_current
    assert main.alive


def test_each_thread_has_its_own(thread):
    """Spec 1, main tasklet: another thread has another one, and its own run queue."""
    mine = stackless.getmain()
    waiting = stackless.tasklet(lambda: None)()

    def look():
        main = stackless.getmain()
        return main is not mine, main is stackless.getcurrent(), stackless.getruncount()

    assert thread(look).result() == (True, True, 1)
    assert stackless.getruncount() == 2
    waiting.remove()


def test_tasklets_run_on_the_thread_that_made_them(thread):
    """Spec 1, main tasklet: run() runs the queue of the calling thread only."""
    log = []
    stackless.tasklet(lambda: log.append(threading.get_ident()))()
    other = thread(stackless.run)
    assert other.result() is None
    assert log == []
    stackless.run()
    assert log == [threading.get_ident()]
