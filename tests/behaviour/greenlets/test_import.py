"""What `import greenlet` gives, and that everything that uses it works in many tasklets."""

from __future__ import annotations

import importlib.util

import pytest

THREADS = """
    import greenlet, threading, time
    out = []
    def user(n):
        def inner(a):
            for _ in range(5):
                time.sleep(0.001)
                a = greenlet.getcurrent().parent.switch(a + 1)
        out.append(greenlet.greenlet(inner).switch(n))
    threads = [threading.Thread(target=user, args=(i,)) for i in range(5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(greenlet.__name__, sorted(out))
"""
SQLALCHEMY = """
    import asyncio, threading, greenlet, sqlalchemy
    from sqlalchemy.ext.asyncio import create_async_engine
    sums = {}
    async def job(n):
        engine = create_async_engine("sqlite+aiosqlite://")
        async with engine.begin() as connection:
            await connection.execute(sqlalchemy.text("create table t (x int)"))
            for i in range(10):
                await connection.execute(sqlalchemy.text("insert into t values (:x)"), {"x": i * n})
            sums[n] = (await connection.execute(sqlalchemy.text("select sum(x) from t"))).scalar()
        await engine.dispose()
    threads = [threading.Thread(target=asyncio.run, args=(job(n),)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(greenlet.__name__, [sums[n] for n in range(8)])
"""
PLAYWRIGHT = """
    import threading, greenlet
    from playwright.sync_api import sync_playwright
    names = []
    def work():
        with sync_playwright() as driver:
            names.append(driver.chromium.name)
        with sync_playwright() as driver:
            names.append(driver.firefox.name)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(greenlet.__name__, sorted(names))
"""
OURS = "loomlet.compat.greenlet"


def test_threads_with_greenlets(under_run) -> None:
    """A program with threads, each with greenlets of its own, under `loomlet run`."""
    done = under_run(THREADS)
    assert (done.stdout, done.stderr) == (f"{OURS} [1, 2, 3, 4, 5]\n", "")


def test_install(python) -> None:
    """compat.install() gives our module to later imports, whatever is installed."""
    done = python(
        """
        import loomlet.compat
        module = loomlet.compat.install("greenlet")
        import greenlet
        from greenlet import getcurrent
        assert greenlet is module and module.__name__ == "loomlet.compat.greenlet"
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_extension_module_that_needs_the_interface_in_c(under_run, monkeypatch) -> None:
    """The error says how to have the original, and the variable gives it."""
    asks = """
        import ctypes, greenlet
        ctypes.pythonapi.PyCapsule_Import.restype = ctypes.c_void_p
        print(bool(ctypes.pythonapi.PyCapsule_Import(b"greenlet._C_API", 0)))
    """
    assert "LOOMLET_GREENLET=extension" in under_run(asks).stderr
    if importlib.util.find_spec("greenlet") is not None:
        monkeypatch.setenv("LOOMLET_GREENLET", "extension")
        assert under_run(asks).stdout == "True\n"


def test_sqlalchemy_asyncio_in_many_tasklets(under_run) -> None:
    """An event loop and an engine in each thread, which is a tasklet."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiosqlite")
    done = under_run(SQLALCHEMY)
    assert done.stdout == f"{OURS} {[45 * n for n in range(8)]}\n", done.stderr


def test_playwright_in_many_tasklets(under_run) -> None:
    """The driver starts and stops twice in each thread, which is a tasklet."""
    pytest.importorskip("playwright")
    done = under_run(PLAYWRIGHT)
    expected = ["chromium"] * 3 + ["firefox"] * 3
    assert done.stdout == f"{OURS} {expected}\n", done.stderr


def test_gevent_keeps_the_extension_module(under_run) -> None:
    """It uses greenlet's interface in C; in one tasklet it works."""
    pytest.importorskip("gevent")
    done = under_run(
        """
        import greenlet
        before = greenlet.__name__
        import gevent, greenlet
        def work(n):
            gevent.sleep(0.001)
            return n * n
        found = gevent.joinall([gevent.spawn(work, n) for n in range(100)])
        print(before, greenlet.__name__, sum(each.value for each in found))
        """
    )
    assert done.stdout == f"{OURS} greenlet 328350\n", done.stderr
