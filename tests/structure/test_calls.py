"""Calls between C files: between rooms they lead down, and circles are few and small.

`circles.txt` lists the existing circles, one per line, and may only shrink.
`python tests/structure/calls.py` prints today's.
"""

from __future__ import annotations

from pathlib import Path

import calls
import helpers_tree as tree
from test_layers import C_LEVEL, folder_level

LIST = Path(__file__).with_name("circles.txt")
LARGEST = 4


def listed() -> list[set[str]]:
    """The circles of the list."""
    return [set(line.split()) for line in LIST.read_text().splitlines()]


def may_call(unit: str, other: str) -> bool:
    """A lower room or sub-room, or a file of the same folder."""
    folder, target = (name.rpartition("/")[0] for name in (unit, other))
    room, target_room = folder.partition("/")[0], target.partition("/")[0]
    if room != target_room:
        return C_LEVEL[target_room] < C_LEVEL[room]
    return folder == target or folder_level(target, other) < folder_level(folder, unit)


def test_no_function_of_an_upper_room_is_named() -> None:
    """A lower room reaches an upper one through a pointer that was handed down."""
    tree.assert_none(
        [
            f"{unit} -> {other}: {' '.join(sorted(names))}"
            for unit, arrows in sorted(calls.graph().items())
            for other, names in sorted(arrows.items())
            if not may_call(unit, other)
        ],
        "calls of what lies above or beside",
    )


def test_no_file_enters_a_circle() -> None:
    """Each circle of calls is one of the list, or a part of it."""
    known = listed()
    tree.assert_none(
        [
            " ".join(circle)
            for circle in calls.circles(calls.graph())
            if not any(set(circle) <= other for other in known)
        ],
        "circles of calls that are not in circles.txt",
    )


def test_the_list_is_as_short_as_it_can_be() -> None:
    """A circle that was opened, or has become smaller, leaves the list or shortens its line."""
    today = [set(circle) for circle in calls.circles(calls.graph())]
    tree.assert_none(
        [" ".join(sorted(circle)) for circle in listed() if circle not in today],
        "circles in circles.txt that are not there any more",
    )


def test_no_circle_is_large() -> None:
    """Files that call each other can be read together."""
    tree.assert_none(
        [" ".join(c) for c in calls.circles(calls.graph()) if len(c) > LARGEST],
        f"circles of more than {LARGEST} files",
    )


def test_the_reading_sees_calls(tmp_path: Path) -> None:
    """Calls, pointers, inline functions and macros; no prototype, comment or static function."""
    (tmp_path / "room").mkdir()
    text = {
        "a.h": "int a_one(void);\nint b_two(void);\n",
        "a.c": "int a_one(void)\n{\n    return b_two(); /* c_three */\n}\n",
        "b.c": "static int c_three(void)\n{\n    return 0;\n}\n\nint b_two(void)\n{\n"
        "    return c_three() + b_inline();\n}\n",
        "b.h": "static inline int b_inline(void)\n{\n    return D_MACRO;\n}\n",
        "c.c": "int c_three(void)\n{\n    return 0;\n}\n",
        "d.h": "#define D_MACRO \\\n    c_three()\n",
        "e.c": "void *e_table[] = {a_one};\n",
    }
    for name, content in text.items():
        (tmp_path / "room" / name).write_text(content)
    found = {unit: sorted(arrows) for unit, arrows in calls.graph(tmp_path).items() if arrows}
    assert found == {
        "room/a.c": ["room/b.c"],
        "room/b.c": ["room/d.h"],
        "room/d.h": ["room/c.c"],
        "room/e.c": ["room/a.c"],
    }


def test_circles_are_found() -> None:
    """Two that share nothing, one inside a longer path, and none."""
    ways = {"a": "b", "b": "c", "c": "ad", "d": "", "e": "f", "f": "e", "g": "ag"}
    arrows = {unit: {other: {"x"} for other in others} for unit, others in ways.items()}
    assert calls.circles(arrows) == [("a", "b", "c"), ("e", "f")]
