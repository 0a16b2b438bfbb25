"""One idea has one word: the words of names are listed, and coinages are in the glossary.

The names of files, structs, enums and of the functions that other files see are split into words.
Each word is in `words.txt`, the field's English as this project uses it, or in the first column of
`docs/glossary.md`, which gives the field's term for a word of ours.  Add a word on purpose, to one
of the two; a word that no name uses any more leaves `words.txt`.

`python tests/structure/vocabulary.py` prints the words that are in neither, with their names;
`python tests/structure/homonyms.py` counts the words that are used in a second meaning.
"""

from __future__ import annotations

from pathlib import Path

import helpers_tree as tree
import homonyms
import vocabulary


def test_every_word_of_a_name_is_listed() -> None:
    """In words.txt or in the glossary."""
    known = vocabulary.listed() | vocabulary.glossary()
    tree.assert_none(
        [
            f"{word}: {' '.join(names[:4])}"
            for word, names in sorted(vocabulary.used().items())
            if word not in known
        ],
        "words that are neither in words.txt nor in docs/glossary.md",
    )


def test_the_list_holds_no_word_that_nothing_uses() -> None:
    """Sorted, and no longer than needed."""
    words = vocabulary.LIST.read_text().split()
    assert words == sorted(set(words))
    unused = set(words) - vocabulary.used().keys()
    tree.assert_none(sorted(unused), "words of words.txt that no name uses")


def test_names_are_split_into_words() -> None:
    """By underscores, humps and digits."""
    assert vocabulary.words_of("s_run_queue") == ["s", "run", "queue"]
    assert vocabulary.words_of("CancelScope2") == ["cancel", "scope"]
    assert vocabulary.words_of("py312_clear") == ["py", "clear"]


def test_a_word_has_one_meaning() -> None:
    """The words of homonyms.py, in names, comments, documents and messages."""
    tree.assert_none(
        [f"{word} in {name}: {what}" for word, name, what in homonyms.offenders(tree.ROOT)],
        "words in a meaning that they do not have here",
    )


def test_a_second_meaning_is_seen(tmp_path: Path) -> None:
    """Names and phrases; the allowed ones pass."""
    name = tmp_path / "src" / "core" / "room"
    name.mkdir(parents=True)
    (name / "a.c").write_text("/* It holds the core. */\nint s_watch;\nint event_loop;\n")
    found = [(word, what) for word, _, what in homonyms.in_files(tmp_path, [name / "a.c"])]
    assert sorted(found) == [
        ("core", '"holds the core"'),
        ("hold", '"holds the core"'),
        ("watch", "s_watch"),
    ]
