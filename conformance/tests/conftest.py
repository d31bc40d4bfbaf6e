"""The tests of conformance/ know every standard, and leave none of them in force."""

from conformance import register_all
from harness.tests.conftest import books_in_force

__all__ = ["books_in_force"]
register_all()
