"""EMFILE: the caller that needs a descriptor gets it, and works again when there are some."""

import errno


def test_accept_reports_the_error_and_continues(python):
    """The connection waits in the system's queue meanwhile."""
    done = python(
        """
        import os, resource
        import loomlet
        from loomlet import net

        def main():
            with net.listen(("127.0.0.1", 0)) as listener:
                task = loomlet.spawn(listener.accept)
                loomlet.schedule()
                client = net.connect(listener.local)
                lowest = os.dup(0)
                os.close(lowest)
                resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, 4096))
                try:
                    task.result()
                except OSError as error:
                    print(error.errno)
                try:
                    listener.accept()
                except OSError as error:
                    print(error.errno)
                resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
                with client, listener.accept() as stream:
                    client.send_all(b"served")
                    print(stream.receive_some())

        loomlet.run(main)
        """
    )
    assert (done.stdout, done.stderr) == (f"{errno.EMFILE}\n{errno.EMFILE}\nb'served'\n", "")


def test_no_poller_is_an_error_of_the_first_wait(python):
    """What need not wait works without one."""
    done = python(
        """
        import os, resource
        import loomlet
        from loomlet import net

        one, other = net.pair()
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, 4096))
        other.send_all(b"at once")
        print(one.receive_some())
        try:
            one.receive_some()
        except OSError as error:
            print(error.errno)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        other.send_all(b"later")
        print(task.result())
        one.close(), other.close()
        """
    )
    assert (done.stdout, done.stderr) == (f"b'at once'\n{errno.EMFILE}\nb'later'\n", "")
