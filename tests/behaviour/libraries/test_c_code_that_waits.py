"""Threads that wait for each other in C code of libraries which no patch reaches.

Each program is one of ordinary threads, and runs under `python -m loomlet run --handoff`, which
makes them tasklets.
"""

import sys
import textwrap

import pytest
from helpers_subinterpreters import VISIT, needs_interpreters

GRPC = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    import grpc

    class Echo(grpc.GenericRpcHandler):
        def service(self, details):
            return {
                "/echo/one": grpc.unary_unary_rpc_method_handler(lambda one, context: one * 2),
                "/echo/down": grpc.unary_stream_rpc_method_handler(
                    lambda one, context: iter([one] * 3)
                ),
                "/echo/up": grpc.stream_unary_rpc_method_handler(
                    lambda many, context: b"".join(many)
                ),
                "/echo/both": grpc.stream_stream_rpc_method_handler(
                    lambda many, context: (each * 2 for each in many)
                ),
            }[details.method]

    def ask(name):
        one = channel.unary_unary("/echo/one")(name, timeout=60)
        down = list(channel.unary_stream("/echo/down")(name, timeout=60))
        up = channel.stream_unary("/echo/up")(iter([name, b"-"]), timeout=60)
        both = list(channel.stream_stream("/echo/both")(iter([name, b"-"]), timeout=60))
        answers[name] = (one, down, up, both)

    answers = {}
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers([Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        clients = [threading.Thread(target=ask, args=[name]) for name in (b"a", b"b", b"c")]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    server.stop(None).wait()
    for name, got in answers.items():
        assert got == (name * 2, [name] * 3, name + b"-", [name * 2, b"--"]), got
    print(len(answers), "clients")
"""


def test_grpc(run_with_handoff):
    """Several clients and their server in one process: single calls and streams, each way."""
    pytest.importorskip("grpc")
    assert run_with_handoff(GRPC) == "3 clients\n"


ZMQ = """
    import threading
    import zmq

    def start(function, *args):
        thread = threading.Thread(target=function, args=args)
        thread.start()
        return thread

    context = zmq.Context()
"""

ASK = """
    def serve():
        while (message := server.recv()) != b"end":
            server.send(message * 2)
        server.send(b"ended")
        server.close()

    def ask(*messages):
        with context.socket(zmq.REQ) as client:
            client.connect(f"tcp://127.0.0.1:{port}")
            for message in messages:
                client.send(message)
                answers.append(client.recv())

    answers = []
    server = context.socket(zmq.REP)
    port = server.bind_to_random_port("tcp://127.0.0.1")
    serving = start(serve)
    for thread in [start(ask, b"a", b"b", b"c") for _ in range(3)]:
        thread.join()
    ask(b"end")
    serving.join()
    context.term()
    print(sorted(answers))
"""

SPAWNED = """
    import loomlet

    def serve():
        for _ in range(2):
            server.send(server.recv() * 2)

    server, client = context.socket(zmq.REP), context.socket(zmq.REQ)
    client.connect(f"tcp://127.0.0.1:{server.bind_to_random_port('tcp://127.0.0.1')}")
    serving, answers = loomlet.spawn(serve), []
    loomlet.schedule()
    for message in (b"a", b"b"):
        client.send(message)
        answers.append(client.recv())
    serving.join()
    client.close()
    server.close()
    context.term()
    print(answers)
"""

PUBLISH = r"""
    def listen(heard):
        with context.socket(zmq.SUB) as socket:
            socket.subscribe(b"")
            socket.connect(f"tcp://127.0.0.1:{port}")
            while (message := socket.recv()) != b"end":
                heard.append(message)

    publisher = context.socket(zmq.XPUB)
    publisher.setsockopt(zmq.XPUB_VERBOSE, 1)
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    heard = [[], [], []]
    threads = [start(listen, each) for each in heard]
    for _ in threads:
        assert publisher.recv() == b"\1"  # one has subscribed
    for message in (b"1", b"2", b"end"):
        publisher.send(message)
    for thread in threads:
        thread.join()
    publisher.close()
    context.term()
    print(heard)
"""


def test_zeromq_asks_and_answers(run_with_handoff):
    """REQ and REP: three threads ask one, which is the first that sits, and then main asks it."""
    pytest.importorskip("zmq")
    answers = sorted([b"aa", b"bb", b"cc"] * 3 + [b"ended"])
    assert run_with_handoff(ZMQ + ASK) == f"{answers}\n"


def test_zeromq_between_main_and_a_tasklet(run_with_handoff):
    """What was spawned sits first, and only main can end that call."""
    pytest.importorskip("zmq")
    assert run_with_handoff(ZMQ + SPAWNED) == "[b'aa', b'bb']\n"


def test_zeromq_publishes(run_with_handoff):
    """PUB and SUB: main publishes to three threads."""
    pytest.importorskip("zmq")
    assert run_with_handoff(ZMQ + PUBLISH) == f"{[[b'1', b'2']] * 3}\n"


SUB_INTERPRETERS = """
    import os
    import threading

    CODE = '''if True:
        import os, threading, time
        os.read({}, 1)
        thread = threading.Thread(target=time.sleep, args=(0.001,))
        thread.start()
        thread.join()
        sum(range(100_000))
    '''

    def work():
        visit(CODE.format(reader), "isolated")
        visited.append(1)

    reader, writer = os.pipe()
    visited = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    threads.append(threading.Thread(target=os.write, args=(writer, b"xxx")))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(visited))
"""


@needs_interpreters
def test_sub_interpreters(run_with_handoff):
    """Three wait until a thread of the main one writes, start threads of their own, and compute."""
    assert run_with_handoff(VISIT + textwrap.dedent(SUB_INTERPRETERS)) == "3\n"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor is new in 3.14")
def test_a_pool_of_interpreters(run_with_handoff):
    """Several threads ask it."""
    printed = run_with_handoff(
        """
        import threading
        from concurrent.futures import InterpreterPoolExecutor

        def ask():
            answers.append(list(pool.map(pow, [2, 3, 4], [5, 5, 5])))

        answers = []
        with InterpreterPoolExecutor(2) as pool:
            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        print(answers)
        """
    )
    assert printed == f"{[[32, 243, 1024]] * 3}\n"
