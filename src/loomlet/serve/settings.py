"""What the command line says, in a form that parent and workers share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from loomlet.http import Limits

__all__ = ["Settings"]


class Settings(NamedTuple):
    """All that `serve` was told.

    target: a folder, or `package.module:name`.  fds: listening sockets that were inherited.
    mounts: (prefix, folder) of static files.  limits: of each worker.  access_log: the format of
    its lines.  proxies: peers whose word about their clients counts.  certificate, key,
    authorities: files of TLS; clients need a certificate if there are authorities.  Times are in
    seconds, None: no limit.
    """

    target: str
    host: str = "127.0.0.1"
    port: int = 8000
    uds: str | None = None
    fds: Sequence[int] = ()
    backlog: int = 2048
    workers: int = 1
    preload: bool = False
    interface: str | None = None
    factory: bool = False
    app_dir: str = "."
    root_path: str = ""
    patch: bool = True
    sync: bool = False
    slice: float = 0.005
    mounts: Sequence[tuple[str, Path]] = ()
    status_path: str | None = None
    limits: Limits = Limits()
    max_requests: int | None = None
    lifetime: float | None = None
    max_rss: int | None = None
    graceful: float = 30.0
    healthcheck: float | None = 30.0
    access_log: str | None = None
    proxies: str = ""
    compress: bool = False
    certificate: str | None = None
    key: str | None = None
    authorities: str | None = None
    reload: bool = False
    reload_dirs: Sequence[str] = ()
    pid_file: str | None = None
    umask: int | None = None
