"""The VI Architecture and its programming library: the requirements, the errata and the cases that try a provider by its calls."""
