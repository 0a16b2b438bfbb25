"""A kernel of Jupyter whose threads are tasklets: it waits in ZeroMQ, which is C code."""

import os
import subprocess
import sys
import time

import pytest

from loomlet import _core

KERNEL = [sys.executable, "-m", "loomlet", "run", "--handoff", "-m", "ipykernel_launcher", "-f"]


@pytest.fixture
def kernel(tmp_path):
    """Its process and the file that says how to reach it."""
    pytest.importorskip("ipykernel")
    if not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    file = tmp_path / "connection.json"
    env = {**os.environ, "JUPYTER_RUNTIME_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    with subprocess.Popen(
        [*KERNEL, str(file)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not (file.exists() and file.stat().st_size):
                assert process.poll() is None
                time.sleep(0.05)
            yield process, str(file)
        finally:
            process.kill()


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
