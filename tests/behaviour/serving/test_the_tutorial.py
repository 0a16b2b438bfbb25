"""docs/tutorial-web.md: its two programs, as they stand there, talk to each other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flask")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "tutorial-web.md"


@pytest.fixture
def programs(tmp_path):
    """Writes shop.py and ask.py."""
    texts = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for name, text in zip(("shop.py", "ask.py"), texts, strict=True):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_thousand_slow_requests(programs, serve):
    """One worker; all of them wait at the same time, or the client's limit would be exceeded."""
    server = serve("shop:app")
    ask = [sys.executable, "ask.py", str(server.port)]
    done = subprocess.run(
        ask, cwd=programs, capture_output=True, text=True, timeout=120, check=False
    )
    assert re.fullmatch(r"1000 answers in [\d.]+ seconds\n", done.stdout), done.stderr
    assert server.get("/") == (200, b"open\n")
