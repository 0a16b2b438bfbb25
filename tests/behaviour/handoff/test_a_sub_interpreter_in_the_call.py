"""The C call that a tasklet sits in runs a sub-interpreter: code of Python, but not ours."""

from helpers_subinterpreters import VISIT, needs_interpreters

PROGRAM = (
    VISIT
    + """
import os, sys
import loomlet
from loomlet import patch, spawn

sys.settrace(None)
reader, writer = os.pipe()
CODE = f'''if True:
    import os, threading
    os.read({reader}, 1)
    threading.get_ident()
    with threading.RLock():
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
'''

def sit():
    visit(CODE, "isolated")
    return "visited"

def main():
    sitter, seen = spawn(sit), set()
    spawn(os.write, writer, b"x")
    while sitter.state != "done":
        loomlet.schedule()
        seen.add(interpreters.get_current())
    return sitter.result(), seen == {interpreters.get_main()}

patch.install(threads=True)
for _ in range(3):
    print(loomlet.run(main, slice=0.001, handoff=True))
"""
)


@needs_interpreters
def test_it_does_not_meet_the_scheduler_there(python):
    """Its functions are patched too, but they are those of a thread without tasklets."""
    done = python(PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "('visited', True)\n" * 3, "")
