"""Rules for expectations, connections and what answers say."""

from __future__ import annotations

from helpers_rules import closes, get, post, stays

OLD = b"HTTP/1.0"

# ---- expectations -----------------------------------------------------------------------------

EXPECTATIONS = [
    stays(
        "a client that has sent the body needs no 100",
        "9110 10.1.1",
        post(b"Expect: 100-continue\r\nContent-Length: 5\r\n", b"hello"),
        200,
        body=b"POST / a hello",
    ),
    stays(
        "an expectation is in any letters",
        "9110 10.1.1",
        post(b"Expect: 100-Continue\r\nContent-Length: 5\r\n", b"hello"),
        200,
    ),
    stays(
        "there is no 100 without a body",
        "9110 10.1.1",
        get(b"Expect: 100-continue\r\n"),
        200,
        lacks=(b"100 Continue",),
    ),
    stays(
        "there is no 100 for a length of zero",
        "9110 10.1.1",
        post(b"Expect: 100-continue\r\nContent-Length: 0\r\n", b""),
        200,
        lacks=(b"100 Continue",),
    ),
    stays(
        "there is no 100 for version 1.0",
        "9110 10.1.1",
        post(
            b"Expect: 100-continue\r\nConnection: keep-alive\r\nContent-Length: 5\r\n",
            b"hello",
            version=OLD,
        ),
        200,
        lacks=(b"100 Continue",),
    ),
    closes(
        "there is no 100 for a body that nobody reads",
        "9110 10.1.1",
        post(b"Expect: 100-continue\r\nContent-Length: 500\r\n", b"", b"/unread"),
        200,
        lacks=(b"100 Continue",),
        at_once=True,
    ),
    closes(
        "there is no 100 for a body that is too large",
        "9110 10.1.1",
        post(b"Expect: 100-continue\r\nContent-Length: 5000\r\n", b""),
        413,
        lacks=(b"100 Continue",),
    ),
    closes(
        "there is no 100 for what is refused",
        "9110 10.1.1",
        post(b"Expect: 100-continue\r\nContent-Length: 5\r\nContent-Length: 5\r\n", b""),
        400,
        lacks=(b"100 Continue",),
    ),
    closes("another expectation fails", "9110 10.1.1", get(b"Expect: something\r\n"), 417),
    closes(
        "an expectation and another one fail",
        "9110 10.1.1",
        get(b"Expect: 100-continue, something\r\n"),
        417,
    ),
    closes(
        "another expectation in its own field fails",
        "9110 10.1.1",
        get(b"Expect: 100-continue\r\nExpect: something\r\n"),
        417,
    ),
    closes(
        "version 1.0 expects nothing",
        "9110 10.1.1",
        get(b"Expect: something\r\n", version=OLD),
        200,
    ),
]

# ---- connections ------------------------------------------------------------------------------

CONNECTIONS = [
    *(
        closes(
            f"a client that says {value.decode()!r} is the last time answered",
            "9112 9.6",
            get(b"Connection: " + value + b"\r\n"),
            200,
            says=(b"Connection: close\r\n",),
        )
        for value in (
            b"close",
            b"Close",
            b"CLOSE",
            b"x, close",
            b"close, x",
            b"keep-alive,close",
            b"close,keep-alive",
            b",, close",
            b"x,\tclose",
            b"upgrade , close",
        )
    ),
    *(
        stays(
            f"a client that says {value.decode()!r} may go on",
            "9112 9.3",
            get(b"Connection: " + value + b"\r\n"),
            200,
        )
        for value in (b"keep-alive", b"", b"closed", b"x", b"close-x", b"host", b"TE, x")
    ),
    closes(
        "a second field may say close",
        "9112 9.6",
        get(b"Connection: x\r\nConnection: close\r\n"),
        200,
    ),
    closes(
        "options of version 1.0 without a comma are refused",
        "9110 7.6.1",
        get(b"Connection: chunked keep-alive\r\n", version=OLD),
        400,
    ),
    closes(
        "options without a comma are refused", "9110 7.6.1", get(b"Connection: x close\r\n"), 400
    ),
    closes("an option that is no token is refused", "9110 7.6.1", get(b"Connection: (\r\n"), 400),
    closes("an option in quotes is refused", "9110 7.6.1", get(b'Connection: "close"\r\n'), 400),
    stays(
        "what a proxy is told is not for a server",
        "9112 C.2.2",
        get(b"Proxy-Connection: close\r\n"),
        200,
    ),
    stays(
        "times of a connection are not looked at",
        "9112 C.2.2",
        get(b"Keep-Alive: timeout=0, max=0\r\n"),
        200,
    ),
    closes(
        "version 1.0 is answered once",
        "9112 9.3",
        get(version=OLD),
        200,
        says=(b"Connection: close\r\n",),
    ),
    stays(
        "version 1.0 may ask for more",
        "9112 9.3",
        get(b"Connection: keep-alive\r\n", version=OLD),
        200,
        says=(b"Connection: keep-alive\r\n",),
    ),
    stays(
        "version 1.0 may ask for more in any letters",
        "9112 9.3",
        get(b"Connection: Keep-Alive\r\n", version=OLD),
        200,
    ),
    stays(
        "version 1.0 may ask for more in a list",
        "9112 9.3",
        get(b"Connection: x, keep-alive\r\n", version=OLD),
        200,
    ),
    closes(
        "version 1.0 that wants both is answered once",
        "9112 9.3",
        get(b"Connection: keep-alive, close\r\n", version=OLD),
        200,
    ),
    closes(
        "times alone keep no connection of version 1.0",
        "9112 9.3",
        get(b"Keep-Alive: timeout=5\r\n", version=OLD),
        200,
    ),
    stays(
        "requests behind each other are answered in order",
        "9112 9.3.2",
        get(target=b"/1") + get(target=b"/2") + get(target=b"/3"),
        200,
        200,
        200,
        body=b"GET /1 a ",
    ),
    closes(
        "a request behind a refused one is not answered",
        "9112 9.6",
        get(target=b"/1") + get(host=b""),
        200,
        400,
        body=b"GET /1 a ",
    ),
    stays(
        "another protocol is not spoken",
        "9110 7.8",
        get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n"),
        200,
        lacks=(b" 101 ",),
    ),
    stays(
        "a body of a request for another protocol is read",
        "9110 7.8",
        post(
            b"Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 36\r\n",
            b"GET /smuggled HTTP/1.1\r\nHost: abcd\r\n",
        ),
        200,
        lacks=(b" 101 ",),
    ),
    stays(
        "a protocol without the option is ignored",
        "9110 7.8",
        get(b"Upgrade: websocket\r\n"),
        200,
        lacks=(b" 101 ",),
    ),
    stays(
        "an option without a protocol is ignored", "9110 7.8", get(b"Connection: upgrade\r\n"), 200
    ),
    closes(
        "version 1.0 gets no other protocol",
        "9110 7.8",
        get(b"Connection: upgrade\r\nUpgrade: websocket\r\n", version=OLD),
        200,
        lacks=(b" 101 ",),
    ),
]

# ---- what answers say -------------------------------------------------------------------------

NO_FRAMING = (b"Content-Length", b"Transfer-Encoding")
"""What answers lack that have no body."""
ANSWERS = [
    stays("an answer has a date", "9110 6.6.1", get(), 200, says=(b"\r\nDate: ",)),
    closes("a refusal has a date", "9110 6.6.1", get(host=b""), 400, says=(b"\r\nDate: ",)),
    closes(
        "a refusal says that it is the last answer",
        "9112 9.6",
        get(host=b""),
        400,
        says=(b"\r\nConnection: close\r\n",),
    ),
    stays(
        "an answer of unknown length is in chunks",
        "9112 6.1",
        get(target=b"/stream"),
        200,
        says=(b"Transfer-Encoding: chunked\r\n",),
        lacks=(b"Content-Length",),
        body=b"abc",
    ),
    closes(
        "version 1.0 gets no chunks",
        "9112 6.1",
        get(target=b"/stream", version=OLD),
        200,
        lacks=(b"Transfer-Encoding",),
        body=b"abc",
    ),
    closes(
        "the end of an answer without chunks is that of the connection",
        "9112 6.3",
        get(b"Connection: keep-alive\r\n", b"/stream", version=OLD),
        200,
        says=(b"Connection: close\r\n",),
        lacks=(b"Transfer-Encoding",),
        body=b"abc",
    ),
    stays(
        "HEAD of an answer of unknown length has no body",
        "9110 9.3.2",
        get(target=b"/stream", method=b"HEAD"),
        200,
    ),
    stays(
        "HEAD of a route has its length and no body",
        "9110 9.3.2",
        get(target=b"/fixed", method=b"HEAD"),
        200,
        says=(b"Content-Length: 5\r\n",),
    ),
    stays(
        "HEAD of a file has its length and no body",
        "9110 9.3.2",
        get(target=b"/s/file", method=b"HEAD"),
        200,
        says=(b"Content-Length: 100\r\n",),
    ),
    stays(
        "HEAD of what is not there has no body",
        "9110 9.3.2",
        get(target=b"/s/none", method=b"HEAD"),
        404,
    ),
    stays(
        "HEAD of what fails has no body", "9110 9.3.2", get(target=b"/fails", method=b"HEAD"), 500
    ),
    closes(
        "a HEAD that is refused has no body",
        "9110 9.3.2",
        get(host=b"", method=b"HEAD"),
        400,
        lacks=(b"Bad Request\n",),
    ),
    closes(
        "a HEAD with another expectation has no body",
        "9110 9.3.2",
        get(b"Expect: x\r\n", method=b"HEAD"),
        417,
        lacks=(b"Expectation Failed\n",),
    ),
    stays(
        "204 has neither a body nor a length",
        "9110 15.3.5",
        get(target=b"/204"),
        204,
        lacks=NO_FRAMING,
    ),
    stays("304 has no body", "9110 15.4.5", get(target=b"/304"), 304),
    stays(
        "205 has no body", "9110 15.3.6", get(target=b"/205"), 205, says=(b"Content-Length: 0\r\n",)
    ),
    stays(
        "205 has no body in parts",
        "9110 15.3.6",
        get(target=b"/205/parts"),
        205,
        says=(b"Content-Length: 0\r\n",),
        lacks=(b"Transfer-Encoding",),
    ),
    stays(
        "what is not for a file names what is",
        "9110 15.5.6",
        get(target=b"/s/file", method=b"DELETE"),
        405,
        says=(b"Allow: GET, HEAD\r\n",),
    ),
    stays(
        "a folder without its slash is elsewhere",
        "9110 15.4.2",
        get(target=b"/s/sub"),
        301,
        says=(b"Location: /s/sub/\r\n",),
    ),
    stays("a route is answered", "9110 9.3.1", get(target=b"/fixed"), 200, body=b"fixed"),
    stays(
        "an absolute target finds its route",
        "9112 3.2.2",
        get(target=b"{http}b/fixed"),
        200,
        body=b"fixed",
    ),
    closes(
        "a route closes when it is told to",
        "9112 9.6",
        get(b"Connection: close\r\n", b"/fixed"),
        200,
        says=(b"Connection: close\r\n",),
    ),
    closes(
        "a route is answered once for version 1.0",
        "9112 9.3",
        get(target=b"/fixed", version=OLD),
        200,
        says=(b"Connection: close\r\n",),
    ),
    stays(
        "a route keeps open what version 1.0 wants open",
        "9112 9.3",
        get(b"Connection: keep-alive\r\n", b"/fixed", version=OLD),
        200,
        says=(b"Connection: keep-alive\r\n",),
    ),
]

RULES = [*EXPECTATIONS, *CONNECTIONS, *ANSWERS]
