"""The shapes of a protocol's messages: its JSON Schema, asked about one message at a time."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Optional


class Shapes:
    """One schema. Its $defs are params.METHOD, result.METHOD, notification.METHOD and notification (what the other side sends)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._validator = functools.cache(self._validator_of)

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The schema as JSON."""
        loaded: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        return loaded

    def _validator_of(self, name: str) -> Any:
        from jsonschema import Draft202012Validator

        return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": self.schema["$defs"]})

    def methods(self) -> list[str]:
        """Every method that may be served, in the order of the document."""
        return [name[len("params."):] for name in self.schema["$defs"] if name.startswith("params.")]

    def has(self, name: str) -> bool:
        """Whether the schema has this shape."""
        return name in self.schema["$defs"]

    def flaw(self, name: str, value: Any) -> Optional[str]:
        """What is wrong with a value, in one line; None when it has the shape `name` of the schema's $defs."""
        from jsonschema.exceptions import best_match

        error = best_match(self._validator(name).iter_errors(value))
        if error is None:
            return None
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
        words = error.message if len(error.message) <= 160 else error.message[:157] + "..."
        return f"{where}: {words}" if where else words

    def result_flaw(self, method: str, result: dict[str, Any]) -> Optional[str]:
        """What is wrong with the result of a method. A VIPL result is judged by its return code."""
        name = f"result.{method}"
        alternatives = self.schema["$defs"][name].get("anyOf")
        if alternatives is None or not isinstance(result.get("return"), str):
            return self.flaw(name, result)
        good = alternatives[0]["properties"]["return"]
        codes = good.get("enum", [good.get("const")])
        part = alternatives[0 if result["return"] in codes else 1]
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match

        error = best_match(Draft202012Validator({**part, "$defs": self.schema["$defs"]}).iter_errors(result))
        return None if error is None else ".".join([*map(str, error.absolute_path), error.message])


#: The DUT protocol, which harness/docs/dut-protocol.md describes in words.
DUT_PROTOCOL = Shapes(Path(__file__).resolve().parents[1] / "protocol.schema.json")
