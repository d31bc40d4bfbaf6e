"""``fcvi endpoint --on fcoe:IFACE``: the reference port on an interface, with its control plane on a socket."""

from __future__ import annotations

import selectors
import time
from contextlib import closing, suppress
from typing import Any, NoReturn, Optional

from fcvi.engine.attachment import DutError, Unavailable
from fcvi.engine.words import UsageError, complain, why
from fcvi.dut.planes import monotonic_us
from fcvi.dut.door import Door
from fcvi.dut.endpoint import ClientGone, Session, end_by_signals
from fcvi.dut.refserver import RefServer
from .link import Link
from .params import from_params, to_params


class LiveSession(Session):
    """One client of the control plane; frames go over the interface."""

    def __init__(self, client: int, link: Link, edition: str = "2007") -> None:
        super().__init__(client, client, "real", edition)
        self._link = link
        self._class = 3

    def _others(self) -> list[int]:
        return [self._link.fileno()]

    def _patience(self) -> Optional[float]:
        return patience(super()._patience(), self._link)

    def _tick(self) -> None:
        feed(self._link, self._server)
        super()._tick()

    def _refusal(self, params: Any) -> Optional[str]:
        self._link.discard()
        try:
            self._class = int(params["class"])
            self._link.configure(params, params["peer"], params)
        except (KeyError, TypeError, ValueError):
            return None  # the port says itself what is wrong
        except Unavailable as error:
            return str(error)
        return None

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            self._link.send(from_params(params, self._class))
        else:
            super()._emit(method, params)


def patience(due_s: Optional[float], link: Link) -> Optional[float]:
    """How long to wait for the port's timer or the link's, whichever comes first."""
    due = link.deadline_us()
    link_s = None if due is None else max(0.0, (due - monotonic_us()) / 1_000_000)
    return min((s for s in (due_s, link_s) if s is not None), default=None)


def feed(link: Link, server: RefServer) -> None:
    """Give the port what has arrived."""
    for _, frame in link.receive():
        server.notification("frame", to_params(frame))
    link.run()


def serve_alone(spec: str, config: dict[str, Any], edition: str = "2007") -> int:
    """Let the port live on the interface without a control plane until interrupted. Returns the exit status.

    Raises AttachError, UsageError, DutError.
    """
    refused: list[str] = []
    with suppress(KeyboardInterrupt):
        end_by_signals()
        with closing(Link.open(spec, "--on")) as link:
            server = RefServer(
                lambda method, params: link.send(from_params(params, 3)) if method == "frame" else None,
                lambda token, result, error: refused.append(error[1]) if error else None,
                "real",
                edition=edition,
            )
            server.request(0, "reset", config)
            if refused:
                raise UsageError(f"--config: {refused[0]}")
            try:
                link.configure(config, config["peer"], config)
            except Unavailable as error:
                raise UsageError(f"--config: {why(error)}") from error
            print(f"on {spec}, without control", flush=True)
            _live(link, server)
    return 0


def _live(link: Link, server: RefServer) -> NoReturn:
    since = monotonic_us()
    with selectors.DefaultSelector() as selector:
        selector.register(link.fileno(), selectors.EVENT_READ)
        while True:
            feed(link, server)
            server.run_until(monotonic_us() - since)
            due = server.next_us()
            selector.select(patience(None if due is None else due / 1_000_000, link))


def serve(spec: str, entry: Door, edition: str = "2007") -> int:
    """Serve one client of the control plane after another until interrupted. Returns the exit status.

    Raises AttachError, DutError.
    """
    with closing(entry), suppress(KeyboardInterrupt):
        end_by_signals()
        with closing(Link.open(spec, "--on")) as link:
            print(f"on {spec}, control at {entry.name()}", flush=True)
            while True:
                client, said = entry.client([link.fileno()], lambda: _idle(link))
                with client:
                    try:
                        LiveSession(client.fileno(), link, edition).run(entry, said)
                    except (ClientGone, OSError):
                        continue
                    except DutError as error:  # the interface went down: the next client will see whether it is back
                        complain(f"{why(error)}", "fcvi endpoint")
                        time.sleep(0.1)
    return 0


def _idle(link: Link) -> Optional[float]:
    """Without a client the link is kept up, and frames that arrive find nobody. Gives the seconds to its next timer."""
    link.receive()
    link.run()
    return patience(None, link)
