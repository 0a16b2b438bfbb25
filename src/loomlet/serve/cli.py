"""The command line of `serve`.

Flags have uvicorn's names where uvicorn has one, else gunicorn's, else granian's; how the three are
mapped is in docs/how-to/serve-from-other-servers.md.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from pathlib import Path
from typing import Any

from loomlet._runtime import SHORTEST_SLICE
from loomlet.http import Limits
from loomlet.http._access_log import DEFAULT, check_format
from loomlet.serve.application import folder_of
from loomlet.serve.settings import Settings
from loomlet.serve.sockets import find_activated

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name

FAILED = 1
THIS_MACHINE = "127.0.0.1,::1"
LEVELS = ("critical", "error", "warning", "info", "debug")


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Adds the command `serve` to the command line of loomlet."""
    parser = commands.add_parser(
        "serve",
        help="serve an application or a folder over HTTP",
        description="Serve a WSGI or ASGI application (package.module:name), or a folder, over "
        "HTTP.  Each request of plain code runs in a tasklet of its own.",
        epilog="SIGTERM ends it when all requests are answered; SIGHUP replaces the workers, and "
        "with them the application, without losing a request.",
    )
    parser.add_argument("target", metavar="DIR | package:app", help="what is served")
    _add_listening(parser.add_argument_group("where it listens"))
    _add_application(parser.add_argument_group("the application"))
    _add_workers(parser.add_argument_group("workers"))
    _add_limits(parser.add_argument_group("limits"))
    _add_log(parser.add_argument_group("what is logged"))
    parser.set_defaults(run=lambda options: launch(options, parser))


def _add_listening(group: Any) -> None:
    add = group.add_argument
    add("--host", default="127.0.0.1", help="address (default: %(default)s, this machine only)")
    add("--port", type=_port, default=8000, help="port, 0: any free one (default: %(default)s)")
    add("--uds", metavar="PATH", help="listen on a path of the file system instead")
    add(
        "--fd",
        type=int,
        metavar="NUMBER",
        help="listen on a socket that was inherited; without it on "
        "those of LISTEN_FDS, as systemd gives them",
    )
    add(
        "--ssl-certfile",
        type=_file,
        metavar="FILE",
        help="speak HTTPS, with this certificate (PEM)",
    )
    add("--ssl-keyfile", type=_file, metavar="FILE", help="its key (default: in the same file)")
    words = "ask clients for a certificate that one of these has signed"
    add("--ssl-ca-certs", type=_file, metavar="FILE", help=words)
    words = "believe X-Forwarded-For and X-Forwarded-Proto of proxies (default: no)"
    add("--proxy-headers", action=argparse.BooleanOptionalAction, help=words)
    words = "these: addresses, networks, paths of sockets, * for all; turns --proxy-headers on " \
        "(default: $FORWARDED_ALLOW_IPS, or this machine)"  # fmt: skip
    add("--forwarded-allow-ips", type=_proxies, metavar="LIST", help=words)
    words = "connections that the system keeps for each worker (default: %(default)s)"
    add("--backlog", type=_positive, default=2048, help=words)


def _add_application(group: Any) -> None:
    add = group.add_argument
    words = "wsgi or asgi (default: seen from the application)"
    add("--interface", choices=("auto", "wsgi", "asgi"), default="auto", help=words)
    add("--factory", action="store_true", help="the name is a function that makes the application")
    add("--app-dir", default=".", metavar="DIR", help="where its modules are (default: here)")
    add("--root-path", default="", metavar="PATH", help="the path that a proxy has taken away")
    add(
        "--env-file",
        type=_file,
        metavar="FILE",
        help="lines NAME=value that are put into the environment",
    )
    words = "do not let blocking calls of the standard library run other tasklets"
    add("--no-patch", action="store_true", help=words)
    words = (
        "names of threading and queue mean loomlet's locks and queues (patch.install(sync=True))"
    )
    add("--sync", action="store_true", help=words)
    words = "seconds after which a computing request is interrupted (default: %(default)s)"
    add("--slice", type=_slice, default=0.005, metavar="SECONDS", help=words)
    words = "answer what begins with /static from the files in DIR; may be repeated"
    add("--static-path-mount", action="append", type=_mount, default=[], metavar="/static=DIR",
        help=words)  # fmt: skip
    words = "compress files and listings; files beside them (.br, .zst, .gz) are used"
    add("--compress", action="store_true", help=words)
    words = "answer this path with counts of requests (?format=prometheus: for Prometheus)"
    add("--status-path", metavar="/-/status", help=words)


def _add_workers(group: Any) -> None:
    add = group.add_argument
    add("--workers", type=_positive, default=1, metavar="N", help="processes (default: 1)")
    add("--preload", action="store_true", help="import the application once, before they begin")
    add("--reload", action="store_true", help="replace them when a file of the program changes")
    words = "where --reload looks, instead of --app-dir; may be repeated"
    add("--reload-dir", action="append", default=[], metavar="DIR", help=words)
    words = "seconds after which a worker that does not answer is killed, 0: never (default: 30)"
    add("--timeout-worker-healthcheck", type=_seconds, default=30.0, metavar="S", help=words)
    words = "requests after which a worker is replaced"
    add("--limit-max-requests", type=_positive, metavar="N", help=words)
    words = "seconds after which a worker is replaced"
    add("--workers-lifetime", type=_seconds, metavar="S", help=words)
    words = "MiB of memory from which on a worker is replaced"
    add("--workers-max-rss", type=_positive, metavar="MIB", help=words)
    add("--pid", metavar="FILE", help="write the number of the parent process to FILE")
    add("--umask", type=_umask, metavar="OCTAL", help="for files and --uds")


def _add_limits(group: Any) -> None:
    known, add = Limits(), group.add_argument
    words = "requests at once in each worker; more of them queue (default: %(default)s)"
    add("--limit-concurrency", type=_positive, default=known.concurrency, metavar="N", help=words)
    words = "bytes of the body of a request, else 413 (default: 100 MiB)"
    add("--limit-request-body", type=_positive, default=known.request_body, metavar="N", help=words)
    words = "seconds that a connection may be idle (default: %(default)s)"
    add("--timeout-keep-alive", type=_positive, default=known.keep_alive, metavar="S", help=words)
    words = "seconds for requests to be answered when the server ends (default: %(default)s)"
    add("--timeout-graceful-shutdown", type=_seconds, default=30.0, metavar="S", help=words)
    words = "seconds that a request may take; then it is killed, and answered with 504"
    add("--timeout-request", type=_positive, metavar="S", help=words)


def _add_log(group: Any) -> None:
    add = group.add_argument
    add("--log-level", choices=LEVELS, default="info", help="(default: %(default)s)")
    words = "configuration of the module logging: .json, or .ini"
    add("--log-config", type=_file, metavar="FILE", help=words)
    words = "log a request, with its stack, that has run for so many seconds, 0: never (default: 5)"
    words_of_log = "log each request that was answered"
    add("--access-log", action=argparse.BooleanOptionalAction, default=False, help=words_of_log)
    names = "its lines, with gunicorn's names such as %%(h)s"
    add("--access-logformat", type=_format, default=DEFAULT, metavar="FORMAT", help=names)
    add("--slow", type=int, default=5, metavar="S", help=words)


# ---- values -----------------------------------------------------------------------------------


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {text}")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value < 65536:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text}")
    return value


def _umask(text: str) -> int:
    if not text or text.strip("01234567"):
        raise argparse.ArgumentTypeError(f"expected an octal number such as 077, found {text}")
    return int(text, 8)


def _file(text: str) -> str:
    if not Path(text).exists():  # which may be a pipe of the shell
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return text


def _format(text: str) -> str:
    try:
        check_format(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected 0 seconds or more, found {text}")
    return value


def _slice(text: str) -> float:
    value = _seconds(text)
    if value < SHORTEST_SLICE:
        raise argparse.ArgumentTypeError(f"expected {SHORTEST_SLICE} seconds or more, found {text}")
    return value


def _mount(text: str) -> tuple[str, Path]:
    prefix, equals, folder = text.partition("=")
    if not equals or not prefix.startswith("/"):
        raise argparse.ArgumentTypeError(f"expected /prefix=folder, found {text}")
    if not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"there is not a folder {folder}")
    return prefix.rstrip("/") + "/", Path(folder)


def _proxies(text: str) -> str:
    from loomlet.http._forwarded import Proxies

    try:
        Proxies(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _trusted(options: argparse.Namespace) -> str:
    """The proxies whose headers count."""
    given: str | None = options.forwarded_allow_ips
    if options.proxy_headers is False or (given is None and not options.proxy_headers):
        return ""
    return given or _proxies(os.environ.get("FORWARDED_ALLOW_IPS") or THIS_MACHINE)


def _inherited(options: argparse.Namespace) -> list[int]:
    """The descriptors of sockets that the process was given."""
    activated = find_activated()
    if options.fd is not None:
        return [options.fd]
    return activated if options.uds is None else []


def settings_of(options: argparse.Namespace) -> Settings:
    """What the options say."""
    limits = Limits(
        concurrency=options.limit_concurrency,
        request_body=options.limit_request_body,
        keep_alive=options.timeout_keep_alive,
        request=options.timeout_request,
        slow=options.slow or None,
    )
    return Settings(
        target=options.target,
        host=options.host,
        port=options.port,
        uds=options.uds,
        fds=_inherited(options),
        backlog=options.backlog,
        workers=options.workers,
        preload=options.preload,
        interface=None if options.interface == "auto" else options.interface,
        factory=options.factory,
        app_dir=options.app_dir,
        root_path=options.root_path,
        patch=not options.no_patch,
        sync=options.sync,
        slice=options.slice,
        mounts=options.static_path_mount,
        status_path=options.status_path,
        limits=limits,
        max_requests=options.limit_max_requests,
        lifetime=options.workers_lifetime,
        max_rss=options.workers_max_rss and options.workers_max_rss * 2**20,
        graceful=options.timeout_graceful_shutdown,
        healthcheck=options.timeout_worker_healthcheck or None,
        proxies=_trusted(options),
        compress=options.compress,
        access_log=options.access_logformat if options.access_log else None,
        certificate=options.ssl_certfile,
        key=options.ssl_keyfile,
        authorities=options.ssl_ca_certs,
        reload=options.reload,
        reload_dirs=options.reload_dir,
        pid_file=options.pid,
        umask=options.umask,
    )


# ---- running ----------------------------------------------------------------------------------


def launch(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Serves; returns the exit status."""
    from loomlet.serve.parent import Parent
    from loomlet.serve.sockets import open_sockets, where
    from loomlet.serve.watching import watch_files
    from loomlet.serve.worker import find_early

    settings = settings_of(options)
    if settings.preload and settings.reload:
        parser.error("--reload cannot replace what --preload has imported")
    if settings.sync and not settings.patch:
        parser.error("--sync is a part of what --no-patch turns off")
    for folder in (settings.app_dir, *settings.reload_dirs):
        if not Path(folder).is_dir():
            parser.error(f"there is not a folder {folder}")
    _configure_log(options)
    log = logging.getLogger("loomlet.serve")
    if options.env_file is not None:
        _read_environment(Path(options.env_file))
    if settings.umask is not None:
        os.umask(settings.umask)
    try:
        sockets = open_sockets(settings)
    except OSError as error:
        print(f"loomlet serve: cannot listen on {_address(settings)}: {error}", file=sys.stderr)
        return FAILED
    early = find_early(settings) if settings.preload else None
    changed = watch_files(settings.reload_dirs or [settings.app_dir]) if settings.reload else None
    what = "the files in" if folder_of(settings.target) is not None else "the application"
    address = where(sockets, secure=settings.certificate is not None)
    log.info("serving %s %s on %s (Ctrl-C ends it)", what, settings.target, address)
    with _pid_file(settings.pid_file):
        return Parent(settings, sockets, early, changed).run()


def _address(settings: Settings) -> str:
    if settings.fds:
        return f"descriptor {', '.join(map(str, settings.fds))}"
    return settings.uds or f"{settings.host}:{settings.port}"


@contextlib.contextmanager
def _pid_file(path: str | None) -> Any:
    if path is None:
        yield
        return
    try:
        Path(path).write_text(f"{os.getpid()}\n")
    except OSError as error:
        raise SystemExit(f"loomlet serve: cannot write --pid {path}: {error.strerror}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _configure_log(options: argparse.Namespace) -> None:
    if options.log_config is None:
        logging.basicConfig(
            level=options.log_level.upper(),
            format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
        )
        return
    from logging import config

    if options.log_config.endswith(".json"):
        import json

        config.dictConfig(json.loads(Path(options.log_config).read_text()))
    else:
        config.fileConfig(options.log_config, disable_existing_loggers=False)


def _read_environment(path: Path) -> None:
    """Lines NAME=value; those that begin with # and empty ones are skipped."""
    for line in path.read_text().splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            os.environ[name.strip()] = value.strip().strip("\"'")
