"""Makes what goes along with a release."""
