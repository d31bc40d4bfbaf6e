"""Which requirements of the catalogue each fault breaks; looked up when everything else was written."""

from __future__ import annotations

from typing import Dict

LABELS: Dict[str, str] = {}
