"""A value goes over a channel: from receive() to its return, with send() in another tasklet."""

import recording

import loomlet


def receive(channel: loomlet.Channel) -> None:
    with recording.walk():
        assert channel.receive() == "value"


def main() -> None:
    channel = loomlet.Channel()
    loomlet.spawn(receive, channel)
    loomlet.spawn(channel.send, "value").join()
    loomlet.schedule()


loomlet.run(main, slice=None)
