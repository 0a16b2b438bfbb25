"""Damages HTTP requests and compares what the engine, h11 and httptools read.

    python fuzz/requests.py --seconds 60

The engine may refuse what the others take; it never takes what one of them refuses or reads
otherwise, but for what is listed in oracles.ALLOWED.  And it reads the same in one piece and in
many.  Needs h11, httptools and a C compiler.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oracles import ORACLES, Request, compare

ROOT = Path(__file__).resolve().parents[1]
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: b\r\n\r\n"
SEEDS = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + NEXT,
    b"GET /a?b=c HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    POST + b"Content-Length: 5\r\n\r\nhello" + NEXT,
    POST + b"Content-Length: 39\r\n\r\n" + NEXT + NEXT,
    CHUNKED + b"5\r\nhello\r\nA;b=c\r\n0123456789\r\n0\r\nX: y\r\n\r\n" + NEXT,
    CHUNKED + b'1;a="b;\\"c"\r\nx\r\n27\r\n' + NEXT + b"\r\n000\r\n\r\n" + NEXT,
    POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    b"OPTIONS * HTTP/1.1\r\nHost: a:80\r\nExpect: 100-continue\r\nX: \t y \r\n\r\n" + NEXT,
    b"GET http://b/c HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + NEXT,
    b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\nDELETE / HTTP/1.1\r\nHost:a\r\nContent-Length:0\r\n\r\n",
]
PIECES = [
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\0", b"\x0b", b"\x80", b",", b";", b'"', b"\\"),
    *(
        b"0",
        b"+",
        b"-",
        b"_",
        b"x",
        b"=",
        b"\r\n\r\n",
        b"\r\n ",
        b"0\r\n\r\n",
        b"chunked",
        b"identity",
    ),
    b"Content-Length: 3\r\n",
    b"Content-Length: 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Host: b\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    NEXT,
]


def build(folder: Path) -> Path:
    """The reader, with the sanitizers."""
    program = folder / "http_reader"
    sources = [str(path) for path in sorted((ROOT / "src/core/http").glob("*.c"))]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    here = str(ROOT / "fuzz/http_reader.c")
    command = ["cc", *flags, f"-I{ROOT / 'src/core'}", here, *sources, "-o", str(program)]
    subprocess.run(command, check=True)
    return program


class Engine:
    """The reader as a process."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def read(self, data: bytes, step: int) -> tuple[list[Request], int]:
        """The requests, and the code of the end; the bytes come in pieces of that size."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(struct.pack("<II", len(data), step) + data)
        text = b""
        while not text.endswith(b"\n\n"):
            got = self._process.stdout.read(65536)
            if not got:
                raise SystemExit(f"the engine died of {data!r}")
            text += got
        return parse(text.decode())


def parse(text: str) -> tuple[list[Request], int]:
    """What the reader has printed."""
    found: list[Request] = []
    code = 0
    for line in text.splitlines():
        word, *rest = line.split(" ")
        if word == "request":
            method, target = map(bytes.fromhex, rest[:2])
            found.append(Request(method, target, (), b"", False, int(rest[2])))
        elif word == "field":
            name, value = map(bytes.fromhex, rest)
            last = found[-1]
            found[-1] = last._replace(fields=(*last.fields, (name.lower(), value)))
        elif word == "data":
            found[-1] = found[-1]._replace(body=found[-1].body + bytes.fromhex(rest[0]))
        elif word == "end":
            found[-1] = found[-1]._replace(whole=True)
        elif word == "stop":
            code = int(rest[0])
    return found, code


def damaged(random_: random.Random) -> bytes:
    """One of the seeds, or two, changed in a few places."""
    data = bytearray(random_.choice(SEEDS))
    if random_.randrange(8) == 0:
        data[random_.randrange(len(data)) :] = random_.choice(SEEDS)
    for _ in range(random_.randrange(5)):
        at = random_.randrange(len(data) + 1)
        kind = random_.randrange(5)
        if kind == 0:
            data[at:at] = random_.choice(PIECES)
        elif kind == 1:
            data[at : at + 1] = random_.choice(PIECES)
        elif kind == 2:
            del data[at : at + random_.randrange(1, 4)]
        elif kind == 3 and at < len(data):
            data[at] = random_.randrange(256)
        else:
            data[at:at] = data[at : at + random_.randrange(1, 30)]
    return bytes(data)


def judge(engine: Engine, data: bytes, step: int) -> tuple[list[Request], str | None]:
    """What the engine reads, and what is wrong with it."""
    ours = engine.read(data, len(data) or 1)
    if engine.read(data, step) != ours:
        return ours[0], f"the engine reads {ours} at once, and otherwise in pieces of {step}"
    said = (compare(name, data, ours[0], read(data)) for name, read in ORACLES.items())
    return ours[0], next((one for one in said if one is not None), None)


def main() -> int:
    """Runs until the time is over or something is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random_, runs, read = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(build(Path(folder)))
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            data = damaged(random_)
            found, said = judge(engine, data, random_.randrange(1, 20))
            if said is not None:
                print(f"{data!r}\n{said}", file=sys.stderr)
                return 1
            runs, read = runs + 1, read + sum(one.whole for one in found)
    print(f"{runs} inputs, {read} requests in them, none read otherwise")
    return 0


if __name__ == "__main__":
    sys.exit(main())
