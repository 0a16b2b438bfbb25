"""Freeze and thaw: a suspended tasklet as bytes, and a tasklet from bytes.

Thawing runs code that the bytes choose, as unpickling does.  Thaw only bytes that your own program
has frozen; if they pass through other hands, give a `key=` to both freeze() and thaw().

freeze() does not change the tasklet, so original and copy are independent from then on.  No other
tasklet of the thread runs while freeze() reads; a tasklet of another thread must not run meanwhile.
Any thread.
"""

from loomlet._public import show_in
from loomlet.snapshot import _stackless_pickle as _stackless_pickle  # its builders
from loomlet.snapshot._copyreg_support import install
from loomlet.snapshot._freeze import clone, freeze, thaw, why_not_freezable

__all__ = ["clone", "freeze", "install", "thaw", "why_not_freezable"]

show_in(__name__, clone, freeze, install, thaw, why_not_freezable)
