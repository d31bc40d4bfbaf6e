"""Checks of calls prove themselves: providers that break just one, made from the check, and what the suite says of them."""
