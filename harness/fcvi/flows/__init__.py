"""The Connections of captures: a table of them, and what went wrong with them."""
