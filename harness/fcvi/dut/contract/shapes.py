"""The shapes of the DUT protocol: its JSON Schema, asked about one message at a time."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Optional

#: The schema that harness/docs/dut-protocol.md describes in words.
SCHEMA = Path(__file__).resolve().parents[1] / "protocol.schema.json"


@functools.cache
def schema() -> dict[str, Any]:
    """The schema as JSON."""
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded


@functools.cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema()["$defs"]})


def methods() -> list[str]:
    """Every method that a device may serve, in the order of the document."""
    return [name[len("params."):] for name in schema()["$defs"] if name.startswith("params.")]


def flaw(name: str, value: Any) -> Optional[str]:
    """What is wrong with a value, in one line; None when it has the shape `name` of the schema's $defs."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(name).iter_errors(value))
    if error is None:
        return None
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    words = error.message if len(error.message) <= 160 else error.message[:157] + "..."
    return f"{where}: {words}" if where else words


def result_flaw(method: str, result: dict[str, Any]) -> Optional[str]:
    """What is wrong with the result of a method. A VIPL result is judged by its return code."""
    name = f"result.{method}"
    alternatives = schema()["$defs"][name].get("anyOf")
    if alternatives is None or not isinstance(result.get("return"), str):
        return flaw(name, result)
    good = alternatives[0]["properties"]["return"]
    codes = good.get("enum", [good.get("const")])
    part = alternatives[0 if result["return"] in codes else 1]
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator({**part, "$defs": schema()["$defs"]}).iter_errors(result))
    return None if error is None else ".".join([*map(str, error.absolute_path), error.message])
