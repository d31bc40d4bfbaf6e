"""Holds what cases of VI/TCP have in common: connections, messages, and what has to become of both."""
