"""dump(pid): every tasklet, its state, since when, its stack, and who holds the thread."""

import os
import subprocess
import sys

import pytest

from loomlet import _core, observe

STUCK = {
    "C code that keeps the GIL": "ctypes.PyDLL(None).sleep(60)",
    "C code that lets go of the GIL": "time.sleep(60)",
    "a loop": "loop()",
}


@pytest.mark.parametrize("how", STUCK.values(), ids=STUCK.keys())
def test_it_answers_while_the_program_is_stuck(begin, look, how):
    """In C code, with the GIL and without, and in a loop that must not be preempted."""
    process = begin(
        f"""
        import ctypes, time
        import loomlet

        def loop():
            with loomlet.nopreempt():
                while True:
                    pass

        def stuck():
            print("ready", flush=True)
            {how}

        def waits(channel):
            channel.receive()

        def main():
            channel = loomlet.Channel(name="jobs")
            loomlet.spawn(waits, channel)
            loomlet.schedule()
            task = loomlet.spawn(stuck)
            task.name = "the bad one"
            task.join()

        loomlet.run(main)
        """
    )
    depth = 2 if how == "loop()" else 1

    def is_stuck(dump):
        stacks = [task.stack for task in dump.tasks() if task.name == "the bad one"]
        there = [stack for stack in stacks if len(stack) == depth and stack[0].lineno == 12]
        return there and dump.threads[0].seconds > 0.05

    found = look(process.pid, is_stuck)
    assert (found.pid, found.whole, found.damaged) == (process.pid, True, 0)
    thread = found.threads[0]
    tasks = {task.id: task for task in thread.tasks}
    bad = tasks[thread.current]
    assert (thread.running, bad.name, bad.state) == (True, "the bad one", "running")
    assert bad.seconds >= 0.05
    functions = [frame.function for frame in bad.stack]
    assert functions == (["stuck", "loop"] if how == "loop()" else ["stuck"])
    assert bad.stack[0].lineno == 12
    waiting = next(task for task in thread.tasks if task.state == "blocked" and task.id != 1)
    states = {task.name.rpartition("-")[0] or task.name: task.state for task in thread.tasks}
    assert states == {"main": "blocked", "waits": "blocked", "the bad one": "running"}
    assert waiting.stack


def test_stacks_are_whole(begin, look):
    """The outermost function first, through generators and C code; long ones are cut."""
    process = begin(
        """
        import loomlet

        channel = loomlet.Channel()

        def generator():
            yield channel.receive()

        def through_generator():
            for value in generator():
                pass

        def through_c():
            sorted([1], key=lambda _: channel.receive())

        def deep(n):
            return deep(n - 1) if n else channel.receive()

        def main():
            for function, *args in (through_generator,), (through_c,), (deep, 200):
                loomlet.spawn(function, *args).name = function.__name__
            loomlet.schedule()
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    )
    tasks = {task.name: task for task in look(process.pid).tasks()}
    functions = {name: [f.function for f in task.stack] for name, task in tasks.items()}
    assert functions["main"][-4:] == ["run", "run_whatever_is_late", "_run_inside", "main"]
    assert functions["through_generator"] == ["through_generator", "generator"]
    assert functions["through_c"] == ["through_c", "through_c.<locals>.<lambda>"]
    deep = tasks["deep"].stack
    assert {frame.function for frame in deep} == {"deep"}
    assert deep[0].omitted + len(deep) == 201
    lines = [frame.lineno for frame in tasks["through_generator"].stack]
    assert lines == [10, 7]


def test_every_state_is_shown(begin, look):
    """New ones that are ready, paused ones, and how long it has been so."""
    process = begin(
        """
        import loomlet

        def main():
            pausing = loomlet.spawn(loomlet.Channel().receive)
            loomlet.spawn(lambda: None).name = "ready"
            pausing.remove()
            pausing.name = "paused"
            print("ready", flush=True)
            with loomlet.nopreempt():
                while True:
                    pass

        loomlet.run(main)
        """
    )
    found = look(process.pid, lambda dump: min(task.seconds for task in dump.tasks()) > 0.05)
    assert {task.name: task.state for task in found.tasks()} == {
        "main": "running",
        "ready": "runnable",
        "paused": "paused",
    }
    assert found.threads[0].ready == 1
    assert all(task.seconds >= 0.05 for task in found.tasks())


def test_the_longest_run_interval_is_shown(begin, look):
    """It is known by name afterwards, and so is the place where it released the thread."""
    process = begin(
        """
        import time
        import loomlet

        def long():
            time.sleep(0.3)  # holds the core
            loomlet.schedule()

        def main():
            task = loomlet.spawn(long)
            loomlet.spawn(loomlet.sleep, 0)
            task.name = "long"
            task.join()
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    )
    found = look(process.pid, lambda dump: not dump.threads[0].running)
    longest = found.threads[0].longest
    assert (longest.name, longest.function, longest.filename) == ("long", "long", "<string>")
    assert longest.lineno in (6, 7)
    assert 0.2 < longest.seconds < 30
    assert not found.threads[0].running


@pytest.mark.skipif(not _core._can_hand_over(), reason="handoff needs 3.12 or later")
def test_the_longest_run_interval_ends_in_a_call_that_is_handed_over(begin, look):
    """With the place where the tasklet sits, not with that where it waited last."""
    process = begin(
        """
        import ctypes
        import time
        import loomlet

        usleep = ctypes.CDLL(None).usleep

        def pause():
            loomlet.schedule()

        def long():
            pause()
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                pass
            usleep(100_000)  # meanwhile main waits for a time

        def main():
            loomlet.spawn(long).name = "long"
            loomlet.sleep(0.25)
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main, slice=0.001, handoff=True)
        """
    )
    longest = look(process.pid, lambda dump: not dump.threads[0].running).threads[0].longest
    assert (longest.name, longest.function) == ("long", "long")


@pytest.mark.skipif(not _core._can_hand_over(), reason="handoff needs 3.12 or later")
def test_who_sits_in_c_is_shown(begin, look):
    """With its thread, what can run only there, and whether a signal waits for it."""
    if "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("all tasklets keep a stack by turns here, and wait for who sits beside them")
    process = begin(
        """
        import ctypes, os, signal, sys, threading
        import loomlet
        sys.settrace(None)
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
        reader, writer = os.pipe()

        def sit():
            libc.read(reader, buffer, 1)

        def key(value):
            loomlet.sleep(0.001)
            return value

        def go_on():
            loomlet.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
            print("ready", flush=True)
            loomlet.sleep(60)

        def main():
            signal.siginterrupt(signal.SIGINT, False)
            loomlet.spawn(sorted, [1], key=key).name = "sorter"
            loomlet.spawn(sit).name = "sitter"
            loomlet.spawn(go_on).join()

        loomlet.run(main, slice=0.001, handoff=True)
        """
    )

    def signal_waits(dump):  # the system may be late with it
        return any(sitter[-1] for sitter in dump.threads[0].sitters)

    found = look(process.pid, signal_waits).threads[0]
    names = {task.id: task.name for task in found.tasks}
    sitters = [(names[sitter.id], *sitter[1:]) for sitter in found.sitters]
    assert sitters == [("sitter", process.pid, 1, True)]  # in the first thread of the process


def test_a_sleep_is_no_run_interval(begin, look):
    """A sleeping thread runs no tasklet, and its sleep is not counted afterwards.

    On a busy machine main may really run for so long before it sleeps, but not each time.
    """
    program = """
        import loomlet

        def main():
            loomlet.sleep(0.3)  # no tasklet runs
            loomlet.spawn(loomlet.sleep, 0.2).join()
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    for _ in range(4):
        process = begin(program)
        thread = look(process.pid, lambda dump: not dump.threads[0].running).threads[0]
        assert not thread.running
        if thread.longest is None or thread.longest.seconds < 0.15:
            return
    pytest.fail(f"each time one ran for long: {thread.longest}")


def test_threads_are_distinguished(begin, look):
    """Each thread with its own tasklets."""
    process = begin(
        """
        import threading
        import loomlet

        begun = threading.Barrier(3)

        def thread(n):
            def main():
                loomlet.spawn(loomlet.sleep, 60).name = f"sleeper {n}"
                loomlet.schedule()
                begun.wait()
                loomlet.sleep(60)
            loomlet.run(main)

        for n in range(2):
            threading.Thread(target=thread, args=(n,), daemon=True).start()
        begun.wait()
        print("ready", flush=True)
        threading.Event().wait()
        """
    )
    found = look(process.pid)
    names = sorted(sorted(task.name for task in thread.tasks) for thread in found.threads)
    assert [["main", "sleeper 0"], ["main", "sleeper 1"]] == [n for n in names if len(n) == 2]
    assert len({thread.ident for thread in found.threads}) == len(found.threads)


def test_thousands_are_shown(begin, look, command):
    """Each of them is there; equal ones are grouped in the text, unless --all is given."""
    process = begin(
        """
        import loomlet

        def worker(jobs):
            for job in jobs:
                pass

        def main():
            jobs = loomlet.Channel(name="jobs")
            for n in range(20000):
                loomlet.spawn(worker, jobs)
            loomlet.schedule()
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    )
    found = look(process.pid)
    assert (found.whole, found.damaged) == (True, 0)
    assert len(list(found.tasks())) == 20001
    done = command("dump", process.pid)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) < 30
    assert "20000 tasklets blocked in iterate" in done.stdout
    assert "waits for loomlet.Channel 'jobs'" in done.stdout
    done = command("dump", "--all", process.pid)
    assert done.stdout.count("blocked in iterate") == 20000


def test_two_may_ask_at_once(begin):
    """Every client gets a whole answer, even with more clients than copies allowed at a time."""
    process = begin(
        """
        import loomlet

        def main():
            channel = loomlet.Channel()
            for n in range(5000):
                loomlet.spawn(channel.receive)
            loomlet.schedule()
            print("ready", flush=True)
            loomlet.sleep(60)

        loomlet.run(main)
        """
    )
    text = (
        "import sys; from loomlet import observe; d = observe.dump(int(sys.argv[1]));"
        "print(d.whole, len(list(d.tasks())))"
    )
    line = [sys.executable, "-c", text, str(process.pid)]
    askers = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(7)]
    assert [asker.communicate()[0] for asker in askers] == ["True 5001\n"] * 7


def test_a_process_may_ask_itself(begin):
    """The answer comes from another thread."""
    process = begin(
        """
        import os
        import loomlet
        from loomlet import observe

        def main():
            print("ready", flush=True)
            print([task.name for task in observe.dump(os.getpid()).tasks()])

        loomlet.run(main)
        """
    )
    assert process.stdout.read() == "['main']\n"  # of which some may be read already
    assert (process.wait(60), process.stderr.read()) == (0, "")


def test_tasklets_that_come_and_go_meanwhile(begin):
    """A hundred dumps of a process that spawns, switches and ends tasklets all the time."""
    process = begin(
        """
        import loomlet

        def body(n):
            loomlet.schedule()
            return [n] * n

        def main():
            print("ready", flush=True)
            while True:
                for task in [loomlet.spawn(body, n) for n in range(50)]:
                    task.join()

        loomlet.run(main)
        """
    )
    for _ in range(100):
        found = observe.dump(process.pid)
        assert found.threads[0].tasks[0].name == "main"
        assert found.damaged <= 2
    assert process.poll() is None
