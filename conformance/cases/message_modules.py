"""The modules with cases of VI Messages: clauses 5, 6 and 8, annexes B, E and F."""

from __future__ import annotations

from . import (  # noqa: F401  (each module declares its cases when it is imported)
    c6_requests,
    c6_responses,
    b_rules_1_3,
    b_rules_4_5,
    b_rules_6_7,
    b_rule_8,
    b_rule_9,
    b_examples,
)
