"""`python -m loomlet serve` in a process of its own, for tests."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 30
LISTENS = re.compile(r" on https?:[/\d.]+:(\d+)/ ")


class Serving:
    """The parent process of a server, what it has logged, and what a client gets from it."""

    def __init__(self, folder, *arguments, prefix=(), **options):
        command = [*prefix, sys.executable, "-m", "loomlet", "serve", *arguments]
        more = options.pop("env", {})
        environment = {
            **os.environ,
            **more,
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = subprocess.Popen(
            command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment, **options
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def log(self):
        return "".join(self.lines)

    def wait_for(self, words, count=1):
        """Until the log has these words so many times."""
        end = time.monotonic() + PATIENCE
        while self.log.count(words) < count:
            assert time.monotonic() < end, f"not logged: {words!r}\n{self.log}"
            assert self.process.poll() is None or words in self.log, self.log
            time.sleep(0.01)  # another process logs it

    @property
    def port(self):
        self.wait_for("serving the ")
        return int(LISTENS.search(self.log)[1])

    def get(self, path="/", timeout=PATIENCE, fields=None):
        """(status, body), as soon as it can be reached."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=fields or {})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Ends it gracefully; returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join(10)  # workers whose parent was killed have its stderr, and end soon
        self.process.stderr.close()
