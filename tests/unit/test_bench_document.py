"""A result is written as the promised JSON, read back the same, and refused when it is not one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loomlet.bench import document
from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.model import BenchError, Document, Missing, Row

ROWS = (
    Row("loomlet", "N=100 M=10", "s", 1.0, 0.9, 1.2, 3),
    Row("asyncio", "N=100 M=10", "s", 40.0, 39.0, 41.0, 3, 10, (41.0, 39.0, 40.0)),
)
MISSING = (Missing("go", "apt install golang-go"), Missing("greenlet", "too large", "N=1000000"))
RESULT = Document("ring", "CPython 3.13.0", {"cores": 2}, ROWS, MISSING)


def changed(**changes: Any) -> dict[str, Any]:
    """The result as JSON data, its first row changed."""
    data = document.encode(RESULT)
    data["rows"][0] |= changes
    return data


def test_the_json_has_the_promised_keys_and_no_others() -> None:
    data = json.loads(json.dumps(document.encode(RESULT)))
    assert list(data) == ["experiment", "python", "machine", "rows", "missing"]
    promised = ["system", "case", "unit", "median", "min", "max", "runs"]
    assert list(data["rows"][0]) == promised
    assert data["rows"][1] == dict(
        zip(promised, ["asyncio", "N=100 M=10", "s", 40.0, 39.0, 41.0, 3], strict=True),
        scaled=10,
        values=[41.0, 39.0, 40.0],
    )
    assert data["missing"][0] == {"system": "go", "how": "apt install golang-go"}
    assert data["missing"][1]["case"] == "N=1000000"


def test_a_result_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ring.json"
    document.save(RESULT, path)
    assert document.load(path) == RESULT


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "hops/s"},
        {"system": "Go"},
        {"runs": 0},
        {"min": 2.0},
        {"max": 0.5},
        {"rate": 3},
    ],
)
def test_a_row_that_breaks_the_promise_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BenchError, match="expected"):
        document.decode(changed(**changes))


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{}")
    with pytest.raises(BenchError, match=r"broken\.json is not a result"):
        document.load(path)


def test_the_latest_result_of_each_experiment_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOMLET_BENCH_DIR", str(tmp_path))
    assert document.latest(EXPERIMENTS) == []
    document.keep(RESULT)
    document.keep(Document("ring", "CPython 3.14.0", {}, ROWS))
    assert [found.python for found in document.latest(EXPERIMENTS)] == ["CPython 3.14.0"]
