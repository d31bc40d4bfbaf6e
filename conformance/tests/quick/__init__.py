"""The contributor's loop: the tests of what changed, or of a name, in a few seconds."""
