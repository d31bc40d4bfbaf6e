"""The modules with cases of VI Messages: clauses 5, 6 and 8, annexes B, E and F."""

from __future__ import annotations

from . import (  # noqa: F401  (each module declares its cases when it is imported)
    c5_2_5,
    c5_5,
    c5_6_login,
    c5_9_4_3,
    c5_9_6,
    c5_9_flags,
    c6_requests,
    c6_order,
    c6_responses,
    c8_states,
    b_rules_1_3,
    b_rules_4_5,
    b_rules_6_7,
    b_rule_8,
    b_rule_9,
    b_examples,
    e_streaming,
    f_message_0,
)
