"""The matrix of several runs: what counts as worse, and what comes first."""

from __future__ import annotations

import pytest

from fcvi.report.matrix import ABSENT, Row, Table


@pytest.mark.parametrize("verdicts, worse", [
    (("pass", "fail"), True), (("pass", "not-tested"), True), (("inconclusive", "fail [waived]"), True),
    (("pass", "not-applicable"), False), (("not-applicable", "not-tested"), False), (("not-tested", "not-applicable"), False),
    (("fail", "not-tested"), False), (("pass", "fail", ABSENT), True), (("fail", "fail"), False), ((ABSENT, "fail"), False),
])  # fmt: skip
def test_what_got_worse(verdicts: tuple[str, ...], worse: bool) -> None:
    assert Row("case", "5.3.2", verdicts).worse is worse


def test_failures_come_first_among_what_got_worse() -> None:
    ends = {"a": "pass", "b": "inconclusive", "c": "fail", "d": "error"}
    rows = tuple(Row("case", name, ("fail" if end == "pass" else "pass", end)) for name, end in ends.items())
    assert [row.ident for row in Table((), (), (), rows, ()).changes()] == ["d", "c", "b", "a"]
