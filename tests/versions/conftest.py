"""Snapshots need tasklets that wait softly, which torture by hard switches prevents."""

from __future__ import annotations

import os

if "switch" in os.environ.get("LOOMLET_TORTURE", ""):
    collect_ignore = ["test_frame_locations.py", "test_frame_snapshots.py"]
