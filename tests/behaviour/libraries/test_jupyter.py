"""Kernels of Jupyter: one whose threads are tasklets, which waits in ZeroMQ, C code; and a plain
one, in which the cells of the page on notebooks do what the page says."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loomlet import _core

PLAIN = [sys.executable, "-m", "ipykernel_launcher", "-f"]
KERNEL = [sys.executable, "-m", "loomlet", "run", "--handoff", *PLAIN[1:]]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "notebooks.md"


@contextlib.contextmanager
def started(command, folder):
    """Its process and the file that says how to reach it."""
    file = folder / "connection.json"
    env = {**os.environ, "JUPYTER_RUNTIME_DIR": str(folder), "IPYTHONDIR": str(folder)}
    with subprocess.Popen(
        [*command, str(file)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not (file.exists() and file.stat().st_size):
                assert process.poll() is None
                time.sleep(0.05)
            yield process, str(file)
        finally:
            process.kill()


@pytest.fixture
def kernel(tmp_path):
    """One whose threads are tasklets."""
    pytest.importorskip("ipykernel")
    if not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    with started(KERNEL, tmp_path) as found:
        yield found


@pytest.fixture
def plain_kernel(tmp_path):
    """One as Jupyter starts it."""
    pytest.importorskip("ipykernel")
    with started(PLAIN, tmp_path) as found:
        yield found


ASK = """
    import sys
    from jupyter_client import BlockingKernelClient

    client = BlockingKernelClient(connection_file=sys.argv[1])
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    said = []
    reply = client.execute_interactive("6 * 7", timeout=60, output_hook=said.append)
    results = [each["content"] for each in said if each["msg_type"] == "execute_result"]
    print(reply["content"]["status"], [result["data"]["text/plain"] for result in results])
    client.shutdown(reply=True, timeout=60)
    client.stop_channels()
"""


def test_a_kernel_answers(kernel):
    """It executes what a client asks for, and shuts down on request."""
    pytest.importorskip("jupyter_client")
    process, file = kernel
    client = subprocess.run(
        [sys.executable, "-c", f"if True:{ASK}", file],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (client.returncode, client.stdout) == (0, "ok ['42']\n"), client.stderr
    try:
        assert process.wait(60) == 0
    except subprocess.TimeoutExpired:
        what_it_does = [sys.executable, "-m", "loomlet", "dump", str(process.pid)]
        subprocess.run(what_it_does, stderr=subprocess.STDOUT, check=False)
        raise


RUN_CELLS = """
    import json, sys
    from jupyter_client import BlockingKernelClient

    client = BlockingKernelClient(connection_file=sys.argv[1])
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    for cell in json.load(sys.stdin):
        said = []
        client.execute_interactive(cell, timeout=60, output_hook=said.append)
        for each in (each["content"] for each in said):
            text = each.get("text") or "".join(each.get("traceback", []))
            print(text, end="")
    client.shutdown(timeout=60)
    client.stop_channels()
"""


def test_the_cells_of_the_page(plain_kernel):
    """They print what the page says, one after the other in one kernel, below its event loop."""
    pytest.importorskip("jupyter_client")
    _, file = plain_kernel
    page = PAGE.read_text()
    cells = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    client = subprocess.run(
        [sys.executable, "-c", f"if True:{RUN_CELLS}", file],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    words = re.findall(r"^print\(.*\)  # (.*)$", page, re.MULTILINE)
    assert (client.stdout.splitlines(), client.returncode) == (words, 0), client.stderr
