"""The fcvi harness: attaches devices under test, runs the cases of ``conformance/`` and reports verdicts."""

__version__ = "0.2.0"
