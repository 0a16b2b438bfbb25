"""Loops of another interpreter of the process know nothing of tasklets, and work."""

from helpers_subinterpreters import VISIT, needs_interpreters

PROGRAM = """
import asyncio
from loomlet import aio

INSIDE = '''
import asyncio

async def main():
    await asyncio.sleep(0.001)
    return asyncio.get_running_loop()

assert asyncio.run(main()).is_closed()
assert asyncio._get_running_loop() is None
print("inside", flush=True)
'''

visit(INSIDE, "legacy")
print(aio.await_(asyncio.sleep(0, "outside")))
visit(INSIDE, "legacy")
print(aio.await_(asyncio.sleep(0, "outside")))
"""


@needs_interpreters
def test_asyncio_run_in_a_sub_interpreter(python):
    """Before and after the loop of the thread has run."""
    done = python(VISIT + PROGRAM)
    assert done.stdout.split() == ["inside", "outside"] * 2, done.stderr
    assert done.returncode == 0
