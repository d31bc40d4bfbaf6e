"""RDMA Protocol Verbs 1.0: what a provider owes by its calls, the errata of the text, and the plan of the cases."""
