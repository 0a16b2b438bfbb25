"""trio, and anyio and httpx on it, in main and in a thread of a program whose threads are tasklets.

trio's worker threads are given names by pthread_setname_np(), which takes their idents.
"""

import textwrap

import pytest

from loomlet import _core

pytest.importorskip("trio")

PARTS = {
    "nurseries": """
        async def child(number):
            await trio.sleep(0.001 * (number % 3))
            found.append(number)

        async def part():
            async with trio.open_nursery() as nursery:
                for number in range(50):
                    nursery.start_soon(child, number)
            with trio.move_on_after(0.01) as scope:
                await trio.sleep_forever()
            assert (sorted(found), scope.cancelled_caught) == (list(range(50)), True)

        found = []
    """,
    "worker threads": """
        def work():
            back = trio.from_thread.run(where), trio.from_thread.run_sync(threading.get_ident)
            return (threading.get_ident(), *back)

        async def where():
            await trio.sleep(0.001)
            return threading.get_ident()

        async def part():
            async def ask():
                found.append(await trio.to_thread.run_sync(work))

            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(ask)
            here = threading.get_ident()
            assert len(found) == 20
            assert all(there != here and back == [here, here] for there, *back in found)

        found = []
    """,
    "sockets": """
        async def answer(stream):
            async for data in stream:
                await stream.send_all(data.upper())

        async def part():
            async with trio.open_nursery() as nursery:
                listeners = await nursery.start(trio.serve_tcp, answer, 0)
                port = listeners[0].socket.getsockname()[1]
                async with await trio.open_tcp_stream("localhost", port) as stream:
                    await stream.send_all(b"a line")
                    assert await stream.receive_some(100) == b"A LINE"
                nursery.cancel_scope.cancel()
    """,
    "processes and files": """
        async def part():
            command = [sys.executable, "-c", "print(input())"]
            done = await trio.run_process(command, stdin=b"a line", capture_stdout=True)
            assert done.stdout == b"a line\\n"
            async with await trio.open_file(os.devnull) as file:
                assert await file.read() == ""
    """,
    "signals": """
        async def part():
            try:
                with trio.open_signal_receiver(signal.SIGUSR1) as signals:
                    os.kill(os.getpid(), signal.SIGUSR1)
                    async for number in signals:
                        assert number == signal.SIGUSR1
                        break
                assert in_main
            except RuntimeError as error:
                assert "main thread" in str(error) and not in_main
    """,
    "the keyboard": """
        async def part():
            if in_main:
                try:
                    await interrupted()
                except KeyboardInterrupt:
                    return
                raise AssertionError("not interrupted")

        async def interrupted():
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()
    """,
    "anyio and httpx": """
        import anyio
        import http.server
        import httpx

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"text")

            def log_message(self, *_):
                pass

        async def part():
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://localhost:{server.server_port}"
            async with httpx.AsyncClient(trust_env=False, verify=False) as client:
                async def get():
                    found.append((await client.get(url)).text)

                async with anyio.create_task_group() as group:
                    for _ in range(5):
                        group.start_soon(get)
            await anyio.to_thread.run_sync(server.shutdown)
            server.server_close()
            assert found == ["text"] * 5

        found = []
    """,
}
BEGIN = "import os, signal, sys, threading\nimport trio\n"
IN_MAIN = """
in_main = True
trio.run(part)
print("done")
"""
IN_THREAD = """
in_main = False
thread = threading.Thread(target=lambda: (trio.run(part), print("done")))
thread.start()
thread.join()
"""


@pytest.mark.parametrize("end", [IN_MAIN, IN_THREAD], ids=["main", "thread"])
@pytest.mark.parametrize("option", ["--handoff", "--no-handoff"])
@pytest.mark.parametrize("part", PARTS)
def test_it_works_as_with_threads(run_program, part, option, end):
    """Each part is one program, run unmodified by `python -m loomlet run`."""
    if "httpx" in part:
        pytest.importorskip("httpx")
    if option == "--handoff" and not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    text = BEGIN + textwrap.dedent(PARTS[part]) + end
    done = run_program(text, options=(option,))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
