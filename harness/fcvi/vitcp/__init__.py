"""VI/TCP: the lower tester on streams, and what a case of VI/TCP is written with."""
