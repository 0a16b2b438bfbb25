"""The measured programs: one file per system, each doing the same work in that system's own words.

They are run as separate processes by `driver.py` (Python) or by their own tools (Go, Erlang) and
are never imported by the library, so a peer is measured without loomlet in its process.
"""
