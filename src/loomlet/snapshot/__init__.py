"""Freeze and thaw: a suspended tasklet as bytes, and a tasklet from bytes.

Thawing bytes runs code that the bytes choose, as unpickling does.  Thaw only what your own program
has frozen: give a `key=` to both sides when the bytes pass through other hands.

freeze() leaves the tasklet as it was, so there are two of it from then on.  Nothing else of the
thread runs while it reads; a tasklet of another thread must not run meanwhile.  Any thread.
"""

from loomlet._public import show_in
from loomlet.snapshot import _stackless_pickle as _stackless_pickle  # its builders
from loomlet.snapshot._copyreg_support import install
from loomlet.snapshot._freeze import clone, freeze, thaw, why_not_freezable

__all__ = ["clone", "freeze", "install", "thaw", "why_not_freezable"]

show_in(__name__, clone, freeze, install, thaw, why_not_freezable)
