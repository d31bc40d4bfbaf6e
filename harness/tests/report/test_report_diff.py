"""``fcvi report diff``: what changed, and nothing else."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from ..conftest import fcvi
from ..engine.test_declaration import ALL, DECLARED, INDEPENDENT


def result(ident: str, verdict: str, reason: str = "", qualifier: str | None = None) -> dict[str, Any]:
    """A result of report.json."""
    return {"id": ident, "verdict": verdict, "qualifier": qualifier, "reason": reason, "requirements": [], "errata": [],
            "findings": [], "virtual_us": 0, "wall_us": 0, "frames": 0}  # fmt: skip


BASE: dict[str, Any] = {
    "schema": 1,
    "suite": {"version": "0", "catalogue_sha256": "0" * 64},
    "dut": {"attachment": "ref", "implementation": "i", "version": "1", "pics": {"client": True}},
    "pixit": {"r_a_tov_us": 1}, "seed": 1, "review": [], "deviations": [],
    "results": [result("D.R1", "pass"), result("D.R2", "fail", "late at 12 us"), result("D.R3", "pass")],
    "requirements": {"R-1": "pass", "R-2": "fail"},
    "summary": {"pass": 2, "fail": 1, "inconclusive": 0, "not-applicable": 0, "error": 0},
}  # fmt: skip


def difference(tmp_path: Path, edit: Callable[[dict[str, Any]], object]) -> tuple[int, dict[str, Any], str]:
    """From BASE to an edited copy: exit status, JSON, text."""
    other = copy.deepcopy(BASE)
    edit(other)
    (tmp_path / "a.json").write_text(json.dumps(BASE))
    (tmp_path / "b.json").write_text(json.dumps(other))
    args = ["report", "diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    as_text, as_json = fcvi(*args), fcvi(*args, "--json")
    assert as_text.returncode == as_json.returncode and as_text.stderr == as_json.stderr == ""
    return as_json.returncode, json.loads(as_json.stdout), as_text.stdout


def test_equal_reports_do_not_differ(tmp_path: Path) -> None:
    status, found, text = difference(tmp_path, lambda r: None)
    assert status == 0 and found["differs"] is False and text.splitlines()[-1] == "no difference in 3 cases"


def test_times_and_who_was_tested_do_not_count(tmp_path: Path) -> None:
    def edit(r: dict[str, Any]) -> None:
        r["results"][1].update(reason="late at 99 us", wall_us=7)
        r["dut"]["pics"]["client"], r["seed"] = False, 2

    status, found, text = difference(tmp_path, edit)
    assert status == 0 and {c["id"] for c in found["about"]} == {"dut.pics.client", "seed"}
    assert "dut.pics.client: True -> False" in text


def test_what_got_worse_comes_first(tmp_path: Path) -> None:
    def edit(r: dict[str, Any]) -> None:
        r["results"] = [result("D.R1", "pass", "E03", "interpretation"), result("D.R2", "pass"), result("D.R3", "fail", "no")]
        r["requirements"] = {"R-1": "fail", "R-3": "pass"}

    status, found, text = difference(tmp_path, edit)
    assert status == 1
    assert [(c["id"], c["a"], c["b"], c["direction"]) for c in found["verdicts"]] == [
        ("D.R3", "pass", "fail", "worse"), ("D.R2", "fail", "pass", "better"),
        ("D.R1", "pass", "pass [interpretation]", "other"),
    ]  # fmt: skip
    changed = {c["id"]: (c["a"], c["b"]) for c in found["requirements"]}
    assert changed == {"R-1": ("pass", "fail"), "R-2": ("fail", None), "R-3": (None, "pass")}
    assert "worse  D.R3: pass -> fail\n         no\n" in text and "R-2: fail -> none" in text


def test_new_and_removed_cases_and_reasons(tmp_path: Path) -> None:
    def edit(r: dict[str, Any]) -> None:
        r["results"] = [result("D.R1", "pass"), result("D.R2", "fail", "never"), result("D.R4", "error")]

    status, found, text = difference(tmp_path, edit)
    assert status == 1 and not found["verdicts"]
    assert found["new"] == [{"id": "D.R4", "verdict": "error"}] and found["removed"] == [{"id": "D.R3", "verdict": "pass"}]
    assert [c["id"] for c in found["reasons"]] == ["D.R2"]
    assert "new cases: 1\n  D.R4 error" in text and "removed cases: 1\n  D.R3 pass" in text


def test_two_real_runs(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(ALL + DECLARED)
    common = ["run", "--select", "D.R1,C.5.7.2", "--quiet", "--pics", str(tmp_path / "lab.toml")]
    fcvi(*common, "--dut", INDEPENDENT, "--report", str(tmp_path / "a"))
    fcvi(*common, "--dut", f"{INDEPENDENT} --fault no-retry", "--report", str(tmp_path / "b"))
    done = fcvi("report", "diff", str(tmp_path / "a"), str(tmp_path / "b"), "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert {c["b"] for c in found["verdicts"]} == {"pass [deviation]"}
    assert {"id": "FCVI-8.5.4-01", "a": "absent", "b": "occurred"} in found["deviations"]
    assert {"id": "FCVI-8.5.4-01", "a": "pass", "b": "fail"} in found["requirements"]
    assert fcvi("report", "diff", str(tmp_path / "b"), str(tmp_path / "b")).returncode == 0


def test_what_a_report_says_cannot_play_with_the_terminal(tmp_path: Path) -> None:
    status, _, text = difference(tmp_path, lambda r: r["results"][0].update(verdict="fail", reason="\x1b[2J\nno difference"))
    assert status == 1 and "\x1b" not in text and "\nno difference" not in text


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\x00\xff", b"[" * 200_000, b"[]", b"{}", b'{"schema": 1, "results": [3]}', b'{"schema": 9}', b"\"x\"",
     json.dumps({**BASE, "results": [result("X", "splendid")]}).encode(),
     json.dumps({**BASE, "results": [result("X", "pass"), result("X", "fail")]}).encode(),
     json.dumps({**BASE, "results": [{**result("X", "pass"), "id": ["x"]}]}).encode(),
     json.dumps({**BASE, "requirements": []}).encode(), json.dumps(BASE).encode()[:-20]],
    ids=lambda content: f"{len(content or b'')}-bytes",
)  # fmt: skip
def test_what_is_no_report_is_one_line_and_status_2(content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(BASE))
    bad = tmp_path / "bad"
    bad.mkdir()
    if content is not None:
        (bad / "report.json").write_bytes(content)
    for pair in ([bad, tmp_path / "good.json"], [tmp_path / "good.json", bad]):
        done = fcvi("report", "diff", *map(str, pair))
        assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
        assert str(bad / "report.json") in done.stderr


def test_a_pipe_or_a_giant_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "giant").write_bytes(b"")
    os.truncate(tmp_path / "giant", 1 << 40)
    for name in ("fifo", "giant"):
        done = fcvi("report", "diff", str(tmp_path / name), str(tmp_path / name), timeout=20)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
