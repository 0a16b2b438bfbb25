"""A client of the debug adapter protocol, as an editor is one, for programs under debugpy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Message = dict[str, Any]
PATIENCE = 60


class Client:
    """One connection; events that come before an answer are kept."""

    def __init__(self, port: int) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < until
                time.sleep(0.05)
        self._file = self._socket.makefile("rwb")
        self._count = 0
        self._kept: list[Message] = []

    def ask(self, command: str, **arguments: object) -> None:
        """Sends a request."""
        self._count += 1
        request = {"seq": self._count, "type": "request", "command": command}
        body = json.dumps({**request, "arguments": arguments}).encode()
        self._file.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._file.flush()

    def answer(self, command: str) -> Message:
        """The answer to a request of that name."""
        while True:
            message = self._read()
            if message.get("command") == command:
                return message
            self._kept.append(message)

    def event(self, *names: str) -> Message:
        """The next event of one of these names."""
        while True:
            message = self._kept.pop(0) if self._kept else self._read()
            if message.get("event") in names:
                return message

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _read(self) -> Message:
        size = 0
        while (line := self._file.readline()) != b"\r\n":
            assert line, "the debugger has closed the connection"
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                size = int(value)
        message: Message = json.loads(self._file.read(size))
        return message


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def stops(program: Path, command: list[str], lines: list[int], **env: str) -> list[Message]:
    """Where a program stopped that has a breakpoint at each of the lines: function, line, and the
    local variables.  `{port}` in the command is where the debugger listens."""
    port = free_port()
    words = [sys.executable, "-X", "frozen_modules=off"]
    words += [word.replace("{port}", str(port)) for word in command]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(words, env={**os.environ, **env}, text=True, **pipes)
    try:
        client = Client(port)
        found = list(_session(client, program, lines))
        client.close()
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
        return found
    finally:
        process.kill()
        process.communicate()


def _session(client: Client, program: Path, lines: list[int]) -> Iterator[Message]:
    client.ask("initialize", adapterID="loomlet", pathFormat="path", linesStartAt1=True)
    client.answer("initialize")
    client.ask("attach", justMyCode=False)
    client.event("initialized")
    breakpoints = [{"line": line} for line in lines]
    client.ask("setBreakpoints", source={"path": str(program)}, breakpoints=breakpoints)
    client.answer("setBreakpoints")
    client.ask("configurationDone")
    while (event := client.event("stopped", "terminated"))["event"] == "stopped":
        thread = event["body"]["threadId"]
        yield _look(client, thread)
        client.ask("continue", threadId=thread)
    client.ask("disconnect")
    client.answer("disconnect")


def _look(client: Client, thread: int) -> Message:
    client.ask("stackTrace", threadId=thread)
    frame = client.answer("stackTrace")["body"]["stackFrames"][0]
    client.ask("scopes", frameId=frame["id"])
    scopes = client.answer("scopes")["body"]["scopes"]
    client.ask("variables", variablesReference=scopes[0]["variablesReference"])
    variables = client.answer("variables")["body"]["variables"]
    values = {each["name"]: each["value"] for each in variables}
    return {"function": frame["name"], "line": frame["line"], **values}
