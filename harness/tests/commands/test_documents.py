"""The documents say what there is: commands, options, links and the pages made from the code."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Iterator

import pytest

from conformance import test_plan as plan
from fcvi import __version__
from fcvi.arguments import parser
from fcvi.commands import NAMES
from fcvi.commands.examples import EXAMPLES
from fcvi.engine.case import load_cases

from ..conftest import ROOT, fcvi


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"documents_{name}", ROOT / f"harness/docs/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


manual, api = _load("manual"), _load("api")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "harness/docs").glob("*.md")), ROOT / "SECURITY.md"]
#: What a document may show that is no command of this repository.
SYSTEM = {
    "cc", "clang", "tshark", "tcpdump", "xdg-open", "git", "make", "./bootstrap", "sh", "afl-fuzz", "python3", "cd", "ip", "prove",
    "cat", "jq", "pip", "ssh-keygen", "chgrp", "chmod", "setcap", "mkdir",
}  # fmt: skip
#: Programs that a document has just built or brought, and files that it asks to run.
BUILT = re.compile(r"\./fuzz_|fuzz/|build/fcvi-agent|harness/|build/tests/|\./my-|/usr/bin/python3|conformance/")


def _shown() -> Iterator[tuple[str, str]]:
    """Each command line of a block of sh, with where it stands."""
    for path in DOCUMENTS:
        for block in re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip():
                    yield path.name, line.strip()


def _commands(line: str) -> Iterator[list[str]]:
    """The words of each simple command of a line, without variables, sudo and redirections."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    command: list[str] = []
    for word in [*words, ";"]:
        if re.fullmatch(r"[|&;]+", word):
            if ">" in command:
                command = command[: command.index(">")]
            while command and (command[0] == "sudo" or re.match(r"\w+=", command[0])):
                command = command[1:]
            if command:
                yield command
            command = []
        else:
            command.append(word)


@pytest.mark.parametrize("where, line", list(_shown()))
def test_each_command_line_of_the_documents_parses(where: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in _commands(line):
        assert words[0] != "fcvi", f"{where}: {line}: a page of the source says build/fcvi; installed.py says fcvi"
        if words[0] != "build/fcvi":
            assert words[0] in SYSTEM or BUILT.match(words[0]), f"{where}: {words[0]} is neither ours nor a system command"
            continue
        try:
            parser().parse_args(words[1:])
        except SystemExit as ended:
            assert ended.code == 0, f"{where}: {line}: {capsys.readouterr().err}"


@pytest.mark.parametrize("prog", EXAMPLES)
def test_each_example_of_help_parses(prog: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in EXAMPLES[prog].split("example")[-1].splitlines() if line.startswith("  ")]
    assert lines, f"{prog} has no example"
    for words in (words for line in lines for words in _commands(line) if words[0] == "fcvi"):
        try:
            parser().parse_args(words[1:])
        except SystemExit as ended:
            assert ended.code == 0, f"{prog}: {words}: {capsys.readouterr().err}"


def test_each_make_target_of_the_documents_exists() -> None:
    rules = [ROOT / "Makefile", *ROOT.glob("*/rules.mk"), *ROOT.glob("*/*/rules.mk")]
    there = set(re.findall(r"^([a-z][\w-]*):", "\n".join(p.read_text(encoding="utf-8") for p in rules if p.exists()), re.M))
    for path in DOCUMENTS:
        for target in re.findall(r"(?:`|^)make ([a-z][\w-]*)", path.read_text(encoding="utf-8"), re.M):
            assert target in there, f"{path.name}: make {target}: there is no such target"


def test_every_option_of_the_documents_exists_in_the_parser() -> None:
    there = {option for _, command in manual._every() for a in command._actions for option in a.option_strings}
    others = {
        "--only", "--device", "--cases", "--version", "--help", "--rounds", "--build", "--flags", "--check", "--exec", "--jobs",
        "--token", "--idle", "--faults", "--without-device", "--address", "--all", "--boots", "--shows", "--pair", "--lacking",
        "--loss", "--lossy", "--drop", "--double", "--delay", "--damage",
    }  # fmt: skip
    for path in DOCUMENTS[:1] + DOCUMENTS[2:]:
        for words in re.findall(r"`(--[a-z][\w-]*)", path.read_text(encoding="utf-8")):
            assert words in there | others, f"{path.name}: {words} is no option"


def _anchors(page: Path) -> set[str]:
    """Where a link can lead in a page: its headings, as a code host names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_resolves() -> None:
    for path in DOCUMENTS:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                page = path.parent / target if target else path
                assert page.exists(), f"{path.name}: {target} is not there"
                assert not anchor or anchor in _anchors(page), f"{path.name}: {target} has no heading {anchor}"


def test_every_page_is_listed() -> None:
    listed = (ROOT / "harness/docs/README.md").read_text(encoding="utf-8")
    for path in (ROOT / "harness/docs").glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in listed, f"harness/docs/README.md does not list {path.name}"


def test_no_sentence_is_longer_than_thirty_words() -> None:
    for path in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for part in re.split(r"\n\s*\n|\n(?=[|#-])|\n(?=\d+\. )", text):
            for sentence in re.split(r"(?<=[.:?!])\s+|\|", part):
                assert len(sentence.split()) <= 30, f"{path.name}: {sentence}"


@pytest.mark.parametrize("name, most", [("testing-the-suite.md", 1200), ("performance.md", 700)])
def test_a_page_that_grows_like_a_diary_is_short(name: str, most: int) -> None:
    words = (ROOT / "harness/docs" / name).read_text(encoding="utf-8").split()
    assert sum(any(c.isalnum() for c in word) for word in words) < most  # dashes and the bars of tables are no words


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git knows which files are of the tree")
def test_the_docstring_of_a_module_begins_with_what_it_does() -> None:
    for name in subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        if (ROOT / name).exists():  # a working tree may have lost one
            words = (ast.get_docstring(ast.parse((ROOT / name).read_bytes())) or "").split()
            assert not words or words[0] not in ("What", "How", "Whether", "Which", "Where", "Why", "Who", "When"), name


def test_readme_is_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


def test_every_command_has_a_page_that_names_every_option() -> None:
    pages = manual.pages()
    assert set(pages) == {"fcvi.1", *(f"fcvi-{name}.1" for name in NAMES)}
    for words, command in manual._every():
        page = pages[f"fcvi-{words.split()[0]}.1"]
        for action in manual.options_of(command):
            for option in action.option_strings:
                assert option.replace("-", "\\-") in page, f"fcvi {words}: the page lacks {option}"


def test_every_line_of_help_is_a_sentence() -> None:
    """A capital, a verb's worth of words and a full stop; nothing is left without a word."""
    lines = dict(manual.helps_of(parser()))
    for words, command in manual._every():
        lines |= {f"{words} {name}": text for name, text in manual.helps_of(command).items()}
        for action in (a for a in command._actions if a.dest != "help" and not isinstance(a, argparse._SubParsersAction)):
            if action.help != argparse.SUPPRESS:
                lines[f"{words} {'/'.join(action.option_strings) or action.metavar or action.dest}"] = action.help or ""
    wrong = [f"{where}: {text}" for where, text in lines.items() if not re.match(r"[A-Z`].* .*\.$", text, re.S)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name, option", [("fcvi-agent", "--on"), ("fcvi-verbs-agent", "--address")])
def test_an_upper_tester_has_a_page_that_names_each_of_its_options(name: str, option: str) -> None:
    said = subprocess.run([ROOT / "build" / name, "--help"], capture_output=True, text=True, check=True).stdout
    page = manual.agent(name, said).replace("\\-", "-")
    options = set(re.findall(r"--\w+", said))
    assert {"--device", option, "--token", "--idle"} <= options <= set(re.findall(r"--\w+", page))
    assert f".SH NAME\n{name} - upper tester" in page
    assert ".SH EXIT STATUS\n0 " in page and "usage:" not in page


def test_help_manual_and_completion_say_the_same() -> None:
    helps, pages = manual.helps_of(parser()), manual.pages()
    top = " ".join(fcvi("--help").stdout.split())
    for name, sentence in helps.items():
        assert f"{name} {sentence}" in top
        title = f"fcvi\\-{name} \\- {manual.phrase(sentence)}".replace("-", "\\-").replace("\\\\-", "\\-")
        assert title in pages[f"fcvi-{name}.1"], name
        assert manual._roff(sentence) in pages["fcvi.1"]
        assert name in manual.bash() and name in manual.zsh()
    for words, command in manual._every():
        page = pages[f"fcvi-{words.split()[0]}.1"]
        for action in manual.options_of(command) + manual.arguments_of(command):
            assert manual._roff(manual._help(action)) in page, f"fcvi {words}: {action.help}"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_pages_have_no_faults_of_roff() -> None:
    for name, text in manual.pages().items():
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, capture_output=True, text=True, check=True)
        assert done.stderr == "", f"{name}: {done.stderr}"


def _completed(*words: str) -> set[str]:
    """What bash offers after these words."""
    quoted = " ".join(shlex.quote(word) for word in words)
    script = f"{manual.bash()}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fcvi; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "words, expected",
    [
        (("fcvi", "l"), {"list", "lint", "learn"}),
        (("fcvi", "lint", "--tr"), {"--trust"}),
        (("fcvi", "explore", "--fabric", ""), {"out-of-order", "in-order"}),
        (("fcvi", "dut", ""), {"check"}),
        (("fcvi", "report", "diff", "--"), {"--help", "--json"}),
        (("fcvi", "lint", "READ"), {"README.md"}),
        (("fcvi", "run", "--book", ""), {"fcvi", "rev1", "vitcp", "vipl", "verbs"}),
        (("fcvi", "run", "--dut", "ref"), {"ref", "ref:rev1", "ref:vitcp"}),
        ((str(ROOT / "build/fcvi"), "show", "C.5.9."), {"C.5.9.1", "C.5.9.2"}),
        ((str(ROOT / "build/fcvi"), "run", "--select", "D.R"), {"D.R1", "D.R2", "D.R3", "D.R6"}),
    ],
)
def test_bash_completes(words: tuple[str, ...], expected: set[str]) -> None:
    assert _completed(*words) == expected


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_completion(tmp_path: Path) -> None:
    (tmp_path / "_fcvi").write_text(manual.zsh(), encoding="utf-8")
    subprocess.run(["zsh", "-n", str(tmp_path / "_fcvi")], check=True)


def test_version_is_told_with_the_commit_of_the_tree() -> None:
    said = fcvi("--version").stdout
    assert said.startswith(f"fcvi {__version__}")
    if (ROOT / ".git").exists():
        head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        assert head.stdout.strip() in said


def test_every_tag_is_explained() -> None:
    used = {tag for case in load_cases() for tag in case.tags}
    explained = set(re.findall(r"^  ([\w-]+) {2,}\S", EXAMPLES["fcvi list"].split("tags:\n")[1], re.M))
    assert used == explained


@pytest.mark.parametrize(
    "words, message",
    [
        (["run", "--seed", "x"], "--seed: must be a number from"),
        (["run", "--r-a-tov", "1s"], "--r-a-tov: must be a number from 1 to 86400000 ms"),
        (["fuzz", "--dut", "ref", "--seconds", "x"], "--seconds: must be between 0 and 31622400 seconds"),
        (["run", "--jobs", "0"], "--jobs: must be a number from 1 to 1024"),
    ],
)
def test_a_value_that_cannot_be_read_is_told_in_words(words: list[str], message: str) -> None:
    done = fcvi(*words)
    assert done.returncode == 2 and message in done.stderr and "invalid" not in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("library", ["libfcvi.so", "libvipl.so", "libvipl64.so"])
def test_the_c_reference_has_every_exported_function(library: str) -> None:
    said = subprocess.run(["nm", "-D", "--defined-only", str(ROOT / "build" / library)], capture_output=True, text=True, check=True)
    exported = {words[2] for line in said.stdout.splitlines() if len(words := line.split()) == 3 and words[1] == "T"}
    exported = {re.sub(r"^(Vip\w+)64$", r"\1", name) for name in exported}  # vipl64.h
    documented = set(re.findall(r"^### (\w+)$", api.render(ROOT), re.M))
    assert exported and exported <= documented, sorted(exported - documented)


def test_every_function_of_codec_port_monitor_and_captures_has_a_comment() -> None:
    for pattern in (p for p in api.HEADERS if "vipl" not in p):
        for path in ROOT.glob(pattern):
            bare = [f.name for f in api.functions(path.read_text(encoding="utf-8")) if not f.comment]
            assert not bare, f"{path.name}: {bare} have no comment"


def test_the_test_plan_has_every_variant_of_every_case() -> None:
    book = plan.render()
    for case in load_cases():
        assert f"### {case.id}: {case.title}" in book
        for ident in case.variant_ids():
            assert f"| `{ident}` |" in book
