"""Importing loomlet starts nothing and prints nothing."""


def test_no_thread_no_output(python):
    """The import starts no thread, prints nothing, warns of nothing."""
    done = python(
        """
        import threading
        import warnings
        warnings.simplefilter("error")
        import loomlet
        print(threading.active_count())
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_imported_in_a_thread(python):
    """loomlet may be imported first in a thread other than the main one."""
    done = python(
        """
        import threading

        def thread():
            import loomlet
            print(loomlet.run(lambda: loomlet.spawn(lambda: "thread").result()))

        one = threading.Thread(target=thread)
        one.start()
        one.join()
        import loomlet
        print(loomlet.run(lambda: loomlet.spawn(lambda: "main").result()))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "thread\nmain\n", "")
