"""Rules for the request line, its target, fields and hosts."""

from __future__ import annotations

from helpers_rules import Rule, closes, get, stays


def line(text: bytes) -> bytes:
    """A request with this request line."""
    return text + b"\r\nHost: a\r\n\r\n"


def refused_lines(section: str, status: int, cases: dict[str, bytes]) -> list[Rule]:
    """Request lines that are refused."""
    return [closes(rule, section, line(text), status) for rule, text in cases.items()]


BEFORE_THE_LINE = [
    stays("a request is answered", "9112 2.1", get(), 200, body=b"GET / a "),
    stays("an empty line before a request is skipped", "9112 2.2", b"\r\n" + get(), 200),
    closes("many empty lines are no request", "9112 2.2", b"\r\n\r\n" + get(), 400),
    closes("a bare LF before a request is refused", "9112 2.2", b"\n" + get(), 400),
    closes("a bare CR before a request is refused", "9112 2.2", b"\r" + get(), 400),
    closes("a space before a request is refused", "9112 3", b" " + get(), 400),
    closes("a tab before a request is refused", "9112 3", b"\t" + get(), 400),
    closes("a NUL before a request is refused", "9112 3", b"\0" + get(), 400),
    closes("a byte order mark is no request", "9112 2.2", b"\xef\xbb\xbf" + get(), 400),
    closes("a TLS handshake is no request", "9112 2.2", b"\x16\x03\x01\x02\x00\x01", 400),
    closes("an answer is no request", "9112 2.1", b"HTTP/1.1 200 OK\r\n\r\n", 400),
    closes("HTTP/0.9 is not spoken", "9112 2.3", b"GET /\r\n", 400),
    closes(
        "the preface of HTTP/2 is refused", "9112 2.3", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505
    ),
]

LINES = refused_lines(
    "9112 3",
    400,
    {
        "two spaces behind the method": b"GET  / HTTP/1.1",
        "two spaces before the version": b"GET /  HTTP/1.1",
        "a space behind the version": b"GET / HTTP/1.1 ",
        "a tab behind the method": b"GET\t/ HTTP/1.1",
        "a tab before the version": b"GET /\tHTTP/1.1",
        "a vertical tab as separator": b"GET /\x0bHTTP/1.1",
        "a form feed as separator": b"GET\x0c/ HTTP/1.1",
        "a bare CR as separator": b"GET\r/ HTTP/1.1",
        "a bare CR in the target": b"GET /a\rb HTTP/1.1",
        "a bare CR behind the version": b"GET / HTTP/1.1\r",
        "a bare LF in the line": b"GET / HTTP/1.1\nX: y",
        "a method alone": b"GET",
        "no target": b"GET HTTP/1.1",
        "an empty target": b"GET  HTTP/1.1",
        "no method": b"/ HTTP/1.1",
        "a space in the target": b"GET /a b HTTP/1.1",
        "a second version": b"GET / HTTP/1.1 HTTP/1.1",
        "a method with a parenthesis": b"G(T / HTTP/1.1",
        "a method with a colon": b"GET: / HTTP/1.1",
        "a method with a slash": b"G/T / HTTP/1.1",
        "a method with a NUL": b"GE\0T / HTTP/1.1",
        "a method above ASCII": b"G\xc9T / HTTP/1.1",
        "a method in quotes": b'"GET" / HTTP/1.1',
    },
)

VERSIONS = [
    *refused_lines(
        "9112 2.3",
        400,
        {
            "a version in small letters": b"GET / http/1.1",
            "a version in mixed letters": b"GET / Http/1.1",
            "a version without its minor number": b"GET / HTTP/1",
            "a version with two minor digits": b"GET / HTTP/1.10",
            "a version with two major digits": b"GET / HTTP/01.1",
            "a version with a comma": b"GET / HTTP/1,1",
            "a version with a space in it": b"GET / HTTP/ 1.1",
            "a version of something else": b"GET / ICE/1.0",
            "a version with something behind it": b"GET / HTTP/1.1x",
            "a version with a sign": b"GET / HTTP/+1.1",
            "a version without a slash": b"GET / HTTP1.1",
            "a version in other digits": "GET / HTTP/1.\N{FULLWIDTH DIGIT ONE}".encode(),
        },
    ),
    *refused_lines(
        "9110 15.6.6",
        505,
        {
            "version 2.0 in a request line": b"GET / HTTP/2.0",
            "version 3.0 in a request line": b"GET / HTTP/3.0",
            "version 0.9 in a request line": b"GET / HTTP/0.9",
            "version 9.9 in a request line": b"GET / HTTP/9.9",
        },
    ),
    stays(
        "a higher minor version is read as 1.1",
        "9110 2.5",
        get(version=b"HTTP/1.9"),
        200,
        says=(b"HTTP/1.1 200",),
    ),
    closes(
        "an answer to version 1.0 says what the server speaks",
        "9110 2.5",
        get(version=b"HTTP/1.0"),
        200,
        says=(b"HTTP/1.1 200", b"Connection: close"),
    ),
]

METHODS = [
    stays("methods are in capital letters", "9110 9.1", get(method=b"get"), 200, body=b"get / a "),
    stays(
        "a method of its own is a method", "9110 9.1", get(method=b"BREW"), 200, body=b"BREW / a "
    ),
    stays(
        "all marks of tokens are marks of methods",
        "9110 5.6.2",
        get(method=b"A!#$%&'*+-.^_`|~9"),
        200,
        body=b"A!#$%&'*+-.^_`|~9 / a ",
    ),
    stays(
        "HEAD has no body",
        "9110 9.3.2",
        get(method=b"HEAD"),
        200,
        body=b"",
        says=(b"Content-Length: 9\r\n",),
    ),
    closes("a tunnel is not made", "9110 9.3.6", get(target=b"a:80", method=b"CONNECT"), 501),
    closes("a tunnel to a path is not made", "9112 3.2.3", get(method=b"CONNECT"), 501),
    stays(
        "OPTIONS is for the whole server with an asterisk",
        "9112 3.2.4",
        get(target=b"*", method=b"OPTIONS"),
        200,
        body=b"OPTIONS * a ",
    ),
    stays(
        "OPTIONS is for a path as well",
        "9110 9.3.7",
        get(method=b"OPTIONS"),
        200,
        body=b"OPTIONS / a ",
    ),
    stays("TRACE without a body is a request", "9110 9.3.8", get(method=b"TRACE"), 200),
    stays(
        "a body of GET is no request",
        "9110 9.3.1",
        get(b"Content-Length: 36\r\n") + b"GET /smuggled HTTP/1.1\r\nHost: abcd\r\n",
        200,
    ),
    stays(
        "a body of DELETE is no request",
        "9110 9.3.5",
        get(b"Content-Length: 5\r\n", method=b"DELETE") + b"hello",
        200,
        body=b"DELETE / a hello",
    ),
    stays(
        "a body of HEAD is no request",
        "9110 9.3.2",
        get(b"Content-Length: 5\r\n", method=b"HEAD") + b"hello",
        200,
    ),
]

TARGETS = [
    *refused_lines(
        "9112 3.2",
        400,
        {
            "a target without a slash": b"GET a HTTP/1.1",
            "an asterisk for GET": b"GET * HTTP/1.1",
            "an asterisk for HEAD": b"HEAD * HTTP/1.1",
            "an asterisk with more behind it": b"OPTIONS *a HTTP/1.1",
            "an asterisk with a query": b"OPTIONS *?a HTTP/1.1",
            "an authority for GET": b"GET a:80 HTTP/1.1",
            "an authority for OPTIONS": b"OPTIONS a:80 HTTP/1.1",
            "another scheme": b"GET ftp://a/ HTTP/1.1",
            "a scheme alone": b"GET {http} HTTP/1.1",
            "a scheme with one slash": b"GET http:/a HTTP/1.1",
            "a query alone": b"GET ?a HTTP/1.1",
            "a fragment": b"GET /a#b HTTP/1.1",
            "a fragment of an absolute target": b"GET {http}a/#b HTTP/1.1",
            "a NUL in the target": b"GET /a\0b HTTP/1.1",
            "a control character in the target": b"GET /a\x01b HTTP/1.1",
            "an escape character in the target": b"GET /\x1b[2J HTTP/1.1",
            "a DEL in the target": b"GET /a\x7fb HTTP/1.1",
            "a byte above ASCII in the target": b"GET /\xe9 HTTP/1.1",
        },
    ),
    *refused_lines(
        "9110 4.2",
        400,
        {
            "an absolute target with an empty host": b"GET {http}/a HTTP/1.1",
            "an absolute target with a port alone": b"GET {http}:80/ HTTP/1.1",
            "an absolute target with a user": b"GET {http}u@a/ HTTP/1.1",
            "an absolute target with a user and a password": b"GET {http}u:p@a/ HTTP/1.1",
            "an absolute target with a bad port": b"GET {http}a:x/ HTTP/1.1",
            "an absolute target with a large port": b"GET {http}a:123456/ HTTP/1.1",
            "an absolute target with an open bracket": b"GET {http}[::1/ HTTP/1.1",
        },
    ),
    closes(
        "https is not for a connection without TLS",
        "9110 7.4",
        line(b"GET {https}a/ HTTP/1.1"),
        421,
    ),
    stays(
        "two slashes are a path",
        "9112 3.2.1",
        line(b"GET //b/c HTTP/1.1"),
        200,
        body=b"GET //b/c a ",
    ),
    stays(
        "percent signs stay as they are",
        "9112 3.2.1",
        line(b"GET /%41%2f HTTP/1.1"),
        200,
        body=b"GET /%41%2f a ",
    ),
    stays(
        "the host of an absolute target counts",
        "9112 3.2.2",
        line(b"GET {http}b:81/c HTTP/1.1"),
        200,
        body=b"GET /c b:81 ",
    ),
    stays(
        "a scheme is in any letters",
        "9110 4.2.3",
        line(b"GET HTTP://b/c HTTP/1.1"),
        200,
        body=b"GET /c b ",
    ),
    stays(
        "an absolute target without a path means the root",
        "9110 4.2.3",
        line(b"GET {http}b HTTP/1.1"),
        200,
        body=b"GET / b ",
    ),
    stays(
        "an absolute target without a path may have a query",
        "9110 4.2.3",
        line(b"GET {http}b?c HTTP/1.1"),
        200,
        body=b"GET / b ",
    ),
    closes(
        "an absolute target needs a Host as well",
        "9112 3.2.2",
        get(target=b"{http}b/", host=b""),
        400,
    ),
    closes(
        "an absolute target excuses no bad Host",
        "9112 3.2",
        get(target=b"{http}b/", host=b"Host: a b\r\n"),
        400,
    ),
    closes(
        "an absolute target excuses no second Host",
        "9112 3.2",
        get(b"Host: b\r\n", target=b"{http}b/"),
        400,
    ),
    stays("a target of 8192 bytes is answered", "9112 3", get(target=b"/" + b"a" * 8191), 200),
    closes("a longer target is refused", "9110 15.5.15", get(target=b"/" + b"a" * 8192), 414),
    closes("a request line without an end is refused", "9112 3", b"GET /" + b"a" * 9000, 414),
    closes("a method without an end is refused", "9112 3", b"G" * 9000, 414),
]

# ---- fields -----------------------------------------------------------------------------------

NOT_IN_NAMES = {
    "space": b" ",
    "tab": b"\t",
    "NUL": b"\0",
    "control character": b"\x01",
    "DEL": b"\x7f",
    "byte above ASCII": b"\xe9",
    "double quote": b'"',
    "opening parenthesis": b"(",
    "closing parenthesis": b")",
    "comma": b",",
    "slash": b"/",
    "semicolon": b";",
    "less-than sign": b"<",
    "equals sign": b"=",
    "greater-than sign": b">",
    "question mark": b"?",
    "at sign": b"@",
    "opening bracket": b"[",
    "backslash": b"\\",
    "closing bracket": b"]",
    "opening brace": b"{",
    "closing brace": b"}",
    "bare CR": b"\r",
    "bare LF": b"\n",
}
NOT_IN_VALUES = {
    "NUL": b"\0",
    "control character": b"\x01",
    "backspace": b"\x08",
    "vertical tab": b"\x0b",
    "form feed": b"\x0c",
    "escape character": b"\x1b",
    "unit separator": b"\x1f",
    "DEL": b"\x7f",
    "bare CR": b"\r",
    "bare LF": b"\n",
    "LF CR": b"\n\r",
}
BAD_FIELDS = {
    "a space before the colon": b"X-Y : z\r\n",
    "a tab before the colon": b"X-Y\t: z\r\n",
    "a line without a colon": b"nothing\r\n",
    "an empty name": b": z\r\n",
    "a colon alone": b":\r\n",
    "a folded line": b"X-Y: z\r\n more\r\n",
    "a line folded with a tab": b"X-Y: z\r\n\tmore\r\n",
    "a folded line that is empty": b"X-Y: z\r\n \r\n",
    "a value that begins on the next line": b"X-Y:\r\n z\r\n",
    "a name on two lines": b"X-Y\r\n : z\r\n",
    "a line that ends with LF": b"X-Y: z\n",
    "a line that ends with CR CR LF": b"X-Y: z\r\r\n",
    "a request line among the fields": b"GET /smuggled HTTP/1.1\r\n",
}

FIELDS = [
    *(
        closes(f"a {name} in a name is refused", "9110 5.1", get(b"X" + byte + b"Y: z\r\n"), 400)
        for name, byte in NOT_IN_NAMES.items()
    ),
    *(
        closes(f"a {name} in a value is refused", "9110 5.5", get(b"X: y" + byte + b"z\r\n"), 400)
        for name, byte in NOT_IN_VALUES.items()
    ),
    *(closes(f"{name} is refused", "9112 5", get(text), 400) for name, text in BAD_FIELDS.items()),
    closes("a space before the first field is refused", "9112 2.2", get(host=b" Host: a\r\n"), 400),
    closes("a folded Host is refused", "9112 5.2", get(host=b"Host:\r\n a\r\n"), 400),
    closes(
        "an empty line of LF is no end of a head",
        "9112 2.2",
        b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        400,
    ),
    closes(
        "an empty line of CR is no end of a head",
        "9112 2.2",
        b"GET / HTTP/1.1\r\nHost: a\r\n\rX\n",
        400,
    ),
    closes("lines of LF alone are refused", "9112 2.2", b"GET / HTTP/1.1\nHost: a\n\n", 400),
    stays(
        "blanks around a value are no part of it",
        "9112 5.1",
        get(b"X-Y: \t z w \t \r\n", b"/fields"),
        200,
        says=(b"X-Y=z w;",),
    ),
    stays(
        "no blank is needed before a value",
        "9112 5",
        get(b"X-Y:z\r\n", b"/fields"),
        200,
        says=(b"X-Y=z;",),
    ),
    stays("a value may be empty", "9110 5.5", get(b"X-Y:\r\n", b"/fields"), 200, says=(b"X-Y=;",)),
    stays(
        "a value of blanks is empty",
        "9112 5.1",
        get(b"X-Y: \t \r\n", b"/fields"),
        200,
        says=(b"X-Y=;",),
    ),
    stays(
        "a value may hold bytes above ASCII",
        "9110 5.5",
        get(b"X-Y: \xe9\r\n", b"/fields"),
        200,
        says=("X-Y=é;".encode(),),
    ),
    stays(
        "a value may hold a colon",
        "9112 5",
        get(b"X-Y: a: b\r\n", b"/fields"),
        200,
        says=(b"X-Y=a: b;",),
    ),
    stays(
        "fields of one name keep their order",
        "9110 5.3",
        get(b"X-Y: a\r\nX-Z: b\r\nx-y: c\r\n", b"/fields"),
        200,
        says=(b"X-Y=a;X-Z=b;x-y=c;",),
    ),
    stays("names are in any letters", "9110 5.1", get(host=b"hOsT: b\r\n"), 200, body=b"GET / b "),
    stays(
        "all marks of tokens are marks of names",
        "9110 5.6.2",
        get(b"!#$%&'*+-.^_`|~9: z\r\n", b"/fields"),
        200,
        says=(b"!#$%&'*+-.^_`|~9=z;",),
    ),
    stays("a hundred fields are answered", "9110 5.4", get(b"X: y\r\n" * 99), 200),
    closes("more are refused", "6585 5", get(b"X: y\r\n" * 100), 431),
    stays("a long field is answered", "9110 5.4", get(b"X: " + b"y" * 60000 + b"\r\n"), 200),
    closes("a longer head is refused", "6585 5", get(b"X: " + b"y" * 66000 + b"\r\n"), 431),
    closes(
        "many long fields are refused", "6585 5", get((b"X: " + b"y" * 1000 + b"\r\n") * 90), 431
    ),
    closes("a field without an end is refused", "6585 5", get()[:-2] + b"X" * 66000, 431),
]

# ---- hosts ------------------------------------------------------------------------------------

BAD_HOSTS = {
    "with a space": b"a b",
    "with a tab": b"a\tb",
    "with a path": b"a/b",
    "with a query": b"a?b",
    "with a fragment": b"a#b",
    "with a user": b"u@a",
    "with a name as port": b"a:b",
    "with a negative port": b"a:-1",
    "with two ports": b"a:80:80",
    "with a long port": b"a:123456",
    "that is a list": b"a, b",
    "with a scheme": b"{http}a",
    "with an open bracket": b"[::1",
    "with empty brackets": b"[]",
    "with something behind its bracket": b"[::1]x",
    "that is an address without brackets": b"::1",
    "with a backslash": b"a\\b",
    "in angle brackets": b"<a>",
    "in quotes": b'"a"',
    "above ASCII": b"\xe9",
}
GOOD_HOSTS = {
    "with a port": b"a:80",
    "with an empty port": b"a:",
    "that is an address": b"192.0.2.1",
    "that is an address in brackets": b"[::1]:80",
    "with percent signs": b"%61",
    "with an underscore": b"a_b.c",
}

HOSTS = [
    *(
        closes(f"a Host {name} is refused", "9112 3.2", get(host=b"Host: " + host + b"\r\n"), 400)
        for name, host in BAD_HOSTS.items()
    ),
    *(
        stays(
            f"a Host {name} is answered",
            "9110 7.2",
            get(host=b"Host: " + host + b"\r\n"),
            200,
            body=b"GET / " + host + b" ",
        )
        for name, host in GOOD_HOSTS.items()
    ),
    stays("an empty Host is answered", "9110 7.2", get(host=b"Host:\r\n"), 200, body=b"GET /  "),
    closes("no Host is refused", "9112 3.2", get(host=b""), 400),
    closes("a version of 1.0 needs no Host", "9112 3.2", get(version=b"HTTP/1.0", host=b""), 200),
    closes("two Hosts are refused", "9112 3.2", get(b"Host: b\r\n"), 400),
    closes("two equal Hosts are refused", "9112 3.2", get(b"Host: a\r\n"), 400),
    closes("two Hosts in other letters are refused", "9112 3.2", get(b"hOST: b\r\n"), 400),
    closes(
        "two Hosts far from each other are refused",
        "9112 3.2",
        get(b"X: y\r\n" * 50 + b"Host: b\r\n"),
        400,
    ),
    closes(
        "two Hosts of version 1.0 are refused",
        "9112 3.2",
        get(b"Host: b\r\n", version=b"HTTP/1.0"),
        400,
    ),
    closes("an empty second Host is refused", "9112 3.2", get(b"Host:\r\n"), 400),
]

RULES = [*BEFORE_THE_LINE, *LINES, *VERSIONS, *METHODS, *TARGETS, *FIELDS, *HOSTS]
