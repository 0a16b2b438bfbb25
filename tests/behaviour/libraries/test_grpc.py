"""gRPC, unmodified, in tasklets; its own threads, and the server's, remain threads.

Its waits are in C: while one tasklet waits, the others of its thread do (`python -m loomlet doctor`
says so).  Threads that are tasklets (`python -m loomlet run`) can therefore not serve and ask in
one process without handoff; with it: test_c_code_that_waits.py.
"""

import pytest

PROGRAM = """
    from concurrent.futures import ThreadPoolExecutor
    import grpc
    import loomlet
    from loomlet import patch

    NUMBERS = range(1, 20)

    class Twice(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method == "/twice/one":
                return grpc.unary_unary_rpc_method_handler(lambda request, context: request * 2)
            return grpc.stream_stream_rpc_method_handler(
                lambda requests, context: (request * 2 for request in requests)
            )

    def one(number):
        return call(b"%d" % number, timeout=60)

    def many(number):
        return list(stream(iter([b"%d" % number, b"-"]), timeout=60))

    def main():
        tasks = [(loomlet.spawn(one, number), loomlet.spawn(many, number)) for number in NUMBERS]
        for number, (first, second) in zip(NUMBERS, tasks):
            twice = b"%d%d" % (number, number)
            assert (first.result(), second.result()) == (twice, [twice, b"--"])

    patch.install()
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([Twice()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/twice/one")
        stream = channel.stream_stream("/twice/many")
        loomlet.run(main)
    server.stop(None).wait()
    print("done")
"""


def test_calls_in_tasklets(python):
    """Single ones and streams, by one channel."""
    pytest.importorskip("grpc")
    done = python(PROGRAM)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
