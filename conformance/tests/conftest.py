"""The tests of conformance/ know every standard."""

from conformance import register_all

register_all()
