"""The modules with cases of VI Messages: clauses 5, 6 and 8, annexes B, E and F."""

from __future__ import annotations

from . import (  # noqa: F401
    clause_5_2_5 as c5_2_5,
    clause_5_5 as c5_5,
    clause_5_6_login as c5_6_login,
    clause_5_9_4_3 as c5_9_4_3,
    clause_5_9_5_reserved as c5_9_5_reserved,
    clause_5_9_6 as c5_9_6,
    clause_5_9_flags as c5_9_flags,
    clause_6_requests as c6_requests,
    clause_6_order as c6_order,
    clause_6_responses as c6_responses,
    clause_8_states as c8_states,
    combined,
    annex_b_rules_1_3 as b_rules_1_3,
    annex_b_rules_4_5 as b_rules_4_5,
    annex_b_rules_6_7 as b_rules_6_7,
    annex_b_rule_8 as b_rule_8,
    annex_b_rule_9 as b_rule_9,
    annex_b_examples as b_examples,
    annex_e as e_streaming,
    annex_f as f_message_0,
)
