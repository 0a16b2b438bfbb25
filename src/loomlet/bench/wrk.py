"""What the clients print, as numbers: `wrk --latency`, and our own, `programs/http_client.c`.

wrk is the client of the experiment on HTTP. It asks on a number of connections, each of which
sends its next request when it has the answer to the last one, and then prints a page:

      Thread Stats   Avg      Stdev     Max   +/- Stdev
        Latency   812.32us  197.00us   9.03ms   83.31%
        Req/Sec    70.01k     1.90k   80.00k    69.00%
      Latency Distribution
         50%  812.00us
         …
         99%    1.33ms
      141000 requests in 2.00s, 17.90MB read
      Socket errors: connect 0, read 0, write 0, timeout 0
      Non-2xx or 3xx responses: 10

The last two lines are there only if something went wrong. Times come with one of five units; here
all become nanoseconds, but for the length of the run. A client of this kind hides queueing: while
a server stands still, nobody asks. A stop shows in the longest request only, so that is read too.

Our own client prints the same figures as JSON, with those of its probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loomlet.bench.model import BenchError

__all__ = ["Answers", "decode", "parse"]

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
TIME = r"([\d.]+)(us|ms|s|m|h)"


@dataclass(frozen=True)
class Answers:
    """Requests that were answered, in how many seconds, and how; times are nanoseconds.

    failed: requests that ended in an error of the socket or in a status from 400 on.  refused: in
    503, where the client tells them apart.  probes: p99 of other paths that were asked for.
    """

    requests: int
    seconds: float
    p50: float
    p99: float
    deviation: float
    slowest: float
    failed: int
    refused: int = 0
    probes: Mapping[str, float] = field(default_factory=dict)


def decode(text: str) -> Answers:
    """What our own client printed; BenchError where it is something else, where nothing was
    answered, or a probe was not."""
    try:
        found = json.loads(text)
        p50, p99, deviation, slowest = (
            float(found[key]) for key in ("p50", "p99", "deviation", "slowest")
        )
        failed, refused = (int(found[key]) for key in ("failed", "refused"))
        requests, seconds = int(found["requests"]), float(found["seconds"])
        probes = found["probes"]
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"expected what the client prints, found {text[:80]!r}") from error
    if not requests or not seconds:
        raise BenchError("no request was answered")
    times = (p50, p99, deviation, slowest)
    return Answers(requests, seconds, *times, failed, refused, _probes(probes))


def _probes(found: Mapping[str, Any]) -> dict[str, float]:
    for path, (count, _) in found.items():
        if not count:
            raise BenchError(f"no request for {path} was answered under the load")
    return {path: float(time) for path, (_, time) in found.items()}


def parse(text: str) -> Answers:
    """The page as numbers; BenchError where it is none, or nothing was answered."""
    _, deviation, slowest = _times(text, rf"Latency\s+{TIME}\s+{TIME}\s+{TIME}")
    (p50,) = _times(text, rf"50%\s+{TIME}")
    (p99,) = _times(text, rf"99%\s+{TIME}")
    counted = _find(text, rf"(\d+) requests in {TIME}")
    requests, seconds = int(counted[1]), float(counted[2]) * UNITS[counted[3]] / 1e9
    if not requests or not seconds:
        raise BenchError("no request was answered")
    return Answers(requests, seconds, p50, p99, deviation, slowest, _failed(text))


def _find(text: str, pattern: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise BenchError(f"expected what wrk prints, found {text.strip()[:80]!r}")
    return found


def _times(text: str, pattern: str) -> list[float]:
    groups = _find(text, pattern).groups()
    pairs = zip(groups[::2], groups[1::2], strict=True)
    return [float(value) * UNITS[unit] for value, unit in pairs]


def _failed(text: str) -> int:
    errors = re.search(r"Socket errors:(.*)", text)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    numbers = re.findall(r"\d+", errors[1]) if errors else []
    return sum(map(int, numbers)) + (int(refused[1]) if refused else 0)
