"""The requirements and errata of every standard as data, for programs beside the command."""

from __future__ import annotations

from pathlib import Path

from fcvi.engine.catalogue import (
    Change,
    DecidedBy,
    Erratum,
    Requirement,
    load_catalogue,
    load_changes,
    load_decided_by,
    load_errata,
    load_on_every_frame,
    load_requirements,
    sha256,
)

from . import register_all

register_all()

#: The catalogue of FC-VI, and its register of errata.
REQUIREMENTS = Path(__file__).resolve().parent / "fcvi" / "requirements.tsv"
ERRATA = REQUIREMENTS.with_name("errata.md")

__all__ = [
    "Change", "DecidedBy", "ERRATA", "Erratum", "REQUIREMENTS", "Requirement", "load_catalogue", "load_changes", "load_decided_by",
    "load_errata", "load_on_every_frame", "load_requirements", "sha256",
]  # fmt: skip
