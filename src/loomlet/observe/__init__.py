"""Observing a program from outside: what its tasklets do, and which waits for which.

`dump(pid)` asks the process through its debug socket (loomlet._debug.server) and gives a Dump,
which `python -m loomlet dump PID` prints.  serve() opens the socket of a process that uses loomlet
without loomlet.run(), and withdraw() closes it.  report_stalls() sets after how long the process
reports a stall.  doctor() lists the exceptions that the process keeps alive, and who holds them.
Any thread.
"""

from loomlet._debug.client import DumpError, dump
from loomlet._debug.exceptions import KeptException, doctor
from loomlet._debug.model import Dump, Frame, Hold, Sitter, Target, Task, Thread
from loomlet._debug.server import serve, withdraw
from loomlet._debug.stalls import report_stalls
from loomlet._public import show_in

__all__ = [
    "Dump",
    "DumpError",
    "Frame",
    "Hold",
    "KeptException",
    "Sitter",
    "Target",
    "Task",
    "Thread",
    "doctor",
    "dump",
    "report_stalls",
    "serve",
    "withdraw",
]

show_in(__name__, *[globals()[name] for name in __all__])
