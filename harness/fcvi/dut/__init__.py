"""Attachments of devices under test (see the DUT protocol)."""
