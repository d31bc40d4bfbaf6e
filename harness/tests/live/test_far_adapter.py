"""An adapter behind a slow line: what cannot be tried within R_A_TOV is inconclusive, and the line names the option to raise."""

from __future__ import annotations

import sys
from pathlib import Path

from .. import starts
from ..conftest import FCVI

#: A device over exec:, each line of which comes a quarter of R_A_TOV later, both ways.
_FAR = """
import queue, subprocess, sys, threading, time
device = subprocess.Popen([sys.argv[1], "endpoint", "--clock", "real"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def carry(source, target):
    lines = queue.Queue()
    def deliver():
        while (entry := lines.get()) is not None:
            time.sleep(max(0, entry[0] - time.monotonic()))
            target.write(entry[1])
            target.flush()
        target.close()
    worker = threading.Thread(target=deliver)
    worker.start()
    for line in source:
        lines.put((time.monotonic() + 0.15, line))
    lines.put(None)
    return worker
back = threading.Thread(target=carry, args=(device.stdout, sys.stdout.buffer))
back.start()
carry(sys.stdin.buffer, device.stdin)
device.wait()
"""


def test_a_line_names_the_option_that_an_adapter_far_away_needs(tmp_path: Path) -> None:
    (tmp_path / "far.py").write_text(_FAR)
    dut = f"exec:{sys.executable} {tmp_path / 'far.py'} {FCVI}"
    words = [str(FCVI), "run", "--dut", dut, "--select", "5.3.2/dut-client", "--r-a-tov", "500"]
    done = starts.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "1 inconclusive" in done.stdout and "raise --r-a-tov" in " ".join(done.stdout.split()), done.stdout
