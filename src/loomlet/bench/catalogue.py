"""The experiments by name, in the order in which `all` runs them."""

from __future__ import annotations

from collections.abc import Mapping

from loomlet.bench import (
    exceptions,
    freeze,
    gilecho,
    giltest,
    handoff,
    heap,
    http,
    memory,
    net,
    preempt,
    ring,
    sync,
    taskspeed,
    testserver,
)
from loomlet.bench.model import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each
    for each in (
        taskspeed.EXPERIMENT,
        ring.EXPERIMENT,
        memory.EXPERIMENT,
        preempt.EXPERIMENT,
        freeze.EXPERIMENT,
        net.EXPERIMENT,
        handoff.EXPERIMENT,
        heap.EXPERIMENT,
        gilecho.EXPERIMENT,
        giltest.EXPERIMENT,
        testserver.EXPERIMENT,
        sync.EXPERIMENT,
        exceptions.EXPERIMENT,
        http.EXPERIMENT,
    )
}
