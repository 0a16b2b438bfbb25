"""A blocked tasklet is made bytes, and a tasklet is made of the bytes."""

import recording

import loomlet
import loomlet.snapshot  # or freeze() would import it


def wait(channel: loomlet.Channel) -> None:
    channel.receive()


def main() -> None:
    tasklet = loomlet.spawn(wait, loomlet.Channel())
    loomlet.schedule()
    with recording.walk():
        loomlet.thaw(loomlet.freeze(tasklet))
    tasklet.kill()


loomlet.run(main, slice=None)
