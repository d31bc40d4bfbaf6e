"""The requirements and errata of every standard as data, for programs beside the command."""

from __future__ import annotations

from fcvi.engine.catalogue import Erratum, Requirement, load_catalogue, load_errata, load_requirements, sha256

from . import register_all

register_all()

__all__ = ["Erratum", "Requirement", "load_catalogue", "load_errata", "load_requirements", "sha256"]
