"""A function is spawned, runs and ends; its caller continues."""

import recording

import loomlet


def work(number: int) -> int:
    return number + 1


def main() -> None:
    with recording.walk():
        assert loomlet.spawn(work, 1).result() == 2


loomlet.run(main, slice=None)
