"""docs/how-to/serve-from-other-servers.md names every flag of the other servers, and of ours."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve-from-other-servers.md"
FLAG = re.compile(r"(?<![\w-])--[a-z0-9][a-z0-9_-]*")
OF_ALL = {"--help", "--version"}
SERVERS = ("loomlet", "uvicorn", "gunicorn", "granian")

PROMISED = """
--host --port --workers --uds --fd --ssl-certfile --ssl-keyfile --ssl-ca-certs --limit-concurrency
--limit-max-requests --timeout-keep-alive --timeout-graceful-shutdown --timeout-worker-healthcheck
--proxy-headers --forwarded-allow-ips --root-path --app-dir --factory --interface --env-file
--log-config --log-level --access-log --backlog --reload --preload --pid --umask --access-logformat
--workers-max-rss --workers-lifetime --static-path-mount --no-patch --compress --slow
--limit-request-body --timeout-request --sync
"""


def flags_of(*command):
    """Those that the help has; of a pair such as --x and --no-x the first."""
    line = [sys.executable, "-m", *command, "--help"]
    environment = {**os.environ, "COLUMNS": "200"}
    ended = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
    declared = [each for each in ended.stdout.splitlines() if each.lstrip().startswith("-")]
    found = {flag for each in declared for flag in FLAG.findall(each.split("   ")[0] + " ")}
    return {flag for flag in found if flag.replace("--no-", "--", 1) not in found - {flag}} - OF_ALL


def columns():
    """The flags of each server that the table of the page has."""
    table = {name: set() for name in SERVERS}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            own = FLAG.findall(cells[0])
            for name, cell in zip(SERVERS, cells, strict=True):
                table[name] |= set(own if cell.startswith("the same") else ()) | set(
                    FLAG.findall(cell)
                )
    return table


def section(name):
    """The flags that are said not to be there."""
    _, _, rest = PAGE.read_text().partition(f"### Of {name}\n")
    return set(FLAG.findall(rest.partition("\n### ")[0]))


@pytest.mark.parametrize("server", SERVERS[1:])
def test_every_flag_of_the_other_servers_is_named(server):
    if importlib.util.find_spec(server) is None:
        pytest.skip(f"{server} is not installed")
    known = columns()[server] | section(server)
    assert len(known) > 30
    assert not sorted(flags_of(server) - known)


def test_every_flag_of_ours_is_named():
    only_here = PAGE.read_text().partition("Only here:")[2].partition("\n\n")[0]
    ours = flags_of("loomlet", "serve")
    assert ours == columns()["loomlet"] | set(FLAG.findall(only_here))
    assert set(PROMISED.split()) <= ours
