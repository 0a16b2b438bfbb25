"""A module that is being imported by one tasklet is waited for by the others."""

import sys
import textwrap

import pytest

from loomlet import spawn


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes modules that let others run in the middle of their import."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def write(**modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
            names.append(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_no_tasklet_sees_a_half_made_module(package, mode):
    """Three tasklets import a module whose body waits; all find it complete, made once."""
    package(
        slow_module="""
        import loomlet
        first = 1
        for _ in range(5):
            loomlet.schedule()
        made = globals().get("made", 0) + 1
        last = 2
        """
    )

    def load():
        import slow_module

        return slow_module.first, slow_module.last, slow_module.made

    tasks = [spawn(load) for _ in range(3)]
    assert [task.result() for task in tasks] == [(1, 2, 1)] * 3


def test_from_import_waits_too(package, mode):
    """`from module import name` finds names that are made late."""
    package(
        late_names="""
        import loomlet
        loomlet.schedule()
        loomlet.schedule()
        late = 1
        """
    )

    def load():
        from late_names import late

        return late

    assert [task.result() for task in [spawn(load), spawn(load)]] == [1, 1]


def test_a_cycle_between_two_tasklets_ends(package, mode):
    """Two modules that import each other, begun by two tasklets: as between threads, no hang."""
    package(
        one_way="""
        import loomlet
        loomlet.schedule()
        import other_way
        done = 1
        """,
        other_way="""
        import loomlet
        loomlet.schedule()
        import one_way
        done = 1
        """,
    )

    def load(name):
        return __import__(name).done

    assert [t.result() for t in [spawn(load, "one_way"), spawn(load, "other_way")]] == [1, 1]


def test_preempted_in_the_middle(package, python, tmp_path):
    """With a slice of one safepoint a module is still imported once, as a whole."""
    package(
        long_module="""
        made = 0
        for n in range(500):
            made += n
        last = made
        """
    )
    done = python(
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        import loomlet
        from loomlet import _core
        _core._patch_builtin_locks()

        def load():
            import long_module
            return long_module.last

        def main():
            _core._slice_budget(1)
            print([task.result() for task in [loomlet.spawn(load) for _ in range(3)]])

        loomlet.run(main, slice=None)
        """,
        str(tmp_path),
    )
    assert (done.stdout, done.stderr) == ("[124750, 124750, 124750]\n", "")
