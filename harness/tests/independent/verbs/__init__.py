"""A provider of RDMA verbs written from the specification alone, without a kernel."""
