"""Looking at a program from outside: what its tasklets do, who waits for whom.

`dump(pid)` asks the process through its private socket (loomlet.serving) and gives a Dump, which
`python -m loomlet dump PID` prints.  serve() opens the socket of a process that uses loomlet
without loomlet.run(), and withdraw() takes it away.  report_stalls() sets when the process tells by
itself.  Any thread.
"""

from loomlet.observe.asking import DumpError, dump
from loomlet.observe.model import Dump, Frame, Hold, Target, Task, Thread
from loomlet.serving import serve, withdraw
from loomlet.stall import report_stalls

__all__ = [
    "Dump",
    "DumpError",
    "Frame",
    "Hold",
    "Target",
    "Task",
    "Thread",
    "dump",
    "report_stalls",
    "serve",
    "withdraw",
]
