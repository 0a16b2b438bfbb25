"""A result as JSON: written, checked and read back.

    {"experiment": "ring", "python": "CPython 3.13.0", "machine": {"cpu": …, "versions": {…}},
     "rows": [{"system", "case", "unit", "median", "min", "max", "runs", "values"}, …],
     "missing": [{"system", "how"}, …]}

`values` has one number per round, in order; a row may come without. A row whose system did a
fraction of the work has `"scaled": 10` besides; a system missing in one case only has that
`"case"`. Each run also leaves its result in the bench's cache folder, the latest of each
experiment, where `bench report` finds it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from loomlet.bench import machine
from loomlet.bench.model import UNITS, BenchError, Document, Missing, Row

_KEYS = {field.name for field in fields(Document)}
_ROW = {field.name for field in fields(Row)}


def encode(document: Document) -> dict[str, Any]:
    """The object to be written as JSON."""
    return {
        "experiment": document.experiment,
        "python": document.python,
        "machine": dict(document.machine),
        "rows": [
            _without(_without(asdict(row), "scaled", 1), "values", ()) for row in document.rows
        ],
        "missing": [_without(asdict(each), "case", "") for each in document.missing],
    }


def decode(data: object) -> Document:
    """A result from what `json.load` gave; BenchError says what is wrong with it."""
    if not isinstance(data, dict) or set(data) != _KEYS:
        raise BenchError(f"expected an object with the keys {sorted(_KEYS)}")
    rows = tuple(_row(row) for row in data["rows"])
    missing = tuple(Missing(**each) for each in data["missing"])
    return Document(data["experiment"], data["python"], data["machine"], rows, missing)


def _row(data: Mapping[str, Any]) -> Row:
    if not _ROW - {"scaled", "values"} <= set(data) <= _ROW:
        raise BenchError(f"expected a row with the keys {sorted(_ROW)}, found {sorted(data)}")
    row = Row(**{**data, "values": tuple(data.get("values", ()))})
    if row.unit not in UNITS or row.system != row.system.lower():
        raise BenchError(f"expected a unit of {UNITS} and a lower-case system, found {data}")
    if not 0 <= row.min <= row.median <= row.max or row.runs < 1:
        raise BenchError(f"expected min <= median <= max over one run or more, found {data}")
    return row


def _without(data: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    """The same without that key where it says nothing."""
    return {name: each for name, each in data.items() if name != key or each != value}


def save(document: Document, path: Path) -> None:
    """Write the result; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(encode(document), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def load(path: Path) -> Document:
    """Read a result; BenchError names the file where it cannot be read as one."""
    try:
        return decode(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, BenchError) as error:
        raise BenchError(f"{path} is not a result of the bench: {error}") from error


def keep(document: Document) -> None:
    """Leave the result where `latest` finds it."""
    save(document, _kept(document.experiment))


def latest(names: Mapping[str, object]) -> list[Document]:
    """The latest kept result of each experiment of those names that has one."""
    return [load(_kept(name)) for name in names if _kept(name).exists()]


def _kept(name: str) -> Path:
    return machine.cache() / f"{name}.json"
