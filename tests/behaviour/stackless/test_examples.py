"""The programs in examples/stackless print what they always print."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "stackless"
PRINTED = {
    "factorial_agents": """
5! = 120
10! = 3628800
20! = 2432902008176640000
1000! has 2568 digits
1001 agents, 1001 multiplications
1 tasklet is left
""",
    "producer_consumer": """
the buffer held 3 items at most
Ann ate apple0 pear1 apple3 pear4
Bob ate pear0 apple2 pear3 apple5
Cem ate apple1 pear2 apple4 pear5
12 items were eaten, 12 different ones
apples in order: True
""",
    "chat_server": """
ann saw:
  [tea] * ann comes in
  [tea] ann: is anyone here?
  [tea] * bob comes in
  [tea] bob: hello ann
  [tea] * cem comes in
  [tea] * ann leaves
bob saw:
  [tea] * bob comes in
  [tea] bob: hello ann
  [tea] * cem comes in
  [tea] * ann leaves
  [tea] bob: bye ann
cem saw:
  [coffee] * cem comes in
  [coffee] cem: quiet here
  [coffee] * cem leaves
  [tea] * cem comes in
  [tea] * ann leaves
  [tea] bob: bye ann
""",
    "simulation": """
6000 visitors on their way
6000 were served, all counters free: True
the last one left 28834 seconds after opening
the longest line: 30; all waiting together: 136720 seconds
""",
    "mutex_and_rendezvous": """
deposit_carelessly: 50 were brought, 10 are there
deposit: 50 were brought, 50 are there
stage 0: a0 cc0 bbb0
stage 1: a1 cc1 bbb1
stage 2: a2 cc2 bbb2
""",
    "nested_watchdogs": """
short counted to 3000
middle counted to 15000
long counted to 30000
1 tasklet had to be killed
careful: first step
careful: second step
the inner watchdog caught: a mistake
the inner watchdog continues
the outer watchdog continues
""",
}


def test_all_are_known():
    """Each program has its output below and is in the list of examples."""
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == PRINTED.keys()
    listed = (ROOT / "examples" / "README.md").read_text()
    assert all(f"(stackless/{name}.py)" in listed for name in names)


@pytest.mark.parametrize("name", PRINTED)
def test_it_is_short(name):
    """Each has fewer than 100 lines, and its docstring says what it shows."""
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) < 100
    shown = ast.get_docstring(ast.parse(text))
    assert "\nShows: " in shown
    assert shown.endswith(f"\nRun: python examples/stackless/{name}.py")


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints(name):
    """The same lines each time, nothing on stderr."""
    program = EXAMPLES / f"{name}.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PRINTED[name].lstrip("\n")
