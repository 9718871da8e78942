"""Memory that is freed stays with the process.

Each minibatch allocates and frees some hundreds of megabytes. The C library of Linux would hand blocks so large back to the
system each time, and have each of their pages cleared and mapped anew at the next: a third of a run's processor time.
"""

from __future__ import annotations

import ctypes
import sys

# Parameters of glibc's mallopt (malloc.h).
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
TOP_PAD = 2**28


def keep_freed_memory() -> bool:
    """From now on. Tells whether this C library has a way to."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, TOP_PAD), (M_MMAP_MAX, 0))
    return all(mallopt(*setting) == 1 for setting in settings)
