"""Rules for what frames a body, for chunks and for trailers."""

from __future__ import annotations

from helpers_rules import SMUGGLED, chunked, closes, get, post, stays

CHUNKED = b"Transfer-Encoding: chunked\r\n"
HELLO = b"5\r\nhello\r\n0\r\n\r\n"
ECHOED = b"POST / a hello"

# ---- lengths ----------------------------------------------------------------------------------

BAD_LENGTHS = {
    "with a plus": b"+5",
    "with a minus": b"-5",
    "with an underscore": b"1_0",
    "in hexadecimal digits": b"0x5",
    "in hexadecimal digits without a prefix": b"a",
    "with a fraction": b"5.0",
    "with an exponent": b"1e1",
    "that is empty": b"",
    "that is a word": b"five",
    "in quotes": b'"5"',
    "with a space in it": b"5 5",
    "with a tab in it": b"5\t5",
    "with a semicolon": b"5;",
    "with a comma behind it": b"5,",
    "with a comma before it": b",5",
    "that is a list of two": b"5, 6",
    "that is a list of equal ones": b"5, 5",
    "that is a list without blanks": b"5,5",
    "with a vertical tab": b"\x0b5",
    "with a form feed": b"5\x0c",
    "with a NUL": b"5\0",
    "in other digits": "\N{FULLWIDTH DIGIT FIVE}".encode(),
    "with a superscript": b"5\xb2",
    "on the next line": b"\r\n 5",
    "that goes on on the next line": b"5\r\n 0",
}
TWO_LENGTHS = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n",
    "two equal lengths": b"Content-Length: 5\r\nContent-Length: 5\r\n",
    "a length and zero": b"Content-Length: 5\r\nContent-Length: 0\r\n",
    "zero and a length": b"Content-Length: 0\r\nContent-Length: 5\r\n",
    "two lengths in other letters": b"Content-Length: 5\r\ncontent-length: 5\r\n",
    "two lengths far from each other": b"Content-Length: 5\r\n"
    + b"X: y\r\n" * 50
    + b"Content-Length: 5\r\n",
    "a length and an empty one": b"Content-Length: 5\r\nContent-Length:\r\n",
}

LENGTHS = [
    stays(
        "a body has the length that is said",
        "9112 6.3",
        post(b"Content-Length: 5\r\n", b"hello"),
        200,
        body=ECHOED,
    ),
    stays(
        "a length may begin with zeros",
        "9110 8.6",
        post(b"Content-Length: 005\r\n", b"hello"),
        200,
        body=ECHOED,
    ),
    stays(
        "blanks around a length are no part of it",
        "9112 5.1",
        post(b"Content-Length: \t5 \t\r\n", b"hello"),
        200,
        body=ECHOED,
    ),
    stays(
        "a length is named in any letters",
        "9110 5.1",
        post(b"cONTENT-lENGTH:5\r\n", b"hello"),
        200,
        body=ECHOED,
    ),
    stays("a length of zero is no body", "9110 8.6", post(b"Content-Length: 0\r\n", b""), 200),
    stays("a request without a length has no body", "9112 6.3", post(b"", b""), 200),
    stays(
        "a body of version 1.0 has the length that is said",
        "9112 6.3",
        post(b"Content-Length: 5\r\nConnection: keep-alive\r\n", b"hello", version=b"HTTP/1.0"),
        200,
        body=ECHOED,
    ),
    stays(
        "a request in a body is a body",
        "9112 6.3",
        post(b"Content-Length: %d\r\n" % len(SMUGGLED), SMUGGLED),
        200,
        body=b"POST / a " + SMUGGLED,
    ),
    stays(
        "a body that nobody reads is no request",
        "9112 9.3",
        post(b"Content-Length: %d\r\n" % len(SMUGGLED), SMUGGLED, b"/unread"),
        200,
        at_once=True,
    ),
    closes(
        "a body that has not come is no request later",
        "9112 9.3",
        post(b"Content-Length: 500\r\n", b"", b"/unread"),
        200,
        at_once=True,
    ),
    closes(
        "what is behind a body is no request unless it is one",
        "9112 6.3",
        post(b"Content-Length: 5\r\n", b"hello\0"),
        200,
        400,
        body=ECHOED,
    ),
    *(
        closes(
            f"a length {name} is refused",
            "9112 6.3",
            post(b"Content-Length: " + value + b"\r\n", b"hello"),
            400,
        )
        for name, value in BAD_LENGTHS.items()
    ),
    *(
        closes(f"{name} are refused", "9112 6.3", post(fields, b"hello"), 400)
        for name, fields in TWO_LENGTHS.items()
    ),
    closes(
        "a length of twenty digits is refused",
        "9110 8.6",
        post(b"Content-Length: 99999999999999999999\r\n", b"hello"),
        413,
    ),
    closes(
        "a length that wraps around is refused",
        "9110 8.6",
        post(b"Content-Length: 18446744073709551621\r\n", b"hello"),
        413,
    ),
    closes(
        "a length that wraps around in 32 bits is refused",
        "9110 8.6",
        post(b"Content-Length: 4294967301\r\n", b"hello"),
        413,
    ),
    closes(
        "the largest length is refused",
        "9110 8.6",
        post(b"Content-Length: 9223372036854775807\r\n", b"hello"),
        413,
    ),
    closes(
        "a length above the limit is refused",
        "9110 15.5.14",
        post(b"Content-Length: 1001\r\n", b"hello"),
        413,
    ),
    closes(
        "a length with a space before its colon is refused",
        "9112 5.1",
        post(b"Content-Length : 5\r\n", b"hello"),
        400,
    ),
    closes(
        "a length with another name is none",
        "9112 6.3",
        post(b"Content_Length: 1\r\n", b"\0"),
        200,
        400,
    ),
]

# ---- encodings --------------------------------------------------------------------------------

BAD_ENCODINGS = {
    "with a letter before it": b"xchunked",
    "with a letter behind it": b"chunkedx",
    "in quotes": b'"chunked"',
    "in single quotes": b"'chunked'",
    "with a parameter": b"chunked;a=b",
    "with a semicolon": b"chunked;",
    "with a comma behind it": b"chunked,",
    "with a vertical tab behind it": b"chunked\x0b",
    "with a vertical tab before it": b"\x0bchunked",
    "with a form feed": b"chunked\x0c",
    "with a NUL": b"chunked\0",
    "with a bare CR behind it": b"chunked\rX: y",
    "with a bare LF behind it": b"chunked\nX: y",
    "with a space in it": b"chun ked",
    "with a byte above ASCII": b"chunked\xa0",
    "with a letter that is small as k": "chun\N{KELVIN SIGN}ed".encode(),
    "that is empty": b"",
    "on the next line": b"\r\n chunked",
    "that goes on on the next line": b"chunked\r\n , identity",
    "that is identity": b"identity",
    "that is identity behind chunked": b"chunked, identity",
    "that is gzip behind chunked": b"chunked, gzip",
    "that is gzip alone": b"gzip",
    "that is nothing known": b"cow",
    "that is chunked twice": b"chunked, chunked",
    "that is chunked between others": b"gzip, chunked, gzip",
    "in brackets": b"[chunked]",
    "with a colon": b": chunked",
}
TWO_WAYS = {
    "a length before an encoding": b"Content-Length: 5\r\n" + CHUNKED,
    "a length behind an encoding": CHUNKED + b"Content-Length: 5\r\n",
    "a length of zero and an encoding": b"Content-Length: 0\r\n" + CHUNKED,
    "a length and an encoding that nobody knows": b"Content-Length: 5\r\nTransfer-Encoding: x\r\n",
    "a length and an encoding in other letters": b"Content-Length: 5\r\ntRANSFER-eNCODING: "
    b"chunked\r\n",
    "two encodings": CHUNKED + CHUNKED,
    "two encodings of which one is unknown": CHUNKED + b"Transfer-Encoding: cow\r\n",
    "two encodings of which the first is unknown": b"Transfer-Encoding: cow\r\n" + CHUNKED,
    "two encodings of which one is identity": CHUNKED + b"Transfer-encoding: identity\r\n",
}
HIDDEN_ENCODINGS = {
    "a space before its colon": b"Transfer-Encoding : chunked\r\n",
    "a tab before its colon": b"Transfer-Encoding\t: chunked\r\n",
    "a space before its name": b" Transfer-Encoding: chunked\r\n",
    "a folded line before its colon": b"Transfer-Encoding\r\n : chunked\r\n",
    "a vertical tab before its name": b"\x0bTransfer-Encoding: chunked\r\n",
    "a NUL behind its name": b"Transfer-Encoding\0: chunked\r\n",
    "a CR before its name": b"X: y\rTransfer-Encoding: chunked\r\n",
    "an LF before its name": b"X: y\nTransfer-Encoding: chunked\r\n",
}

ENCODINGS = [
    stays("a body in chunks is read", "9112 7.1", chunked(HELLO), 200, body=ECHOED),
    stays(
        "an encoding is in any letters",
        "9112 7",
        post(b"Transfer-Encoding: ChUnKeD\r\n", HELLO),
        200,
        body=ECHOED,
    ),
    stays(
        "blanks around an encoding are no part of it",
        "9112 5.1",
        post(b"Transfer-Encoding: \t chunked\t \r\n", HELLO),
        200,
        body=ECHOED,
    ),
    stays(
        "what a client takes is no encoding of its body",
        "9110 10.1.4",
        get(b"TE: trailers, chunked\r\nConnection: TE\r\n"),
        200,
    ),
    stays(
        "a coding of the content is no encoding",
        "9110 8.4",
        post(b"Content-Encoding: chunked\r\nContent-Length: 5\r\n", b"hello"),
        200,
        body=ECHOED,
    ),
    *(
        closes(
            f"an encoding {name} is refused",
            "9112 6.3",
            post(b"Transfer-Encoding: " + value + b"\r\n", HELLO),
            400,
        )
        for name, value in BAD_ENCODINGS.items()
    ),
    *(
        closes(f"{name} are refused", "9112 6.3", post(fields, HELLO), 400)
        for name, fields in TWO_WAYS.items()
    ),
    *(
        closes(
            f"an encoding with {name} is refused",
            "9112 5.1",
            post(b"Content-Length: 5\r\n" + field, HELLO),
            400,
        )
        for name, field in HIDDEN_ENCODINGS.items()
    ),
    closes(
        "an encoding that is not known is refused",
        "9112 6.1",
        post(b"Transfer-Encoding: gzip, chunked\r\n", HELLO),
        501,
    ),
    closes(
        "an encoding with parameters that is not known is refused",
        "9112 6.1",
        post(b"Transfer-Encoding: a;b=c, chunked\r\n", HELLO),
        501,
    ),
    closes(
        "an encoding of version 1.0 is refused",
        "9112 6.1",
        post(CHUNKED, HELLO, version=b"HTTP/1.0"),
        400,
    ),
    closes(
        "an encoding and a length of version 1.0 are refused",
        "9112 6.1",
        post(CHUNKED + b"Content-Length: 5\r\n", HELLO, version=b"HTTP/1.0"),
        400,
    ),
    closes(
        "an encoding with another name is none",
        "9112 6.3",
        post(b"Transfer_Encoding: chunked\r\n", b"\0"),
        200,
        400,
    ),
    closes(
        "a length hides no request from an encoding",
        "9112 11.2",
        post(b"Content-Length: 6\r\n" + CHUNKED, b"0\r\n\r\nG"),
        400,
    ),
    closes(
        "an encoding hides no request from a length",
        "9112 11.2",
        post(CHUNKED + b"Content-Length: 4\r\n", b"24\r\n" + SMUGGLED + b"\r\n0\r\n\r\n"),
        400,
    ),
]

# ---- chunks -----------------------------------------------------------------------------------

LAST = b"0\r\n\r\n"
GOOD_CHUNKS = {
    "in several chunks": b"2\r\nhe\r\n3\r\nllo\r\n" + LAST,
    "with zeros before its sizes": b"0005\r\nhello\r\n000\r\n\r\n",
    "with an extension": b"5;a=b\r\nhello\r\n0;c\r\n\r\n",
    "with an extension without a value": b"5;a\r\nhello\r\n" + LAST,
    "with blanks around an extension": b"5 ; a = b\r\nhello\r\n" + LAST,
    "with an extension that has no name": b"5;;=b;\r\nhello\r\n" + LAST,
    "with names without a semicolon": b"5;a b=c=d\r\nhello\r\n" + LAST,
    "with several extensions": b"5;a;b=c;d\r\nhello\r\n" + LAST,
    "with quotes in an extension": b'5;a="b;c"\r\nhello\r\n' + LAST,
    "with a byte above ASCII in quotes": b'5;a="\xe9"\r\nhello\r\n' + LAST,
    "with escaped quotes in an extension": b'5;a="b\\"c"\r\nhello\r\n' + LAST,
}
BAD_CHUNKS = {
    "without a size": b"\r\nhello\r\n",
    "with a size that is no number": b"x\r\nhello\r\n",
    "with a plus": b"+5\r\nhello\r\n",
    "with a minus": b"-5\r\nhello\r\n",
    "with a minus before zero": b"-0\r\n\r\n",
    "with a prefix": b"0x5\r\nhello\r\n",
    "with an underscore": b"0_5\r\nhello\r\n",
    "with a space before its size": b" 5\r\nhello\r\n",
    "with a tab before its size": b"\t5\r\nhello\r\n",
    "with a space behind its size": b"5 \r\nhello\r\n",
    "with a vertical tab behind its size": b"5\x0b\r\nhello\r\n",
    "with a NUL behind its size": b"5\0\r\nhello\r\n",
    "with a size in quotes": b'"5"\r\nhello\r\n',
    "with a fraction": b"5.0\r\nhello\r\n",
    "with two sizes": b"5 5\r\nhello\r\n",
    "with a comma": b"5,5\r\nhello\r\n",
    "with a size that ends with LF": b"5\nhello\r\n",
    "with a size that ends with CR": b"5\rhello\r\n",
    "with a size that ends with CR CR LF": b"5\r\r\nhello\r\n",
    "with a size that ends with LF CR": b"5\n\rhello\r\n",
    "with an extension alone": b";a\r\nhello\r\n",
    "with an extension that ends with LF": b"5;a\nhello\r\n",
    "with an extension that ends with CR": b"5;a\rhello\r\n",
    "with a bare CR in an extension": b"5;a\rb\r\nhello\r\n",
    "with a slash in an extension": b"5;GET /smuggled\r\nhello\r\n",
    "with a byte above ASCII in an extension": b"5;a=\xe9\r\nhello\r\n",
    "with a NUL in an extension": b"5;a\0\r\nhello\r\n",
    "with an LF in quotes": b'5;a="\n"\r\nhello\r\n',
    "with a line end in quotes": b'5;a="\r\n"\r\nhello\r\n',
    "with an escaped line end in quotes": b'5;a="\\\r\n"\r\nhello\r\n',
    "with open quotes": b'5;a="b\r\nhello\r\n',
    "longer than its size": b"4\r\nhello\r\n",
    "shorter than its size": b"6\r\nhello\r\n",
    "without an end": b"5\r\nhello0\r\n\r\n",
    "that ends with LF": b"5\r\nhello\n0\r\n\r\n",
    "that ends with CR": b"5\r\nhello\r0\r\n\r\n",
    "that ends with LF CR": b"5\r\nhello\n\r0\r\n\r\n",
    "that ends with two bytes": b"5\r\nhelloXX0\r\n\r\n",
    "with a last size that ends with LF": b"5\r\nhello\r\n0\n\r\n",
    "with a last line that ends with LF": b"5\r\nhello\r\n0\r\n\n",
    "with a last line that ends with CR": b"5\r\nhello\r\n0\r\n\rX",
}
LARGE_CHUNKS = {
    "of a size that wraps around": b"10000000000000005\r\nhello\r\n",
    "of a size that wraps around in 32 bits": b"100000005\r\nhello\r\n",
    "of the largest size": b"ffffffffffffffff\r\nhello\r\n",
    "of the largest size with a sign": b"7fffffffffffffff\r\nhello\r\n",
    "of a size with too many zeros": b"0" * 20 + b"5\r\nhello\r\n",
    "above the limit": b"3e9\r\nhello\r\n",
    "with a long extension": b"5;" + b"a" * 17000 + b"\r\nhello\r\n",
}

CHUNKS = [
    *(
        stays(f"a body {name} is read", "9112 7.1", chunked(data), 200, body=ECHOED)
        for name, data in GOOD_CHUNKS.items()
    ),
    stays(
        "a size is in any letters",
        "9112 7.1",
        chunked(b"a\r\n0123456789\r\nB\r\n0123456789a\r\n" + LAST),
        200,
        body=b"POST / a 01234567890123456789a",
    ),
    stays("a body without a chunk is empty", "9112 7.1", chunked(LAST), 200, body=b"POST / a "),
    stays(
        "a last chunk in a chunk is data",
        "9112 7.1",
        chunked(b"5\r\n" + LAST + b"\r\n" + LAST),
        200,
        body=b"POST / a " + LAST,
    ),
    stays(
        "a request in a chunk is data",
        "9112 7.1",
        chunked(b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n" + LAST),
        200,
        body=b"POST / a " + SMUGGLED,
    ),
    stays(
        "a request in an extension is none",
        "9112 7.1.1",
        chunked(b'5;a="GET /smuggled HTTP/1.1"\r\nhello\r\n' + LAST),
        200,
        body=ECHOED,
    ),
    stays(
        "chunks that nobody reads are no request",
        "9112 9.3",
        chunked(b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n" + LAST, b"/unread"),
        200,
        at_once=True,
    ),
    *(
        closes(f"a chunk {name} is refused", "9112 7.1", chunked(data), 400)
        for name, data in BAD_CHUNKS.items()
    ),
    *(
        closes(
            f"a chunk {name} that nobody reads ends the connection",
            "9112 7.1",
            chunked(data, b"/unread"),
            200,
            at_once=True,
        )
        for name, data in BAD_CHUNKS.items()
    ),
    *(
        closes(f"a chunk {name} is refused", "9112 7.1", chunked(data), 413)
        for name, data in LARGE_CHUNKS.items()
    ),
]

# ---- trailers ---------------------------------------------------------------------------------

IGNORED_TRAILERS = {
    "a trailer": b"X-Y: z\r\n",
    "a length": b"Content-Length: 50\r\n",
    "an encoding": CHUNKED,
    "a Host": b"Host: b\r\n",
    "a wish to close": b"Connection: close\r\n",
    "an expectation": b"Expect: something\r\n",
    "a name and a password": b"Authorization: Basic YTpi\r\n",
    "a cookie": b"Cookie: a=b\r\n",
    "a type": b"Content-Type: text/html\r\n",
}
BAD_TRAILERS = {
    "without a colon": b"nothing\r\n",
    "that is a request": b"GET /smuggled HTTP/1.1\r\n",
    "with an empty name": b": z\r\n",
    "with a space before its colon": b"X-Y : z\r\n",
    "that is folded": b"X-Y: z\r\n more\r\n",
    "with a space before its name": b" X-Y: z\r\n",
    "with a bare CR": b"X-Y: a\rb\r\n",
    "that ends with LF": b"X-Y: z\n",
    "that ends with CR": b"X-Y: z\rX",
    "with a NUL": b"X-Y: a\0b\r\n",
    "with a DEL": b"X-Y: a\x7f\r\n",
    "with a bracket in its name": b"X[]: a\r\n",
}

TRAILERS = [
    *(
        stays(
            f"{name} in a trailer changes nothing",
            "9110 6.5.1",
            chunked(b"5\r\nhello\r\n0\r\n" + field + b"\r\n", b"/fields"),
            200,
            body=b"Host=a;Transfer-Encoding=chunked;",
        )
        for name, field in IGNORED_TRAILERS.items()
    ),
    *(
        closes(
            f"a trailer {name} is refused",
            "9112 7.1.2",
            chunked(b"5\r\nhello\r\n0\r\n" + field + b"\r\n"),
            400,
        )
        for name, field in BAD_TRAILERS.items()
    ),
    closes(
        "trailers without an end are refused",
        "9112 7.1.2",
        chunked(b"0\r\n" + b"X: y\r\n" * 3000),
        431,
    ),
]

RULES = [*LENGTHS, *ENCODINGS, *CHUNKS, *TRAILERS]
