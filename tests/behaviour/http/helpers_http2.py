"""A client of HTTP/2: h2 on a stream, which shows all that comes."""

from __future__ import annotations

from collections import defaultdict

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.settings import Settings


class Client:
    """`status`, `fields`, `body` and `end` by stream; `goaway`: the code, once it has come."""

    def __init__(self, stream, *, settings=None, window=2**24, reads=True):
        self.stream = stream
        self.h2 = H2Connection(
            H2Configuration(header_encoding="utf-8", validate_outbound_headers=False)
        )
        self.status, self.fields, self.end = {}, {}, {}
        self.body = defaultdict(bytes)
        self.informed = []
        self.goaway = None
        self.over = False
        self.acknowledges = reads
        if settings:
            self.h2.local_settings = Settings(client=True, initial_values=settings)
        self.h2.initiate_connection()
        if window > 65535:
            self.h2.increment_flow_control_window(window - 65535)
        self.flush()

    def flush(self):
        self.stream.send_all(self.h2.data_to_send())

    def ask(self, path="/", method="GET", *, fields=(), end=True):
        """Begins a request: its stream."""
        number = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)]
        self.h2.send_headers(number, [*head, *fields], end_stream=end)
        self.flush()
        return number

    def read(self):
        """What comes next; False at the end."""
        data = self.stream.receive_some()
        if not data:
            self.over = True
            return False
        for event in self.h2.receive_data(data):
            self._take(event)
        if self.goaway is None:
            self.flush()
        return True

    def _take(self, event):
        number = getattr(event, "stream_id", None)
        if isinstance(event, ResponseReceived):
            fields = dict(event.headers)
            self.status[number] = fields.pop(":status")
            self.fields[number] = fields
        elif isinstance(event, InformationalResponseReceived):
            self.informed.append(dict(event.headers)[":status"])
        elif isinstance(event, DataReceived):
            self.body[number] += event.data
            if self.acknowledges:
                self.h2.acknowledge_received_data(event.flow_controlled_length, number)
        elif isinstance(event, StreamEnded):
            self.end[number] = "end"
        elif isinstance(event, StreamReset):
            self.end.setdefault(number, event.error_code)
        elif isinstance(event, ConnectionTerminated):
            self.goaway = event.error_code

    def wait(self, *numbers):
        """Until these streams have ended."""
        while not all(number in self.end for number in numbers):
            assert self.read(), "the connection has ended"

    def get(self, path="/", method="GET", **options):
        """The status and the body of an answer."""
        number = self.ask(path, method, **options)
        self.wait(number)
        return self.status.get(number), self.body[number]

    def wait_for_goaway(self):
        """Its code, and then the end of the connection."""
        while self.goaway is None and self.read():
            pass
        while self.stream.receive_some():
            pass
        return self.goaway

    def send(self, number, data, *, end=True):
        """A body, as fast as the server lets it go."""
        at = 0
        while at < len(data):
            count = min(self.h2.local_flow_control_window(number), 16384, len(data) - at)
            if count == 0:
                assert self.read()
                continue
            last = end and at + count == len(data)
            self.h2.send_data(number, data[at : at + count], end_stream=last)
            self.flush()
            at += count
