"""Coverage tools, tracers and profilers are on: each chain is right, or the tool is named.

Such tools add instructions to the code and route calls through C, which cannot be frozen.
So freeze() may refuse, but must name the tool; a chain that it accepts must continue as if the tool
had been off.  Each tool gets one process, which tries all chains.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import helpers_chains
import pytest

HERE = Path(__file__).parent
COVERAGE = importlib.util.find_spec("coverage") is not None
C_TRACER = COVERAGE and importlib.util.find_spec("coverage.tracer") is not None

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="freezing needs 3.12")
has_coverage = pytest.mark.skipif(
    not COVERAGE, reason="coverage is not installed: chains are NOT tried under it"
)
has_c_tracer = pytest.mark.skipif(
    not C_TRACER, reason="coverage has no C tracer here: chains are NOT tried under it"
)

TOOLS = {"settrace": "__main__.tracer", "setprofile": "__main__.profiler"}
CORES = {
    "ctrace": pytest.param("ctrace", "CTracer", marks=has_c_tracer),
    "sysmon": pytest.param("sysmon", "'coverage.py'", marks=has_coverage),
    "pytrace": pytest.param("pytrace", "coverage.pytracer.PyTracer", marks=has_coverage),
}


def gone_through(*words, **variables):
    """The outcome of each chain, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *words],
        cwd=HERE,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found, tool):
    """No result is wrong, and every refusal names the tool."""
    assert found.keys() == helpers_chains.chains().keys() - helpers_chains.HARD
    assert [said for said in found.values() if said.startswith("wrong")] == []
    refused = [said for said in found.values() if said != "right"]
    assert [said for said in refused if tool not in said] == []


def test_without_a_tool():
    """All chains return the right result."""
    assert set(gone_through("helpers_under_tools.py").values()) == {"right"}


@pytest.mark.parametrize(("tool", "name"), TOOLS.items())
def test_functions_of_our_own(tool, name):
    """A trace function, a profile function."""
    check(gone_through("helpers_under_tools.py", tool), name)


@pytest.mark.parametrize(("core", "name"), CORES.values(), ids=CORES)
def test_coverage_run(core, name, tmp_path):
    """Each of coverage's tracers."""
    data = f"--data-file={tmp_path / 'coverage'}"
    words = ("-m", "coverage", "run", f"--rcfile={os.devnull}", data, "helpers_under_tools.py")
    found = gone_through(*words, COVERAGE_CORE=core)
    check(found, name)
    assert "right" in found.values()
    assert (tmp_path / "coverage").exists()
