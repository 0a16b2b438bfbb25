"""The socket of a process: its permissions, when it exists, and that it is removed."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from loomlet import observe
from loomlet._debug import client

SLEEP = """
import loomlet

def main():
    print("ready", flush=True)
    loomlet.sleep(60)

loomlet.run(main)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Debug sockets of this test are made in a folder of its own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / f"loomlet-{os.geteuid()}"


def test_only_the_user_may_connect(folder, begin):
    """The folder has mode 0700, the socket 0600, named after the process."""
    process = begin(SLEEP)
    path = folder / str(process.pid)
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_of_others_is_not_used(folder, begin, tmp_path):
    """Others could put a socket of theirs there: the next folder is taken."""
    folder.mkdir()
    folder.chmod(0o777)
    other = tmp_path / "other"
    other.mkdir()
    process = begin(SLEEP, TMPDIR=str(other))
    assert os.listdir(folder) == []
    assert os.listdir(other / folder.name) == [str(process.pid)]
    assert observe.dump(process.pid).whole  # found in the system's list of sockets


def test_it_is_removed_with_the_program(folder, python):
    """At the end of the interpreter nothing is left."""
    done = python("import loomlet; print(loomlet.run(lambda: 5))")
    assert (done.stdout, done.stderr) == ("5\n", "")
    assert os.listdir(folder) == []


def test_stale_sockets_are_removed(folder, begin, python):
    """The next process that opens its socket removes them; living processes keep theirs."""
    living, killed = begin(SLEEP), begin(SLEEP)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert sorted(os.listdir(folder)) == sorted([str(living.pid), str(killed.pid)])
    assert python("import loomlet; loomlet.run(int)").returncode == 0
    assert os.listdir(folder) == [str(living.pid)]


def test_living_ones_are_not_disturbed(folder, python):
    """Whether a socket is in use is found out without a connection."""
    os.makedirs(folder, 0o700, exist_ok=True)
    path = os.path.join(folder, "1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.setblocking(False)
        assert python("import loomlet; loomlet.run(int)").returncode == 0
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert os.listdir(folder) == ["1"]


def test_an_import_opens_none(folder, python):
    """Nor do tasklets without run(); serve() does, and withdraw() takes it away."""
    done = python(
        """
        import os
        import loomlet
        from loomlet import observe

        loomlet.spawn(int).join()
        print(os.path.exists(os.environ["XDG_RUNTIME_DIR"] + f"/loomlet-{os.geteuid()}"))
        path = observe.serve()
        print(path == observe.serve(), observe.dump(os.getpid()).whole)
        observe.withdraw()
        print(os.path.exists(path))
        observe.withdraw()
        """
    )
    assert (done.stdout, done.stderr) == ("False\nTrue True\nFalse\n", "")


def test_it_can_be_turned_off(folder, python):
    """LOOMLET_DUMP=0: run() opens none."""
    program = "import loomlet; loomlet.run(lambda: print(loomlet._debug.server._open))"
    done = python(program, LOOMLET_DUMP="0")
    assert (done.stdout, done.stderr) == ("None\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_has_its_own(folder, begin, python):
    """Both answer, each about itself, and both remove their sockets."""
    done = python(
        """
        import os, sys, warnings
        import loomlet
        from loomlet import observe

        warnings.simplefilter("ignore", DeprecationWarning)

        def main():
            parent = os.getpid()
            loomlet.spawn(loomlet.schedule).join()
            child = os.fork()
            me = os.getpid()
            dump = observe.dump(me)
            assert (dump.pid, dump.whole, os.path.basename(observe.serve())) == (me, True, str(me))
            if child == 0:
                assert observe.dump(parent).pid == parent
                sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            assert observe.dump(me).whole

        loomlet.run(main)
        """
    )
    assert (done.stdout, done.stderr) == ("5\n", "")
    assert os.listdir(folder) == []


def test_the_program_does_not_see_the_copies(folder, python):
    """No child to wait for, no SIGCHLD, no descriptor left; what it closes is closed."""
    done = python(
        """
        import os, signal
        import loomlet
        from loomlet import observe

        signals = []
        signal.signal(signal.SIGCHLD, lambda *args: signals.append(args))

        def main():
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(10):
                observe.dump(os.getpid())
            try:
                os.wait()
            except ChildProcessError:
                print("no child")
            print(signals, len(os.listdir("/proc/self/fd")) - before)

        loomlet.run(main)
        """
    )
    assert (done.stdout, done.stderr) == ("no child\n[] 0\n", "")


def test_programs_may_close_unknown_descriptors(folder, python):
    """A descriptor number that means something else by now is left alone."""
    done = python(
        """
        import os, socket
        import loomlet
        from loomlet import observe

        def main():
            os.closerange(3, 100)
            pairs = [socket.socketpair() for _ in range(40)]
            for _ in range(2):  # the first is answered if the thread waited already
                try:
                    answer = observe.dump(os.getpid()).whole
                except observe.DumpError:
                    answer = "no dump"
            print(answer)
            for one, other in pairs:
                with one, other:
                    one.sendall(b"x")
                    assert other.recv(1) == b"x"

        loomlet.run(main)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "no dump\n", "")


def test_a_silent_client_gets_no_answer(folder, begin):
    """A client that connects and leaves, or sends nonsense, does no harm."""
    import socket

    process = begin(SLEEP)
    for words in (b"", b"hello\n", b"x" * 100):
        with socket.socket(socket.AF_UNIX) as asker:
            asker.connect(str(folder / str(process.pid)))
            asker.sendall(words)
    assert observe.dump(process.pid).whole


def test_errors_say_what_is_wrong(folder, command, tmp_path):
    """No such process, no loomlet in it: one line on stderr, status 1."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    done = command("dump", gone.pid)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"loomlet dump: there is no process {gone.pid}\n"
    done = command("dump", os.getppid())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"loomlet dump: process {os.getppid()} has no debug socket")
    assert command("dump", "me").returncode == 2


def test_a_process_that_ends_meanwhile(folder, begin):
    """The dump has what came until then, and says that it is incomplete."""
    process = begin(SLEEP)
    connection = client._connect(process.pid)
    process.kill()
    process.wait()
    with connection:
        assert list(client._lines(connection)) == []
    assert Path(folder).exists()
