"""What a worker says about itself: as JSON, or as text for Prometheus."""

from __future__ import annotations

import os
from typing import Any

from loomlet.http import Request, Response, Server

__all__ = ["status_page"]

GAUGES = ("connections", "idle", "reading", "queued", "busy", "sending")
COUNTERS = ("requests", "answered", "refused")


def status_page(request: Request, server: Server) -> Any:
    """The answer to a request for the status: JSON, or by `?format=prometheus` its text."""
    counts = server.counts()
    if ("format", "prometheus") not in request.arguments:
        return {"pid": os.getpid(), **counts}
    lines = []
    for name in GAUGES:
        lines += [f"# TYPE loomlet_http_{name} gauge", f"loomlet_http_{name} {counts[name]}"]
    for name in COUNTERS:
        full = f"loomlet_http_{name}_total"
        lines += [f"# TYPE {full} counter", f"{full} {counts[name]}"]
    return Response("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4")
