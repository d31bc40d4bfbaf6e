"""The commands, one module each, with ``add_parser`` and ``run``."""

from . import certify, decode, endpoint, fuzz, judge, lint, list_cases, report, run, show

COMMANDS = (run, certify, judge, report, list_cases, show, decode, lint, fuzz, endpoint)
