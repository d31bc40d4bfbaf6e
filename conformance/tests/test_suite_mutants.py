"""The mutants of the suite's own Python: each changes one line, and a probe tells who runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.tests import fork_server

from .suite_mutant_source import apply, mutants_of, put_probes
from .suite_mutants import TREE, failures, finds, judge, read_hits

SOURCE = '''"""A module."""


def larger(first, second):
    """The larger one."""
    if first < second and second is not None:
        return second
    if first == second + 1:
        print(first)
    return first
'''


def _tree(tmp_path: Path) -> Path:
    (tmp_path / "harness").mkdir()
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path


def test_each_mutant_changes_one_line_and_can_be_taken_back(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    found = mutants_of(tree, "module.py")
    assert {m.new.strip() for m in found} >= {
        "if first <= second and second is not None:", "if first < second or second is not None:",
        "if first < second and second is None:", "pass",
    }  # fmt: skip
    for mutant in found:
        apply(tree, mutant)
        changed = (tree / "module.py").read_text().splitlines()
        assert sum(a != b for a, b in zip(changed, SOURCE.splitlines())) == 1
        apply(tree, mutant, back=True)
        assert (tree / "module.py").read_text() == SOURCE


def test_a_probe_notes_the_test_in_a_process_of_its_own(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    mutants = [m for m in mutants_of(tree, "module.py") if m.kind in ("and/or", "call removed")]
    put_probes(tree, mutants, tmp_path / "hits.tsv")
    # what the server of commands closes in each command that it begins
    closed = f"import fcvi_probe, os; os.closerange(3, {fork_server._FROM + fork_server.DESCRIPTORS})"
    code = f"{closed}; import module, sys; module.larger(1, 2); module.larger(1, 2); print('no hit', file=sys.stderr)"
    subprocess.run(
        ["sh", "-c", '"$0" -c "$1" 2>&- || test $? = 120', sys.executable, code], cwd=tree, check=True,
        env={"PYTHONPATH": f"{tree}/harness:{tree}", "PYTEST_CURRENT_TEST": "test_x.py::test_it (call)"},
    )  # fmt: skip
    lists = dict(zip([m.kind for m in mutants], read_hits(tmp_path / "hits.tsv", len(mutants))))
    assert lists == {"and/or": ["test_x.py::test_it"], "call removed": []}


def test_what_fails_is_named_and_what_ends_the_run_too(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    larger = "import module, os\n\n\ndef test_it():\n    assert module.larger(1, 2) == 2\n"
    (tree / "test_module.py").write_text(f"{larger}\n\ndef test_killed():\n    os.kill(os.getpid(), 9)\n")
    mutant = next(m for m in mutants_of(tree, "module.py") if m.new.strip() == "if first < second and second is None:")
    names = ["test_module.py::test_it", "test_module.py::test_killed"]
    assert finds(tree, mutant, names, 100) == names[:1]
    assert failures(tree, *names, limit=100) == names[1:]


def test_a_test_whose_name_has_the_path_of_its_tree_is_run_in_another(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    marked = f"@pytest.mark.parametrize('place', [{str(tree)!r}])\ndef test_it(place):\n    assert module.larger(1, 2) == 2\n"
    (tree / "test_module.py").write_text(f"import module, pytest\n\n\n{marked}")
    mutant = next(m for m in mutants_of(tree, "module.py") if m.new.strip() == "if first < second and second is None:")
    name = f"test_module.py::test_it[{TREE}]"
    assert judge(tree, mutant, [name]) == name
    assert judge(tree, mutant, ["test_module.py::test_that_is_gone"]).startswith("not judged: ")
