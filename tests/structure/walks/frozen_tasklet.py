"""A blocked tasklet is frozen to bytes, and a tasklet is thawed from them."""

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
