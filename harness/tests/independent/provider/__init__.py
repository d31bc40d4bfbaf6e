"""A provider of VIPL that shares no code with ours: it was written from the VI Architecture and the Developer's Guide alone."""
