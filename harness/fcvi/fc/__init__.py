"""The wire of Fibre Channel: the lower tester, its frames, and what it takes in."""
