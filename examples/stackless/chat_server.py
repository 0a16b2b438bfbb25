"""The core of a chat server: rooms, users, lines of text; sockets would come on top.

Each user is served by two tasklets, as over a real connection: one reads what the user types, the
other writes what the user should see.  Each room is a tasklet that owns the list of its members.
Everything between them is a channel.  A slow connection must not delay a room: what a user should
see goes through a mailbox, a channel on which a sender never waits.

Shows: one tasklet for each activity, and a script of users that makes a deterministic test.
Run: python examples/stackless/chat_server.py
"""

from collections import deque

import loomlet.compat.stackless as stackless


class Mailbox:
    """A channel with room for any number of messages."""

    def __init__(self):
        self._kept, self._channel = deque(), stackless.channel()
        self._channel.preference = 0  # the room continues, the writer runs when its turn comes

    def put(self, message):
        if self._channel.balance < 0:
            self._channel.send(message)
        else:
            self._kept.append(message)

    def get(self):
        return self._kept.popleft() if self._kept else self._channel.receive()


class Room:
    """A tasklet with the list of members; all that happens in the room goes through it."""

    def __init__(self, name):
        self.name, self.events = name, stackless.channel()
        self.tasks = [stackless.tasklet(self.run)()]

    def run(self):
        members = {}
        for user, what in self.events:
            if what == "/join":
                members[user] = user
            line = TEXTS.get(what, "{user}: {what}").format(user=user.name, what=what)
            for member in members:
                member.mailbox.put(f"[{self.name}] {line}")
            if what == "/quit":
                del members[user]


class User:
    """Two tasklets: one for what the user types, one for what the user sees."""

    def __init__(self, name, rooms):
        self.name, self.rooms, self.room, self.seen = name, rooms, None, []
        self.typed, self.mailbox = stackless.channel(), Mailbox()
        self.tasks = [stackless.tasklet(serve)() for serve in (self.read, self.write)]

    def read(self):
        for line in self.typed:
            command, _, name = line.partition(" ")
            if command in ("/join", "/quit") and self.room:
                self.room.events.send((self, "/quit"))
                self.room = None
            if command == "/join":
                self.room = self.rooms.get(name) or Room(name)
                self.rooms[name] = self.room
            if self.room:
                self.room.events.send((self, "/join" if command == "/join" else line))

    def write(self):
        while True:
            self.seen.append(self.mailbox.get())


TEXTS = {"/join": "* {user} comes in", "/quit": "* {user} leaves"}
SCRIPT = ["ann /join tea", "ann is anyone here?", "bob /join tea", "bob hello ann"]
SCRIPT += ["cem /join coffee", "cem quiet here", "cem /join tea", "ann /quit", "bob bye ann"]


def main():
    rooms, users = {}, {}
    for line in SCRIPT:
        name, _, typed = line.partition(" ")
        if name not in users:
            users[name] = User(name, rooms)
        stackless.run()  # all tasklets wait
        users[name].typed.send(typed)
    stackless.run()
    for user in users.values():
        print(f"{user.name} saw:", *user.seen, sep="\n  ")
    for task in [task for one in (*users.values(), *rooms.values()) for task in one.tasks]:
        task.kill()


if __name__ == "__main__":
    main()
