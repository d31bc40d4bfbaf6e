"""Holds what the cases of RDMA verbs are made of."""
