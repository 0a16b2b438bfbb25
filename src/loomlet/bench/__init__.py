"""The founding experiments, each run beside every peer that the machine has.

`python -m loomlet bench NAME` is the way in (`cli.py`). One file per experiment says what is
measured (`taskspeed.py`, `ring.py`, `memory.py`, `net.py`, `preempt.py`, `freeze.py`,
`handoff.py`, `heap.py`, `gilecho.py`, `giltest.py`, `testserver.py`, `sync.py`, `exceptions.py`,
`http.py`);
`programs/` holds what runs, one file per system, and for handoff one per subject.

How a measurement is made, and why:

* Every sample comes from a process of its own, so that no system runs beside another one's
  allocator, event loop or extension module, and loomlet is not loaded while a peer is measured.
* The systems of a cell take turns, run after run, and the order rotates: on a shared machine a
  slow minute then hits all of them. Ratios taken in one invocation count; absolute times do not.
* Medians are reported with minimum, maximum and the number of runs. Stored figures are
  nanoseconds, seconds or bytes; rates appear in the printed table only.
* A peer that is missing, fails or needs more memory than there is gets named, never estimated.

The layers inside: `model` <- `rounds`, `machine`, `wrk` <- `building` <- `servers` <- `peers` <-
`measure` <- `thread_cases` <- the experiments <- `catalogue` <- `targets`, `document` <-
`format` <- `columns` <- `terminal`, `drawing` <- `thread_charts` <- `charts` <- `report` <- `cli`.
"""
