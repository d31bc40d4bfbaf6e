"""Captures with one provable breach each, and conforming ones, built from the tables of the standard alone.

Nothing here uses the codec, the harness or the monitor: it is what ``fcvi lint`` is judged by. ``wire`` builds
frames, ``flows`` the conforming conversations, ``breach*`` break one rule each, ``conforming`` draws sessions that
use what the text permits, and ``judge`` runs ``fcvi lint`` over them.
"""
