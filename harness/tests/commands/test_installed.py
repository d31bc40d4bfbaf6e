"""Tests that what is installed is whole: links that lead somewhere, commands that run, a manual page for each program.

``harness/check_install.sh`` installs into a scratch directory and names it in FCVI_INSTALLED.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from ..conftest import ROOT
from .test_documents_run import _field, _lines, _place, _report, run_document  # noqa: F401  (fixtures)

WHERE = os.environ.get("FCVI_INSTALLED", "")
USR = Path(WHERE or "/nonexistent") / "usr"
PAGES = sorted((USR / "share/doc/fcvi").glob("*.md"))
pytestmark = [pytest.mark.nightly, pytest.mark.skipif(not WHERE, reason="harness/check_install.sh says where it has installed")]


def _without(*names: str) -> list[Path]:
    return [page for page in PAGES if page.name not in names]


def _environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FCVI_INSTALLED")}
    return {**plain, "PATH": f"{USR / 'bin'}:{plain['PATH']}"}


def test_the_pages_are_those_of_the_repository() -> None:
    names = {path.name for path in (ROOT / "harness/docs").glob("*.md")}
    names |= {"api.md", "test-plan.md", "CHANGELOG.md", "CONFORMANCE.md"}
    assert names <= {path.name for path in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_each_link_of_a_page_leads_to_what_is_installed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target} is not there"
    for named in re.findall(r"/usr/(?:share|lib|include)/fcvi[\w./-]*[\w/]", text):
        assert Path(f"{WHERE}{named}").exists(), f"{page.name}: {named} is not there"


@pytest.mark.parametrize("page", _without("CONTRIBUTING.md", "api.md", "test-plan.md"), ids=lambda path: path.name)
def test_a_page_names_the_commands_that_are_installed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"build/fcvi(?![\w.-])|build/fcvi-agent(?![\w-])", text), page.name


@pytest.mark.parametrize("page", filter(_lines, _without("CONTRIBUTING.md", "fuzz-targets.md")), ids=lambda path: path.name)
def test_the_commands_of_an_installed_page_run(page: Path, place: Path) -> None:
    run_document(page, place, _environment(), WHERE)


def test_each_program_has_a_page_of_the_manual() -> None:
    pages = {path.name.rsplit(".", 1)[0] for path in (USR / "share/man").rglob("*.[0-9]")}
    programs = {path.name for path in (USR / "bin").iterdir()} | {"fcvi-open"}
    assert programs <= pages


@pytest.mark.parametrize("name", ["device.py", "device.pl"])
def test_a_starter_is_a_device_that_answers(name: str) -> None:
    command = f"exec:{USR / 'share/fcvi/starters' / name}"
    words = ["fcvi", "dut", "check", command]
    done = subprocess.run(words, env=_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1) and "hello" in done.stdout, done.stderr


def test_templates_seeds_and_dictionary_are_there() -> None:
    share = USR / "share/fcvi"
    there = {path.name for path in (share / "pipeline").iterdir()}
    assert {"action.yml", "fcvi.gitlab-ci.yml", "Jenkinsfile", "Containerfile"} <= there
    assert all(any(kind.iterdir()) for kind in (share / "seeds").iterdir()) and (share / "seeds/frame").is_dir()
    assert len((share / "fcvi.dict").read_text().splitlines()) > 20
    assert (share / "fuzz-example/your_parser.c").is_file()


def test_a_command_without_a_terminal_completes(tmp_path: Path) -> None:
    script = f"source {USR}/share/bash-completion/completions/fcvi\n"
    script += "COMP_WORDS=(fcvi show C.5.9.); COMP_CWORD=2; _fcvi; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", script], env=_environment(), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["C.5.9.1", "C.5.9.2"]
