"""VI/TCP (draft-dicecco-vitcp-00): its requirements, its errata and the cases that try them."""
