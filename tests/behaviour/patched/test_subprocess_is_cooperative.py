"""subprocess in tasklets keeps what its documentation promises, and delays no other tasklet."""

import gc
import subprocess
import sys
from subprocess import PIPE

import pytest

import loomlet
from loomlet.testing import assert_no_leaks

MUCH = 300_000
ECHO = ["cat"]


def shell(command):
    """What runs a line of the shell."""
    return ["sh", "-c", command]


def test_run_gives_what_the_child_has_written(mode, busy):
    """Input, output, errors and the status; meanwhile others run."""
    before = busy[0]

    def body():
        command = shell("cat; echo wrong >&2; exit 3")
        return subprocess.run(command, input=b"hello", capture_output=True, check=False)

    done = loomlet.spawn(body).result()
    assert (done.returncode, done.stdout, done.stderr) == (3, b"hello", b"wrong\n")
    assert busy[0] > before + 1


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("text", [False, True])
def test_much_goes_through_both_ways(timeout, text, busy):
    """communicate() neither loses anything nor hangs when all pipes are full."""
    data = "x" * MUCH if text else b"x" * MUCH

    def body():
        with subprocess.Popen(ECHO, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=text) as child:
            return child.communicate(data, timeout=timeout)

    assert loomlet.spawn(body).result() == (data, "" if text else b"")


def test_one_pipe_alone_is_read_too(busy):
    """check_output(), getoutput(): the reads of a single pipe wait in its file object."""
    before = busy[0]
    command = shell("sleep 0.05; echo hello")  # so that the output is not there at once
    assert loomlet.spawn(subprocess.check_output, command).result() == b"hello\n"
    assert busy[0] > before + 1
    assert loomlet.spawn(subprocess.getoutput, "echo hello").result() == "hello"
    assert loomlet.spawn(subprocess.getstatusoutput, "exit 3").result() == (3, "")


def test_many_children_at_once():
    """All of them wait for the last one, which one thread could not do one after the other."""
    head = subprocess.Popen(ECHO, stdin=PIPE, stdout=PIPE)

    def link(source):
        with subprocess.Popen(ECHO, stdin=PIPE, stdout=PIPE) as child:
            child.stdin.write(source.readline())
            child.stdin.close()
            return child.stdout.read()

    first = loomlet.spawn(link, head.stdout)
    others = [loomlet.spawn(subprocess.check_output, ["echo", str(n)]) for n in range(20)]
    assert [task.result() for task in others] == [b"%d\n" % n for n in range(20)]
    assert first.state == "blocked"
    head.stdin.write(b"hello\n")
    head.stdin.close()
    assert first.result() == b"hello\n"
    assert loomlet.spawn(head.wait).result() == 0
    head.stdout.close()


def test_a_timeout_of_its_own(busy):
    """TimeoutExpired with what came by then; the child is killed by run() only."""

    def expired():
        with pytest.raises(subprocess.TimeoutExpired) as caught:
            subprocess.run(
                shell("echo hello; exec sleep 60"), check=False, stdout=PIPE, timeout=0.2
            )
        return caught.value

    error = loomlet.spawn(expired).result()
    assert error.timeout == 0.2
    assert error.output in (b"hello\n", None)

    def waits():
        with subprocess.Popen(["sleep", "60"]) as child:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.01)
            assert child.poll() is None
            child.kill()
            return child.wait()

    assert loomlet.spawn(waits).result() == -9


def test_statuses_and_errors():
    """check, signals, and what cannot be started."""

    def body():
        with pytest.raises(subprocess.CalledProcessError) as caught:
            subprocess.run(shell("echo out; exit 3"), check=True, capture_output=True)
        assert (caught.value.returncode, caught.value.stdout) == (3, b"out\n")
        assert subprocess.call(shell("kill -TERM $$")) == -15
        assert subprocess.check_call(["true"]) == 0
        with pytest.raises(FileNotFoundError):
            subprocess.run(["no such program anywhere"], check=False)
        with pytest.raises(PermissionError):
            subprocess.run(["/etc/passwd"], check=False)

    loomlet.spawn(body).result()


def test_lines_come_as_they_are_written(busy):
    """A pipe is read line by line while the child runs."""

    def body():
        got = []
        with subprocess.Popen(ECHO, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as child:
            for word in ("one", "two", "three"):
                child.stdin.write(f"{word}\n")
                got.append(child.stdout.readline())
            child.stdin.close()
            assert child.stdout.read() == ""
        return got, child.returncode

    assert loomlet.spawn(body).result() == (["one\n", "two\n", "three\n"], 0)


def test_several_wait_for_one_child(busy):
    """Each gets the status: wait() allows that."""
    child = subprocess.Popen(ECHO, stdin=PIPE)
    tasks = [loomlet.spawn(child.wait) for _ in range(3)]
    tasks.append(loomlet.spawn(child.wait, 60))
    loomlet.schedule()
    child.stdin.close()
    assert [task.result() for task in tasks] == [0] * 4


def test_a_kill_a_throw_and_a_scope_end_it(mode, caught):
    """As an exception ends it anywhere: run() kills the child."""

    def late():
        with loomlet.timeout(0.05):
            subprocess.run(["sleep", "60"], check=False)

    killed = caught(lambda: subprocess.run(["sleep", "60"], check=False))
    thrown = caught(lambda: subprocess.run(["sleep", "60"], check=False))
    loomlet.schedule()
    killed.kill()
    assert killed.state in ("done", "blocked")  # it may wait for the end of its child
    killed.join()
    thrown.throw(KeyError("x"))
    assert isinstance(thrown.result(), KeyError)
    with pytest.warns(ResourceWarning, match="still running"):
        assert isinstance(caught(late).result(), TimeoutError)
        gc.collect()  # the child that run() could not wait for
    subprocess._cleanup()


def test_nothing_is_left():
    """Neither descriptors nor objects."""

    def rounds():
        for _ in range(5):
            command = [sys.executable, "-S", "-c", "print(input())"]
            subprocess.run(command, input=b"x", capture_output=True, check=True)
            subprocess.check_output(["echo", "x"])

    loomlet.spawn(rounds).join()
    with assert_no_leaks():
        loomlet.spawn(rounds).join()
