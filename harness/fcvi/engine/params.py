"""Parameters of the DUT protocol's methods, validated: everything a peer sends is hostile."""

from __future__ import annotations

from typing import Any, Optional

INVALID_PARAMS = -32602

#: The editions of FC-VI.
EDITIONS = ("2007", "rev1")


class ProtocolError(Exception):
    """A JSON-RPC error to answer with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Params:
    """An object of parameters. A missing member or a wrong type raises ProtocolError -32602."""

    __slots__ = ("_raw",)

    def __init__(self, raw: object) -> None:
        if raw is None:
            raw = {}
        if not isinstance(raw, dict):
            raise ProtocolError(INVALID_PARAMS, "params must be an object")
        self._raw = raw

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        return self._raw.get(name) is not None

    def _wrong(self, name: str, wanted: str) -> ProtocolError:
        return ProtocolError(INVALID_PARAMS, f"{name} must be {wanted}, not {str(self._raw.get(name))[:60]}")

    def integer(self, name: str, least: int, most: int, default: Optional[int] = None) -> int:
        """A number in a range."""
        value = self._raw.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(name, f"an integer from {least} to {most}")
        return value

    def text(self, name: str, most: int) -> str:
        """A string of 1 to most characters."""
        value = self._raw.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= most:
            raise self._wrong(name, f"a string of 1 to {most} characters")
        return value

    def handle(self, name: str) -> int:
        """A vi, conn or mem; one that cannot exist becomes 2^32-1, which VIPL refuses."""
        value = self.integer(name, -(2**53), 2**53)
        return value if 0 <= value < 2**32 else 2**32 - 1

    def boolean(self, name: str, default: bool) -> bool:
        """true or false."""
        value = self._raw.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def choice(self, name: str, names: tuple[str, ...]) -> str:
        """One of several words."""
        value = self._raw.get(name)
        if not isinstance(value, str) or value not in names:
            raise self._wrong(name, "one of " + ", ".join(names))
        return value

    def hexadecimal(self, name: str, least: int, most: int) -> bytes:
        """A byte string in lower-case hexadecimal, least to most bytes long."""
        value = self._raw.get(name)
        if isinstance(value, str) and least <= len(value) // 2 <= most:
            try:
                data = bytes.fromhex(value)
            except ValueError:
                data = b""
            if data.hex() == value:  # fromhex takes upper case and blanks as well
                return data
        raise self._wrong(name, f"lower-case hexadecimal of {least} to {most} bytes")

    def table(self, name: str) -> Params:
        """An object."""
        value = self._raw.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return Params(value)

    def tables(self, name: str, most: int) -> list[Params]:
        """An array of objects."""
        value = self._raw.get(name)
        if not isinstance(value, list) or len(value) > most or not all(isinstance(v, dict) for v in value):
            raise self._wrong(name, f"an array of at most {most} objects")
        return [Params(v) for v in value]

    def _hosts(self) -> list[str]:
        hosts = self._raw.get("host")
        if not isinstance(hosts, list) or not 1 <= len(hosts) <= 4:
            raise self._wrong("host", "an array of 1 to 4 addresses")
        return [Params({"host": host}).hexadecimal("host", 16, 16).hex() for host in hosts]

    def _identity(self) -> dict[str, Any]:
        checked = self._hosts()
        return {
            "port_name": self.hexadecimal("port_name", 8, 8).hex(),
            "node_name": self.hexadecimal("node_name", 8, 8).hex(),
            "n_port_id": self.hexadecimal("n_port_id", 3, 3).hex(),
            "host": checked,
        }

    def stream_configuration(self) -> dict[str, Any]:
        """The configuration of ``reset`` with wire "tcp", complete (docs/dut-protocol-streams.md)."""
        self.choice("wire", ("tcp",))
        return {
            "host": self._hosts(),
            "peer": {"host": self.table("peer")._hosts()},
            "port": self.integer("port", 1, 65535),
            "nop_bound_us": self.integer("nop_bound_us", 1, 2**53 - 1),
            "incoming_timeout_us": self.integer("incoming_timeout_us", 1, 2**53 - 1),
            "seed": self.integer("seed", 0, 2**53 - 1),
        }

    def revision(self, otherwise: str) -> str:
        """The edition of FC-VI that ``reset`` names; otherwise, where it names none."""
        return self.choice("revision", EDITIONS) if self.has("revision") else otherwise

    def configuration(self) -> dict[str, Any]:
        """The configuration of ``reset``, complete. wire and revision (version 2) may be left out, and are not returned."""
        if self.has("wire"):
            self.choice("wire", ("fc",))
        self.revision("")
        return {
            **self._identity(),
            "peer": self.table("peer")._identity(),
            "topology": self.choice("topology", ("point-to-point", "private-loop", "public-loop", "fabric")),
            "fabric": self.choice("fabric", ("in-order", "out-of-order")),
            "class": self.integer("class", 2, 3),
            "login": self.choice("login", ("implicit", "explicit")),
            "e_d_tov_us": self.integer("e_d_tov_us", 1, 2**53 - 1),
            "r_a_tov_us": self.integer("r_a_tov_us", 1, 2**53 - 1),
            "receive_size": self.integer("receive_size", 256, 2112),
            "seed": self.integer("seed", 0, 2**53 - 1),
        }
