"""What shows a running program from outside and reports its stalls; the C side is src/core/debug.

    server    the debug socket of this process: its path and permissions
    stalls    calls that keep the other tasklets of a thread from running
    client    asks the debug socket of another process for a dump
    exceptions  those that are alive, and who holds them
    holders   the objects on the way to an exception, as text
    parser    the lines of a dump, as values
    model     these values
    graph     which tasklet waits for which, and rings of waits
    render    a dump as text
    at_signal SIGUSR1 prints a dump of this process
    cli       the command `python -m loomlet dump`

loomlet.observe shows what is public.  `import loomlet` loads server and stalls only.
"""
