"""A dump never says that somebody holds a thread in which nobody runs."""

import re
import time

SLEEPS = """
    import loomlet

    def main():
        loomlet.spawn(lambda: print("ready", flush=True))
        loomlet.sleep(600)

    loomlet.run(main)
"""


def test_main_sleeps_after_its_child_has_ended(begin, command):
    """The child was the last one that ran."""
    program = begin(SLEEPS)
    time.sleep(0.3)
    done = command("dump", program.pid)
    assert "is held by" not in done.stdout
    assert re.search(r"^  no tasklet has run for [\d.]+ m?s$", done.stdout, re.M)
