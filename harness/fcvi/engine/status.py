"""Ends a command: whatever goes wrong is one line and a documented status."""

from __future__ import annotations

import errno
import os

from . import interrupt
from .words import Ending, complain, told, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


def _interrupted(stop: KeyboardInterrupt, quiet: bool) -> int:
    if not quiet:
        complain(f"interrupted by {interrupt.words(stop)}")
    return 3


def status_of(work: Callable[[], int], quiet: bool = False) -> int:
    """Do the work; its exit status. quiet: somebody else tells of an interrupt."""
    try:
        return work()
    except SystemExit as stop:  # of argparse, which has said why
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2
    except KeyboardInterrupt as stop:
        return _interrupted(stop, quiet)
    except MemoryError:
        complain("out of memory")
    except OSError as error:
        complain(told(error))
        if error.errno == errno.ENAMETOOLONG:  # no name of ours is: it was named
            return 2
    except Ending as error:
        complain(why(error))
        return error.status
    except Exception as defect:  # whoever looks for it asks for more; what the user gets is one line
        if isinstance(defect.__cause__, KeyboardInterrupt):  # it came within a __set_name__, which Python tells as a RuntimeError
            return _interrupted(defect.__cause__, quiet)
        if os.environ.get("FCVI_TRACEBACK"):
            raise
        complain(f"defect of the suite: {type(defect).__name__}: {why(defect)[:300]}; FCVI_TRACEBACK=1 shows where")
    return 3
