"""Tries whether a device keeps to the DUT protocol, before any case runs (``fcvi dut check``)."""
