"""Sockets for tasklets: plain blocking calls that cost a parked tasklet, not a thread.

    from loomlet import net, run

    def answer(stream):
        for data in stream:
            stream.send_all(data)

    run(net.serve, answer, ("127.0.0.1", 7777))

Time limits work as for every wait: `with timeout(5): ...`, a cancel scope, kill().  No function
here takes a `timeout`, so none can forget to pass it on.

Names.  receive_some, send_all and send_eof are trio's words: each says how much a call does, which
`recv` and `send` do not.  receive_exactly is what protocols with lengths need, asyncio's
readexactly.  connect, listen and accept are the usual names.  Iterating a stream or a listener ends
when nothing more can come, as iterating a channel does.

Two tasklets may use one stream, one to send and one to receive.  If several send, each send_all
goes out in one piece; tasklets of different threads need a lock for that.

TLS uses the same calls on another kind of stream: `connect(address, tls=True)`, `listen(address,
tls=context)`, or a TLSStream over a stream.
"""

from typing import TYPE_CHECKING, Any

from loomlet._public import show_in
from loomlet.errors import DescriptorClosed, EndOfStream
from loomlet.net._addresses import resolve
from loomlet.net._connecting import connect, listen, pair
from loomlet.net._serving import serve
from loomlet.net._streams import Listener, Stream

if TYPE_CHECKING:
    from loomlet.net._tls import TLSListener, TLSStream

__all__ = [
    "DescriptorClosed",
    "EndOfStream",
    "Listener",
    "Stream",
    "TLSListener",
    "TLSStream",
    "connect",
    "listen",
    "pair",
    "resolve",
    "serve",
]

show_in(__name__, Listener, Stream, connect, listen, pair, resolve, serve)


def __getattr__(name: str) -> Any:
    """Loads TLS on first use, because the ssl module is large."""
    if name not in ("TLSListener", "TLSStream"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from loomlet.net import _tls

    return getattr(_tls, name)
