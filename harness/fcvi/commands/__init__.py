"""The commands, one module each, with ``add_parser`` and ``run``."""

from . import certify, decode, endpoint, lint, list_cases, run, show

COMMANDS = (run, certify, list_cases, show, decode, lint, endpoint)
