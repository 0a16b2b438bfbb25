"""`python -m loomlet run`: what happens at the end of a program is what happens under python.

Each program runs under plain python and under `loomlet run`, with and without handoff, with and
without --sync; the exit status, stdout and stderr are the same.  Threads sleep in them where main
has to end before they do.  What differs by intent has tests of its own at the end of the file.
"""

import os
import re
import subprocess
import sys
import textwrap

import pytest

EXECUTORS = {
    "a thread pool that is not shut down": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        for n in range(3):
            pool.submit(lambda n: (time.sleep(0.02), print("work", n)), n)
        print("main ends")
    """,
    "an exception in main, and a pool at work": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        for n in range(3):
            pool.submit(lambda n: (time.sleep(0.02), print("work", n)), n)
        raise KeyError("main")
    """,
    "sys.exit, and a pool at work": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        for n in range(3):
            pool.submit(lambda n: (time.sleep(0.02), print("work", n)), n)
        sys.exit(3)
    """,
    "an exception in the block of a pool": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: (time.sleep(0.02), print("work")))
            raise ValueError("block")
    """,
    "a thread that submits after the end": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        def body():
            while not threading._SHUTTING_DOWN:
                time.sleep(0.005)
            time.sleep(0.03)
            try:
                pool.submit(int)
            except RuntimeError as error:
                print(error)
        threading.Thread(target=body).start()
    """,
    "work that submits after the end": """
        from concurrent.futures import ThreadPoolExecutor, thread
        pool = ThreadPoolExecutor(1)
        def body():
            while not thread._shutdown:
                time.sleep(0.005)
            try:
                pool.submit(int)
            except RuntimeError as error:
                print(error)
        pool.submit(body)
    """,
    "a submit in an exit function": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        @atexit.register
        def last():
            try:
                pool.submit(int)
            except RuntimeError as error:
                print(error)
    """,
    "a new pool in an exit function": """
        from concurrent.futures import ThreadPoolExecutor
        @atexit.register
        def last():
            try:
                ThreadPoolExecutor(1).submit(int).result()
            except RuntimeError as error:
                print(error)
    """,
    "asyncio.to_thread": """
        import asyncio
        async def main():
            later = asyncio.create_task(asyncio.to_thread(time.sleep, 0.02))
            await asyncio.sleep(0.001)
        asyncio.run(main())
        print("end")
    """,
    "a function of an event loop that is still at work": """
        import asyncio
        async def main():
            loop.run_in_executor(None, lambda: (time.sleep(0.05), print("late")))
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        print("end")
    """,
}

PROCESSES = {
    "a process pool that is not shut down": """
        from concurrent.futures import ProcessPoolExecutor
        pool = ProcessPoolExecutor(1, mp_context=fork)
        print(list(pool.map(abs, [-1, -2, -3])))
    """,
    "a process pool at work": """
        from concurrent.futures import ProcessPoolExecutor
        pool = ProcessPoolExecutor(2, mp_context=fork)
        works = [pool.submit(time.sleep, 0.05) for _ in range(3)]
        works[2].add_done_callback(lambda work: print("done", work.exception()))
        sys.exit(3)
    """,
    "a pool of multiprocessing that is not closed": """
        pool = fork.Pool(2)
        print(pool.map(abs, [-1, -2]))
    """,
    "an exception in main, and a pool of multiprocessing at work": """
        pool = fork.Pool(1)
        result = pool.apply_async(time.sleep, (60,))
        raise KeyError("main")
    """,
    "a thread pool of multiprocessing": """
        from multiprocessing.pool import ThreadPool
        pool = ThreadPool(2)
        print(pool.map(abs, [-1, -2]))
    """,
    "a child at work": """
        fork.Process(target=lambda: (time.sleep(0.05), print("child", flush=True))).start()
        print("main", flush=True)
    """,
    "a daemon child": """
        fork.Process(target=time.sleep, args=(60,), daemon=True).start()
    """,
    "a queue with an item that is on its way": """
        queue = fork.Queue()
        fork.Process(target=lambda: print(len(queue.get()), flush=True)).start()
        queue.put("x" * 1000000)
    """,
    "a manager": """
        shared = fork.Manager().dict()
        shared[1] = 2
        print(dict(shared))
    """,
    "os.fork": """
        atexit.register(lambda: print("exit function", flush=True))
        if os.fork() == 0:
            threading.Thread(target=lambda: (time.sleep(0.02), print("child", flush=True))).start()
            sys.exit(4)
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    """,
    "os.fork in a thread": """
        atexit.register(lambda: print("exit function", flush=True))
        def body():
            if os.fork() == 0:
                print("child", flush=True)
            else:
                print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
        threading.Thread(target=body).start()
    """,
}

THREADS = {
    "a daemon that helps an exit function": """
        event, seen = threading.Event(), threading.Event()
        threading.Thread(target=lambda: (event.wait(), seen.set()), daemon=True).start()
        @atexit.register
        def last():
            event.set()
            print(seen.wait(60))
    """,
    "a daemon that holds a lock": """
        lock = threading.Lock()
        threading.Thread(target=lambda: (lock.acquire(), time.sleep(60)), daemon=True).start()
        while not lock.locked():
            time.sleep(0.001)
        atexit.register(lambda: print(lock.acquire(timeout=0.01)))
    """,
    "a listener of log records, stopped in an exit function": """
        import logging, logging.handlers, queue
        records = queue.Queue()
        listener = logging.handlers.QueueListener(records, logging.StreamHandler(sys.stdout))
        listener.start()
        atexit.register(listener.stop)
        logging.getLogger().addHandler(logging.handlers.QueueHandler(records))
        for n in range(5):
            logging.warning("line %d", n)
    """,
    "a timer": """
        threading.Timer(0.03, print, ["timer"]).start()
        sys.exit("bye")
    """,
    "a thread in an exit function": """
        @atexit.register
        def last():
            try:
                thread = threading.Thread(target=lambda: (time.sleep(0.01), print("thread")))
                thread.start()
                thread.join()
            except RuntimeError as error:
                print(error)
    """,
    "a thread that joins main": """
        threading.Thread(target=lambda: (threading.main_thread().join(), print("ended"))).start()
        time.sleep(0.02)
        print("main", threading.main_thread().is_alive())
    """,
    "threads that join main, one with a limit": """
        main = threading.main_thread()
        threads = [threading.Thread(target=main.join, args=(60,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        def body():
            main.join(0.001)
            print(main.is_alive())
            main.join(-1)
            main.join()
            for thread in threads:
                thread.join()
            print(main.is_alive())
        threads.append(main)
        threading.Thread(target=body).start()
        time.sleep(0.05)
    """,
    "a thread that asks whether main is alive": """
        def body():
            while threading.main_thread().is_alive():
                time.sleep(0.005)
            print("ended")
        threading.Thread(target=body).start()
        print("main")
    """,
    "the order of everything": """
        import weakref
        thing = type("Thing", (), {})()
        weakref.finalize(thing, print, "finalizer")
        atexit.register(print, "exit 1")
        atexit.register(print, "exit 2")
        threading._register_atexit(print, "hook 1")
        threading._register_atexit(print, "hook 2")
        threading.Thread(target=lambda: (time.sleep(0.03), print("thread"))).start()
        print("main")
    """,
    "a hook that comes too late": """
        def body():
            while not threading._SHUTTING_DOWN:
                time.sleep(0.005)
            try:
                threading._register_atexit(print)
            except RuntimeError as error:
                print(error)
        threading.Thread(target=body).start()
    """,
    "an exit function that a thread registers": """
        def body():
            time.sleep(0.02)
            atexit.register(print, "registered late")
        threading.Thread(target=body).start()
    """,
    "what main and threads have for exception hooks": """
        sys.excepthook = lambda kind, error, trace: print("main", kind.__name__)
        threading.excepthook = lambda found: print("thread", found.exc_type.__name__)
        threading.Thread(target=lambda: (time.sleep(0.02), 1 / 0)).start()
        raise ValueError("main")
    """,
    "os._exit in a thread": """
        threading.Thread(target=os._exit, args=(7,)).start()
        time.sleep(60)
    """,
    "sys.exit in a thread": """
        thread = threading.Thread(target=sys.exit, args=(4,))
        thread.start()
        thread.join()
    """,
}

SIGNALS = {
    "SIGINT in main": """
        atexit.register(print, "exit function")
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    """,
    "KeyboardInterrupt that main raises, and its own hook": """
        sys.excepthook = lambda kind, error, trace: print(kind.__name__)
        raise KeyboardInterrupt
    """,
    "SIGINT in main, and a pool at work": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        def work():
            time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.03)
            print("work", flush=True)
        pool.submit(work)
        time.sleep(60)
    """,
    "SIGINT while a pool shuts down": """
        from concurrent.futures import ThreadPoolExecutor, thread
        atexit.register(print, "exit function")
        threading._register_atexit(print, "hook that is not reached")
        threading._register_atexit(time.sleep, 60)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
    """,
    "SIGTERM while a pool shuts down": """
        from concurrent.futures import ThreadPoolExecutor, thread
        pool = ThreadPoolExecutor(1)
        def work():
            while not thread._shutdown:
                time.sleep(0.005)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        pool.submit(work)
    """,
    "sys.exit of a handler while a pool shuts down": """
        from concurrent.futures import ThreadPoolExecutor, thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
        pool = ThreadPoolExecutor(1)
        def work():
            while not thread._shutdown:
                time.sleep(0.005)
            time.sleep(0.03)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.03)
        pool.submit(work)
    """,
    "sys.exit of a handler in main, and a pool at work": """
        from concurrent.futures import ThreadPoolExecutor
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
        pool = ThreadPoolExecutor(1)
        def work():
            time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.03)
            print("work", flush=True)
        pool.submit(work)
        time.sleep(60)
    """,
}

OTHERS = {
    "exit functions that fail": """
        atexit.register(print, "first")
        def fail():
            raise KeyError("exit function")
        atexit.register(fail)
        atexit.register(sys.exit, 6)
    """,
    "a hook that fails": """
        atexit.register(print, "exit function")
        threading._register_atexit(print, "hook that is not reached")
        def fail():
            raise KeyError("hook")
        threading._register_atexit(fail)
        threading._register_atexit(print, "hook")
    """,
    "a hook that fails, with a hook for it": """
        sys.unraisablehook = lambda found: print(found.exc_type.__name__, found.exc_value)
        def fail():
            raise KeyError("hook")
        threading._register_atexit(fail)
    """,
    "temporary files": """
        import tempfile
        folder, file = tempfile.TemporaryDirectory(), tempfile.NamedTemporaryFile()
        atexit.register(lambda: print(os.path.exists(folder.name), os.path.exists(file.name)))
    """,
    "a global that is dropped": """
        class Thing:
            def __del__(self):
                print("dropped")
        thing = Thing()
    """,
    "a generator that is dropped": """
        def steps():
            try:
                yield
            finally:
                print("closed")
        each = steps()
        next(each)
    """,
    "a sub-interpreter": """
        try:
            import _interpreters
        except ImportError:
            import _xxsubinterpreters as _interpreters
        number = _interpreters.create()
        _interpreters.run_string(number, "print('sub', flush=True)")
        print("main")
    """,
}

BEGIN = "import atexit, multiprocessing, os, signal, sys, threading, time\n"
BEGIN += "fork = multiprocessing.get_context('fork')\n"
PROGRAMS = {**EXECUTORS, **PROCESSES, **THREADS, **SIGNALS, **OTHERS}
TRIES = 3
"""On a busy machine a thread may print before main has come to its end, here or there."""
WAYS = {
    "default": ["run"],
    "no handoff, --sync": ["run", "--no-handoff", "--sync"],
}


@pytest.fixture
def outcome(tmp_path):
    """Runs a program under python with these words; its status, stdout and stderr."""

    def run(text, *words):
        path = tmp_path / "program.py"
        path.write_text(BEGIN + textwrap.dedent(text))
        line = [sys.executable, "-W", "ignore::DeprecationWarning", *words, path]
        pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        env = {**os.environ, "LOOMLET_STALL": "0"}  # a busy machine is no matter here
        done = subprocess.run(line, **pipes, check=False, timeout=60, env=env)
        return done.returncode, done.stdout, done.stderr

    return run


def without_frames(stderr):
    """The frames below an exception that is ignored are the interpreter's, or ours."""
    text = re.sub(POOL_IS_DROPPED, "", re.sub(r" at 0x\w+>", ">", stderr))
    if "Exception ignored" not in text:
        return text.splitlines()
    text = re.sub("in: <module 'threading' from .*>", "on threading shutdown", text)
    lines = [line.rstrip(": ") for line in text.splitlines() if not line.startswith(" ")]
    return [line for line in lines if line != "Traceback (most recent call last)"]


POOL_IS_DROPPED = (
    r"Exception ignored in: <function Pool.__del__>\n(Traceback.*\n|  .*\n)+\w+Error: .*\n"
)
"""Of 3.13t: `multiprocessing` is half gone when a global pool is dropped at last."""


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_ends_as_under_python(outcome, text):
    """Status and output are the same, and so are tracebacks."""
    if text is THREADS["a thread in an exit function"] and sys.version_info[:2] == (3, 12):
        pytest.skip("3.12 refuses to start a thread there")
    wanted = outcome(text)
    for words in WAYS.values():
        found = outcome(text, "-m", "loomlet", *words)
        for _ in range(TRIES):
            if found[:2] != wanted[:2]:
                wanted, found = outcome(text), outcome(text, "-m", "loomlet", *words)
        assert found[:2] == wanted[:2], (words, found[2])
        assert without_frames(found[2]) == without_frames(wanted[2]), words


AT_WORK = """
    from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
    threads, processes = ThreadPoolExecutor(1), ProcessPoolExecutor(1, mp_context=fork)
    processes.submit(int).result()
    threads.submit(lambda: (time.sleep(0.02), print("work")))
    threading.Thread(target=lambda: (time.sleep(0.03), print("thread"))).start()
    atexit.register(print, "exit function")
"""


def test_it_ends_as_under_python_with_threads_of_the_system(outcome):
    """--os-threads; a fork in such a thread leaves a child that ends."""
    for text in (AT_WORK, PROCESSES["os.fork in a thread"]):
        assert outcome(text, "-m", "loomlet", "run", "--os-threads") == outcome(text)


KILLED = """
    def body():
        try:
            threading.Event().wait()
        finally:
            print("killed")
    atexit.register(print, "exit function")
    threading.Thread(target=body, daemon={daemon}).start()
    time.sleep(0.001)
    {end}
"""


def test_what_ctrl_c_does_not_wait_for(outcome):
    """Threads are killed after the exit functions, where python would wait for another Ctrl-C."""
    text = KILLED.format(daemon=False, end="raise KeyboardInterrupt")
    status, stdout, _ = outcome(text, "-m", "loomlet", "run")
    assert (status, stdout) == (-2, "exit function\nkilled\n")


def test_daemons_are_unwound(outcome):
    """Their `finally` blocks run after the exit functions, where python drops them."""
    text = KILLED.format(daemon=True, end="")
    assert outcome(text, "-m", "loomlet", "run") == (0, "exit function\nkilled\n", "")


def test_threads_that_wait_for_each_other_are_a_deadlock(outcome):
    """Where python would hang; the exit functions have run."""
    text = """
        atexit.register(print, "exit function")
        threading.Thread(target=threading.Event().wait).start()
    """
    status, stdout, stderr = outcome(text, "-m", "loomlet", "run")
    assert (status, stdout) == (1, "exit function\n")
    assert "Deadlock: " in stderr
