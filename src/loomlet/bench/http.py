"""http: servers that are asked, on one core, beside every server that is here.

    file N=8        a page of 6.9 KB, from a folder of files
    large N=8       a file of 1 MB
    folder N=8      the listing of a folder of 50 files
    plain N=64      a few bytes as text
    json N=64       a small object, encoded for each request
    waiting N=64    a handler that asks a local service, which takes it two milliseconds
    arriving N=1000 the same, for so many requests in a second
    db, queries, fortunes N=64   one row, twenty rows, and a page of a database of PostgreSQL
    beside N=8      the few bytes again, while another request computes and never ends; `beside
                    file` and `beside status` the page, and the status of the server
    tls, handshakes N=64   the few bytes over TLS, on connections that are kept, and on new ones
    streams N=100   the few bytes by HTTP/2, on so many streams of one connection
    websocket N=64  messages that are sent back
    idle, held N=10000   the server's memory for a connection that is kept, or whose request waits
    overload N=10   a handler that computes for a millisecond, and ten times too many requests
    founding N=8    the page for ten seconds, by a build that stops at a broken invariant
    start           the server's memory when it has given its first answer, and the time until then

What N means, and which client asks, is said in `http_rooms.py`. Most cases have these rows:

    …               /s  requests that were answered, in a second
    … cpu           ns  the server's processor time for a request, of all its processes
    … user          ns  of that, in the server's own code
    … system        ns  of that, in the kernel
    … p50, p99      ns  how long an answer took
    … stdev         ns  the standard deviation of that
    … slowest       ns  the longest of all
    … client        %   how much of its core the client needed; the service too, if there is one
    … others        %   of a core that the rest of the machine took: a row with much is worth little
    … failed        %   requests that ended in an error, or in a status from 400 on

`idle` and `held` have bytes for each connection. `overload` has no times of answers, but several
turns in each run, a value of each in its rows, and

    … best          /s  what 16 connections are answered, each asking when it has its answer
    … refused       %   requests that got 503
    … normal        B   the server's memory after these 16, and … crowded, the most under the load
    … status, static   ns  p99 of requests for the status and a file meanwhile (ours only)

The server has one core and the client the other. A client that needs its whole core measures
itself: above 95 % a row is marked, and then the processor time counts, not the requests in a
second. It always counts where a service takes its share of the client's core. How a run goes is
told at the head of `programs/http_measure.py`, how each server is started in `servers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlet.bench import wrk
from loomlet.bench.http_rooms import (
    DYNAMIC,
    FILES,
    ROOMS,
    STARTING,
    SYSTEMS,
    cells,
    parse,
)
from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Column, Document, Experiment, Job, Row, Sample
from loomlet.bench.servers import NAME

__all__ = [
    "DYNAMIC",
    "EXPERIMENT",
    "FILES",
    "FULL",
    "NAME",
    "ROOMS",
    "STARTING",
    "SYSTEMS",
    "cells",
    "parse",
    "samples",
]

FULL = 95.0
"""Per cent of its core from which on the client may be what is measured."""

Figure = tuple[str, str, float]


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """The rows of one run; BenchError where a client has printed something else."""
    return [
        Sample(job.system, f"{job.case} {what}".strip(), unit, value)
        for what, unit, value in _figures(job, output)
    ]


def _figures(job: Job, output: Mapping[str, Any]) -> list[Figure]:
    client = job.parameters["client"]
    if not job.parameters["connections"]:
        return [("", "B", number(output, "resident")), ("", "ns", number(output, "start"))]
    if client in ("idle", "held"):
        return [("", "B", number(output, "bytes"))]
    if client == "overload":
        return _crowded(output)
    return _usual(
        (wrk.parse if client == "wrk" else wrk.decode)(str(output.get("answers"))), output
    )


def _usual(answers: wrk.Answers, output: Mapping[str, Any]) -> list[Figure]:
    """Those of most clients."""
    user, system = (number(output, key) * 1e9 / answers.requests for key in ("user", "system"))
    return [
        ("", "/s", answers.requests / answers.seconds),
        ("cpu", "ns", user + system),
        ("user", "ns", user),
        ("system", "ns", system),
        ("p50", "ns", answers.p50),
        ("p99", "ns", answers.p99),
        ("stdev", "ns", answers.deviation),
        ("slowest", "ns", answers.slowest),
        *_worth(answers, output),
    ]


def _worth(answers: wrk.Answers, output: Mapping[str, Any]) -> list[Figure]:
    """What says how much the others are worth."""
    everything = answers.requests + answers.refused
    return [
        ("client", "%", number(output, "client")),
        ("others", "%", number(output, "others")),
        ("failed", "%", 100 * answers.failed / everything),
    ]


def _crowded(output: Mapping[str, Any]) -> list[Figure]:
    """Those of overload, where nobody is answered soon: of each turn, and the memory of all."""
    turns = output.get("turns")
    if not isinstance(turns, list) or not turns:
        raise BenchError(f"expected a list of turns, found {turns!r}")
    return [
        *(figure for turn in turns for figure in _turn(turn)),
        ("normal", "B", number(output, "normal")),
        ("crowded", "B", number(output, "crowded")),
    ]


def _turn(output: Mapping[str, Any]) -> list[Figure]:
    answers, best = wrk.decode(str(output.get("answers"))), output.get("best")
    if not isinstance(best, list):
        raise BenchError(f"expected the best before and after, found {best!r}")
    bests = [wrk.decode(str(each)) for each in best]
    probes = {"/-/status": "status", "/static/small.html": "static"}
    time = number(output, "user") + number(output, "system")
    return [
        ("", "/s", answers.requests / answers.seconds),
        ("cpu", "ns", time * 1e9 / answers.requests),
        ("best", "/s", sum(each.requests for each in bests) / sum(each.seconds for each in bests)),
        ("refused", "%", 100 * answers.refused / (answers.requests + answers.refused)),
        *((probes[path], "ns", time) for path, time in answers.probes.items()),
        *_worth(answers, output),
    ]


COLUMNS = (
    Column("req/s", "", "/s"),
    Column("best", "best", "/s"),
    Column("cpu", "cpu", "ns", compared=True),
    Column("user", "user", "ns", minor=True),
    Column("system", "system", "ns", minor=True),
    Column("p50", "p50", "ns"),
    Column("p99", "p99", "ns"),
    Column("stdev", "stdev", "ns"),
    Column("slowest", "slowest", "ns", minor=True),
    Column("client", "client", "%", marked_above=FULL),
    Column("others", "others", "%"),
    Column("failed", "failed", "%"),
    Column("refused", "refused", "%"),
    Column("status", "status", "ns"),
    Column("static", "static", "ns"),
    Column("normal", "normal", "B"),
    Column("crowded", "crowded", "B"),
    Column("memory", "", "B", compared=True),
    Column("until the first answer", "", "ns"),
)


def notes(document: Document) -> list[str]:
    """What a reader of the table has to know."""
    found = ["cpu: the server's processor time for a request, which `x ours` compares."]
    if any(row.case.endswith(" client") and row.median > FULL for row in document.rows):
        found.append(
            f"* The client needed more than {FULL:.0f} % of its core: cpu counts, not requests."
        )
    if document.machine.get("cores") == 1:
        found.append("There is one core only, which server and client share: only cpu counts.")
    return found


def rate(row: Row) -> str:
    """Requests in a second are a row of their own."""
    return ""


EXPERIMENT = Experiment(
    NAME,
    "web servers: files, text, JSON, databases, TLS, and too many requests",
    SYSTEMS,
    cells,
    samples,
    rate,
    columns=COLUMNS,
    notes=notes,
)
