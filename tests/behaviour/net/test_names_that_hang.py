"""Names whose lookup hangs: no other tasklet waits for them, and waiting ones can continue.

The C library's lookup is replaced, for a process of its own, by one that hangs on certain names
until a file is there (slow_names.c); a compiler is needed for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CALLS = {
    "net": "look_up, dial = net.resolve, net.connect",
    "patched": """
    patch.install()
    look_up, dial = socket.getaddrinfo, socket.create_connection""",
}

BEGIN = """
    import os, pathlib, socket, threading, time
    import loomlet
    from loomlet import net, patch
    stock = sorted(socket.getaddrinfo("localhost", 80))
    until, hanging = (pathlib.Path(os.environ[name]) for name in ("HANG_UNTIL", "HANGING"))

    def failure(call, *args):
        try:
            return call(*args)
        except Exception as error:
            return type(error).__name__

    def hang(count):
        tasks = [loomlet.spawn(failure, look_up, f"hang-{n}", 80) for n in range(count)]
        loomlet.schedule()
        assert {task.waiting_in for task in tasks} == {"getaddrinfo"}
        return tasks
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled resolver."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("NOT RUN: no C compiler for a resolver that hangs")
    made = tmp_path_factory.mktemp("resolver") / "slow_names.so"
    source = Path(__file__).with_name("slow_names.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture(params=CALLS)
def run(request: pytest.FixtureRequest, python, resolver: Path, tmp_path: Path) -> Run:
    """Runs main() of a program text, which must end without an error; returns its output."""
    loaded = [*os.environ.get("LD_PRELOAD", "").split(), str(resolver)]
    environment = {"LD_PRELOAD": " ".join(loaded), "HANG_UNTIL": str(tmp_path / "until")}
    environment["HANGING"] = str(tmp_path / "hanging")
    environment["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # of a fork beside threads

    def run_program(text: str) -> str:
        done = python(f"{BEGIN}\n    {CALLS[request.param]}\n{text}\n", **environment)
        assert (done.stderr, done.returncode) == ("", 0)
        return done.stdout

    return run_program


def test_a_hundred_hang_and_another_is_found(run: Run) -> None:
    """No limit of threads gets in the way, as it would with asyncio and libuv."""
    assert (
        run("""
    def main():
        tasks = hang(100)
        print(sorted(look_up("localhost", 80)) == stock)
        print({task.state for task in tasks})
        until.touch()
        print(all(sorted(task.result()) == stock for task in tasks))
    loomlet.run(main)
    """)
        == "True\n{'blocked'}\nTrue\n"
    )


def test_a_waiting_tasklet_can_be_ended(run: Run) -> None:
    """By a kill, an exception and a timeout; then others use the threads."""
    assert (
        run("""
    def main():
        killed, thrown, left = hang(3)
        killed.kill()
        thrown.throw(KeyError("x"))
        for call, *args in (look_up, "hang-4", 80), (dial, ("hang-5", 80)):
            try:
                with loomlet.timeout(0.001):
                    call(*args)
            except TimeoutError:
                print("late")
        print(killed.state, thrown.result(), left.state, left.waiting_for)
        until.touch()
        print(sorted(left.result()) == stock)
        for _ in range(100):
            assert sorted(look_up("localhost", 80)) == stock
    loomlet.run(main)
    """)
        == "late\nlate\ndone KeyError blocked hang-2\nTrue\n"
    )


def test_a_process_ends_while_names_hang(run: Run) -> None:
    """At once: the end of a process does not wait for lookups."""
    assert (
        run("""
    def main():
        tasks = hang(20)
        print("over")
        for task in tasks:
            task.kill()
    loomlet.run(main)
    """)
        == "over\n"
    )


def test_a_thread_ends_while_names_hang(run: Run) -> None:
    """Results for its tasklets are dropped, also when another thread has taken its place."""
    assert (
        run("""
    for _ in range(3):
        thread = threading.Thread(target=loomlet.run, args=(lambda: [t.kill() for t in hang(20)],))
        thread.start()
        thread.join()
    until.touch()
    def main():
        for _ in range(50):
            assert sorted(look_up("localhost", 80)) == stock
        print("over")
    loomlet.run(main)
    """)
        == "over\n"
    )


def test_in_the_child_of_a_fork_waiters_get_an_error(run: Run) -> None:
    """The lookup threads are gone; new lookups start new ones.  The parent is not affected."""
    assert (
        run("""
    def main():
        tasks = hang(20)
        while not hanging.exists() or hanging.stat().st_size < 20:
            time.sleep(0.001)  # a thread may hold a lock of the allocator until it hangs
        child = os.fork()
        if child == 0:
            errors = {task.result() for task in tasks}
            found = sorted(look_up("localhost", 80)) == stock
            os._exit(0 if errors == {"RuntimeError"} and found else 1)
        print(os.waitpid(child, 0)[1])
        until.touch()
        print(all(sorted(task.result()) == stock for task in tasks))
    loomlet.run(main)
    """)
        == "0\nTrue\n"
    )


def test_waiting_for_a_name_is_no_deadlock(run: Run) -> None:
    """Neither in its own thread nor in another thread that waits for it."""
    assert (
        run("""
    channel = loomlet.Channel()
    def other():
        print(channel.receive())
    def main():
        thread = threading.Thread(target=loomlet.run, args=(other,))
        thread.start()
        (task,) = hang(1)
        time.sleep(0.3)  # longer than a thread that sleeps waits to look for a deadlock again
        until.touch()
        channel.send(sorted(task.result()) == stock)
        thread.join()
    loomlet.run(main)
    """)
        == "True\n"
    )
