"""``make interop``: login-level cases of the live attachment against the Debian kernel's libfc and fcoe in QEMU.

First VN2VN, then the guest behind our FCF; each with a boot of its own. What crossed the wire is kept beside the images.
Exit status: 0 all passed, 1 not all, 3 it cannot be run here (the reason is said).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ..tests.live.net import DEVICE, TESTER, Net, available
from . import vm
from .cases import CASES

_BOOT_S = 120  # under emulation, on a loaded machine; usually ten to twenty
_LINK_S = 15  # for the link to come up, in each case
_CASES_S = 150


def one(images: Path, mode: str) -> int:
    """One boot. The status of the cases."""
    net = Net()
    with tempfile.TemporaryDirectory(prefix="fcvi-interop.") as scratch:
        where = Path(scratch)
        guest = vm.start(images, where, mode)
        try:
            net.start(sys.executable, "-m", "harness.interop.vm", DEVICE, scratch, until="the guest is up", seconds=_BOOT_S)
            dumpcap = shutil.which("dumpcap")
            capture = net.start(dumpcap, "-q", "-i", TESTER, "-w", f"{scratch}/wire", until="File:") if dumpcap else None
            done = net.run(sys.executable, "-m", "harness.interop.cases", mode, TESTER, str(_LINK_S), timeout=_CASES_S)
            print(done.stdout + done.stderr, end="", flush=True)
            said = vm.ask(where, 'cd /sys/class/fc_host/host*; echo "guest: $(cat port_state) $(cat port_id)"')
            print(*(line for line in said.splitlines() if line.startswith("guest: ")), flush=True)
            if capture is not None:
                net.stop_capture(capture)
            return done.returncode
        except (AssertionError, subprocess.TimeoutExpired, OSError) as error:
            console = (where / "console.log").read_text(errors="replace")[-400:] if (where / "console.log").exists() else ""
            print(f"interop: {mode}: {error}\n{console}", file=sys.stderr)
            return 3
        finally:
            guest.terminate()
            guest.wait(timeout=20)
            net.close()
            if (where / "wire").exists():
                shutil.copy(where / "wire", images / f"{mode}.pcapng")


def main() -> int:
    """The worst of the statuses. A second argument names the only mode to run."""
    images = Path(sys.argv[1])
    missing = available()
    if missing is not None:
        print(f"interop: not run: {missing}", file=sys.stderr)
        return 3
    made = subprocess.run([str(Path(__file__).with_name("image.sh")), str(images)], timeout=600, check=False)
    if made.returncode != 0:
        return 3
    try:
        return max(one(images, mode) for mode in (sys.argv[2:] or CASES))
    except pytest.skip.Exception as refused:
        print(f"interop: not run: {refused}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
