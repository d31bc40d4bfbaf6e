"""The book of FC-VI: its catalogue, errata, cases and steps."""
