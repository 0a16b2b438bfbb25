"""Tasklets of the Stackless API wait for descriptors too."""


def test_a_stackless_tasklet_waits(python):
    """run() returns while all wait, as with channels; data that arrived are read next time."""
    done = python(
        """
        import loomlet.compat
        loomlet.compat.install("stackless")
        import stackless
        from loomlet import net

        one, other = net.pair()
        got = []
        stackless.tasklet(lambda: got.append(one.receive_some()))()
        stackless.run()
        print(got)
        other.send_all(b"data")
        stackless.schedule()
        import loomlet
        loomlet.sleep(0.01)
        print(got)
        one.close(), other.close()
        """
    )
    assert (done.stdout, done.stderr) == ("[]\n[b'data']\n", "")
