"""Rules for conditional requests and ranges."""

from __future__ import annotations

from helpers_rules import Rule, get, stays

# ---- conditions -------------------------------------------------------------------------------

THEN = "Sun, 06 Nov 1994 08:49:37 GMT"
"""When /s/file was modified."""
BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"


def file(*fields: str, target: bytes = b"/s/file", method: bytes = b"GET") -> bytes:
    """A request for the file with these fields."""
    return get("".join(f"{field}\r\n" for field in fields).encode(), target, method)


def conditions(status: int, section: str, cases: dict[str, tuple[str, ...]]) -> list[Rule]:
    """What these conditions lead to."""
    return [stays(rule, section, file(*fields), status) for rule, fields in cases.items()]


CONDITIONS = [
    *conditions(
        200,
        "9110 13.1.1",
        {
            "the tag matches": ("If-Match: {tag}",),
            "one of the tags matches": ('If-Match: "a", {tag}, "b"',),
            "a tag in another field matches": ('If-Match: "a"', "If-Match: {tag}"),
            "a tag behind one with a comma matches": ('If-Match: "a,b", {tag}',),
            "a tag behind empty members matches": ("If-Match: , ,{tag}",),
            "anything matches": ("If-Match: *",),
        },
    ),
    *conditions(
        412,
        "9110 13.1.1",
        {
            "no tag matches": ('If-Match: "a"',),
            "a weak tag does not match": ("If-Match: W/{tag}",),
            "a tag without quotes does not match": ("If-Match: a",),
            "a part of a tag does not match": ('If-Match: "',),
            "no tag matches and the date does": ('If-Match: "a"', f"If-Unmodified-Since: {THEN}"),
            "no tag matches and another is the same": ('If-Match: "a"', "If-None-Match: {tag}"),
        },
    ),
    *conditions(
        304,
        "9110 13.1.2",
        {
            "the client has it": ("If-None-Match: {tag}",),
            "the client has it by a weak tag": ("If-None-Match: W/{tag}",),
            "the client has one of several": ('If-None-Match: "a", {tag}',),
            "the client has it by another field": ('If-None-Match: "a"', "If-None-Match: {tag}"),
            "the client has anything": ("If-None-Match: *",),
            "the client has it whatever the date": (
                "If-None-Match: {tag}",
                f"If-Modified-Since: {BEFORE}",
            ),
            "both tags match": ("If-Match: {tag}", "If-None-Match: {tag}"),
            "the client has it and asks for a range": ("If-None-Match: {tag}", "Range: bytes=0-1"),
        },
    ),
    *conditions(
        200,
        "9110 13.1.2",
        {
            "the client has another": ('If-None-Match: "a"',),
            "the client has another of that date": (
                'If-None-Match: "a"',
                f"If-Modified-Since: {THEN}",
            ),
            "the client has a tag without quotes": ("If-None-Match: a",),
        },
    ),
    *conditions(
        304,
        "9110 13.1.3",
        {
            "nothing was modified": (f"If-Modified-Since: {THEN}",),
            "nothing was modified for longer": (f"If-Modified-Since: {LATER}",),
            "nothing was modified by a date of RFC 850": (
                "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT",
            ),
            "nothing was modified by a date of asctime": (
                "If-Modified-Since: Sun Nov  6 08:49:37 1994",
            ),
            "nothing was modified by a date of asctime with two digits": (
                "If-Modified-Since: Wed Nov 16 08:49:37 1994",
            ),
        },
    ),
    *conditions(
        200,
        "9110 13.1.3",
        {
            "it was modified": (f"If-Modified-Since: {BEFORE}",),
            "it was modified by a date of RFC 850": (
                "If-Modified-Since: Sunday, 06-Nov-94 08:49:36 GMT",
            ),
            "it was modified by a date of asctime": (
                "If-Modified-Since: Sun Nov  6 08:49:36 1994",
            ),
            "two digits of a year in the future are of the past": (
                "If-Modified-Since: Saturday, 06-Nov-93 08:49:37 GMT",
            ),
            "two dates are no date": (f"If-Modified-Since: {THEN}", f"If-Modified-Since: {THEN}"),
            "a list of dates is no date": (f"If-Modified-Since: {THEN}, {THEN}",),
        },
    ),
    *conditions(
        200,
        "9110 5.6.7",
        {
            f"{bad!r} is no date": (f"If-Modified-Since: {bad}",)
            for bad in (
                "",
                "now",
                "784111777",
                "Sun, 06 Nov 1994 08:49:37",
                "Sun, 06 Nov 1994 08:49:37 CET",
                "Sun, 06 Nov 1994 08:49:37 gmt",
                "Sun, 06 nov 1994 08:49:37 GMT",
                "Sun, 06 Nov 2994 24:00:00 GMT",
                "Sun, 06 Nov 2994 08:60:37 GMT",
                "Sun, 00 Nov 2994 08:49:37 GMT",
                "Sun, 32 Nov 2994 08:49:37 GMT",
                "Sun, 31 Nov 2994 08:49:37 GMT",
                "Sun, 29 Feb 2995 08:49:37 GMT",
                "Sun, 06 Nox 2994 08:49:37 GMT",
                "Sun, 06 Nov 2994 hh:49:37 GMT",
                "Sun, 06 Nov 2994 0h:49:37 GMT",
                "Sun, 0D Nov 2994 08:49:37 GMT",
                "Sun, 06 Nov 2994 08:49:37 GXT",
                "Sun, 06 Nov 299Y 08:49:37 GMT",
                "1994-11-06T08:49:37Z",
                "Sun, 06-Nov-2994 08:49:37 GMT",
                "Sun, 6 Nov 2994 08:49:37 GMT",
            )
        },
    ),
    stays(
        "dates are not looked at for other methods",
        "9110 13.1.3",
        file(f"If-Modified-Since: {THEN}", method=b"DELETE"),
        405,
    ),
    stays(
        "HEAD has the same conditions",
        "9110 13.1.3",
        file(f"If-Modified-Since: {THEN}", method=b"HEAD"),
        304,
    ),
    *conditions(
        200,
        "9110 13.1.4",
        {
            "it is not modified since then": (f"If-Unmodified-Since: {THEN}",),
            "it is not modified since later": (f"If-Unmodified-Since: {LATER}",),
            "the tag counts before the date": ("If-Match: {tag}", f"If-Unmodified-Since: {BEFORE}"),
            "it is unmodified since no date": ("If-Unmodified-Since: now",),
            "two dates of this condition are no date": (
                f"If-Unmodified-Since: {BEFORE}",
                f"If-Unmodified-Since: {BEFORE}",
            ),
        },
    ),
    *conditions(
        412,
        "9110 13.1.4",
        {
            "it is modified since before": (f"If-Unmodified-Since: {BEFORE}",),
            "it is modified whatever the client has": (
                f"If-Unmodified-Since: {BEFORE}",
                "If-None-Match: {tag}",
            ),
        },
    ),
    stays(
        "304 says tag and date and no length",
        "9110 15.4.5",
        file("If-None-Match: {tag}"),
        304,
        says=(b"\r\nETag: ", b"\r\nDate: "),
    ),
    stays(
        "conditions of what is not there are not looked at",
        "9110 13.2.1",
        file('If-Match: "a"', target=b"/s/none"),
        404,
    ),
    stays(
        "conditions of a folder without its slash are not looked at",
        "9110 13.2.1",
        file("If-None-Match: *", target=b"/s/sub"),
        301,
    ),
]

# ---- ranges -----------------------------------------------------------------------------------

TEN = b"0123456789"
ONE_RANGE = {
    "bytes=0-0": (b"0-0", b"0"),
    "bytes=3-5": (b"3-5", b"345"),
    "BYTES=3-5": (b"3-5", b"345"),
    "bytes=003-05": (b"3-5", b"345"),
    "bytes=98-": (b"98-99", b"89"),
    "bytes=98-1000": (b"98-99", b"89"),
    "bytes=98-99999999999999999999999": (b"98-99", b"89"),
    "bytes=-2": (b"98-99", b"89"),
    "bytes=-1000": (b"0-99", TEN * 10),
    "bytes=0-": (b"0-99", TEN * 10),
    "bytes=0-1,": (b"0-1", b"01"),
    "bytes=,, 0-1": (b"0-1", b"01"),
    "bytes=0-1, 100-": (b"0-1", b"01"),
}
NO_RANGES = (
    *(
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=a-b",
        "bytes=5-3",
        "bytes=1-2-3",
        "bytes=+1-2",
    ),
    *("bytes=1 - 2", "bytes=0x1-2", "bytes:0-1", "bytes 0-1", "lines=0-1", "bytes=0-1;2-3"),
    *("bytes=0-1, x", "bytes=--1", "bytes=1", "bytes=1.0-2", "octets=0-1, 2-3"),
)
IF_RANGE = {
    "the same tag": ("If-Range: {tag}", 206),
    "another tag": ('If-Range: "a"', 200),
    "a weak tag": ("If-Range: W/{tag}", 200),
    "a list of tags": ("If-Range: {tag}, {tag}", 200),
    "anything": ("If-Range: *", 200),
    "the same date": (f"If-Range: {THEN}", 206),
    "a later date": (f"If-Range: {LATER}", 200),
    "an earlier date": (f"If-Range: {BEFORE}", 200),
    "no date": ("If-Range: now", 200),
    "two fields": ("If-Range: {tag}\r\nIf-Range: {tag}", 200),
}

RANGES = [
    *(
        stays(
            f"the range {asked!r} is answered",
            "9110 14.1.2",
            file(f"Range: {asked}"),
            206,
            says=(b"Content-Range: bytes " + shown + b"/100\r\n",),
            body=body,
        )
        for asked, (shown, body) in ONE_RANGE.items()
    ),
    *(
        stays(
            f"the range {asked!r} is ignored",
            "9110 14.2",
            file(f"Range: {asked}"),
            200,
            lacks=(b"Content-Range",),
            body=TEN * 10,
        )
        for asked in NO_RANGES
    ),
    *(
        stays(
            f"the range {asked!r} is not there",
            "9110 15.5.17",
            file(f"Range: {asked}"),
            416,
            says=(b"Content-Range: bytes */100\r\n",),
        )
        for asked in (
            "bytes=100-",
            "bytes=100-200",
            "bytes=-0",
            "bytes=100-, 200-",
            "bytes=99999999999999999999999-",
        )
    ),
    *(
        stays(
            f"a range with {name} in If-Range",
            "9110 13.1.5",
            file(field, "Range: bytes=0-1"),
            status,
        )
        for name, (field, status) in IF_RANGE.items()
    ),
    stays("If-Range without a range does nothing", "9110 13.1.5", file('If-Range: "a"'), 200),
    stays(
        "two ranges are two parts",
        "9110 15.3.7.2",
        file("Range: bytes=0-1, 5-6"),
        206,
        says=(b"multipart/byteranges", b"bytes 0-1/100", b"bytes 5-6/100"),
    ),
    stays(
        "ranges that overlap are answered up to the size of the whole",
        "9110 14.2",
        file("Range: bytes=0-49, 10-20"),
        206,
        says=(b"multipart/byteranges",),
    ),
    stays(
        "ranges with more than the whole are ignored",
        "9110 14.2",
        file("Range: bytes=0-, 0-"),
        200,
        lacks=(b"Content-Range",),
    ),
    stays(
        "many ranges are ignored",
        "9110 14.2",
        file("Range: bytes=" + ",".join(f"{n}-{n}" for n in range(17))),
        200,
    ),
    stays(
        "two fields with ranges are ignored",
        "9110 14.2",
        file("Range: bytes=0-1", "Range: bytes=2-3"),
        200,
        body=TEN * 10,
    ),
    stays(
        "HEAD has no ranges",
        "9110 14.2",
        file("Range: bytes=0-1", method=b"HEAD"),
        200,
        says=(b"Content-Length: 100\r\n",),
    ),
    stays(
        "what is empty has no first byte",
        "9110 15.5.17",
        file("Range: bytes=0-", target=b"/s/empty"),
        416,
        says=(b"bytes */0\r\n",),
    ),
    stays(
        "all of the last bytes of what is empty are none",
        "9110 14.1.2",
        file("Range: bytes=-5", target=b"/s/empty"),
        200,
        body=b"",
    ),
    stays(
        "a condition that fails comes before a range",
        "9110 13.2.2",
        file('If-Match: "a"', "Range: bytes=0-1"),
        412,
    ),
    stays(
        "a range that is not there is no condition",
        "9110 13.2.2",
        file("If-None-Match: {tag}", "Range: bytes=200-"),
        304,
    ),
]

RULES = [*CONDITIONS, *RANGES]
