"""The commands, one module each, with ``add_parser`` and ``run``."""

from . import certify, decode, endpoint, explore, fuzz, judge, lint, list_cases, replay, report, run, show

COMMANDS = (run, certify, judge, replay, report, list_cases, show, decode, lint, fuzz, explore, endpoint)
