"""No name of a file or folder decides anything: each command says and writes the same with any name as with a plain one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from fcvi.engine.target import parse

from .. import starts
from ..conftest import FCVI, RECORDED

_RUN = b"run --select 5.3.2/dut-server"
PLAIN = b"zzqzz"
#: What a clock says, and where a name is cut off or aligned.
_TIMES = re.compile(rb"\d+\.\d+ s\b|\d+ us\b|\"wall_us\": \d+|\d{4}-\d\d-\d\dT[\d:]+Z")
_SOON = 8  # one in so many names is tried at once
#: Names that speak of books, of options, of cases, or are hard to print.
NAMES = [os.fsencode(name) for name in (
    "VIPL", "VERBS", "VITCP", "VIPL-lab", "VERBS-lab", "ACME-VITCP-2027", "my-VITCP-lab", "VITCP-plain", "R1.x", "R1.8.a", "TCP.3",
    "TCP.3.1.g", "TCP.*", "VIPL.C1", "VERBS.12", "E03", "R06", "V02", "A01", "B03", "REV1-8-01", "FCVI-8.3-02", "VITCP-2.1-01",
    "api", "verbs", "ref", "ref:vitcp", "ref:rev1", "vitcp:h:1", "rev1", "tcp", "2007", "fcvi", "--like", "--wire=tcp",
    "--dut=api", "--revision=rev1", "-x", "with a space", "it's", 'a "quote"', "a\nline", "$(x)", "report.json", "show", "lint",
)] + [b"\xff\xfe-VITCP", b"caf\xe9"]  # fmt: skip


def fcvi(*words: bytes, cwd: Path) -> tuple[int, bytes, bytes]:
    done = starts.run([FCVI, *words], cwd=cwd, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate, runs of two books, captures and a PICS, all under plain names."""
    place = tmp_path_factory.mktemp("words")
    pics = "[pics]\nserver = true\nunreliable_delivery = true\n"
    (place / "pics").write_text(pics)
    (place / "claims").write_text("[pics]\nunreliable_delivery = true\n")  # no case applies: the name is what is tried
    shutil.copy(RECORDED / "cases/5.3.2.pcapng", place / "capture")
    (place / "cases").mkdir()
    for words in (b"certify --pics claims --report certified --quiet", _RUN + b" --report run --quiet",
                  b"run --book vitcp --select TCP.4.a --report other --quiet"):
        fcvi(*words.split(), cwd=place)
    return place


#: What each command is given, how, and what it reads: {} is the name.
COMMANDS = {
    "verify": ("certified", b"certify --verify={}"), "judge": ("run", b"judge --json -- {}"),
    "judge other": ("other", b"judge -- {}"), "replay": ("run", b"replay -- {}"),
    "diff": ("run", b"report diff -- {} {}"), "lint": ("capture", b"lint -- {}"),
    "lint json": ("capture", b"lint --json -- {}"), "decode": ("capture", b"decode -- {}"), "flows": ("capture", b"flows -- {}"),
    "explain": ("capture", b"explain -- {}"), "pics": ("pics", b"pics check -- {}"), "run pics": ("pics", _RUN + b" --pics={}"),
    "baseline": ("run", _RUN + b" --baseline={}"), "run report": ("", _RUN + b" --report={}"),
    "into another": ("other", _RUN + b" --report={}"), "expect": ("pics", b"replay --expect={} missing"),
    "quarantine": ("pics", _RUN + b" --quarantine={}"), "profile": ("pics", b"run --book vitcp --select TCP.4.a --profile={}"),
    "own": ("cases", b"list --cases={}"), "resume": ("run", b"run --resume={}"),
    "merge": ("run", b"report merge --out=merged -- {}"),
}  # fmt: skip


def play(command: str, name: bytes, made: Path, place: Path) -> tuple[int, bytes, bytes]:
    """What the command says of that name."""
    source, words = COMMANDS[command]
    place.mkdir()
    target = os.path.join(os.fsencode(place), name)
    if source:
        (shutil.copytree if (made / source).is_dir() else shutil.copy)(os.fsencode(made / source), target)
    found = fcvi(*(word.replace(b"{}", name) for word in words.split()), cwd=place)
    shutil.rmtree(place)
    return found


def forms(name: bytes) -> set[bytes]:
    """How a name may be printed: as it is, with escapes, for a shell, in JSON."""
    text = os.fsdecode(name)
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    found = {text, printable, shlex.quote(text), shlex.quote(printable), json.dumps(text)[1:-1], ascii(text)[1:-1]}
    found.add(json.dumps(name.decode("utf-8", "backslashreplace"))[1:-1])
    return {name, *(form.encode("utf-8", errors) for form in found for errors in ("replace", "backslashreplace"))}


def same(seen: bytes, plain: bytes, name: bytes) -> bool:
    """Whether two texts differ by the name alone."""
    return any(_TIMES.sub(b"", seen) == _TIMES.sub(b"", plain.replace(PLAIN, form)) for form in forms(name))


@pytest.mark.parametrize("share", [_SOON, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("number, command", enumerate(COMMANDS), ids=COMMANDS)
def test_a_name_decides_nothing(number: int, command: str, share: int, made: Path, tmp_path: Path) -> None:
    """Each command has its share of the names at once, another than the command before it, and all of them in the nightly tier."""
    plain = play(command, PLAIN, made, tmp_path / "plain")
    assert b"defect of the suite" not in plain[2] and b"Traceback" not in plain[2], plain
    for name in NAMES[number % share :: share]:
        seen = play(command, name, made, tmp_path / "other")
        assert seen[0] == plain[0] and same(seen[1], plain[1], name) and same(seen[2], plain[2], name), (name, seen, plain)


BOOKS = (
    (("run", "--book", "nonsense"), ("nonsense", "fcvi, rev1")),
    (("run", "--dut", "fcoe:x", "--book", "vitcp"), ("vitcp", "fcoe:x")),
    (("run", "--dut", "api", "--book", "fcvi"), ("fcvi", "api")),
    (("run", "--dut", "ref:rev1", "--wire", "tcp"), ("tcp", "ref:rev1")),
    (("run", "--select", "VIPL.C1"), ("VIPL", "--dut ref")), (("run", "--select", "3.4,TCP.4.a"), ("fcvi", "vitcp")),
    (("run", "--baseline", "other"), ("VI/TCP", "FC-VI")), (("run", "--rev", "rev1"), ("--rev",)),
    (("certify", "--dut", "vitcp:h:1", "--revision", "rev1"), ("rev1", "vitcp:h:1")),
    (("endpoint", "--wire", "tcp", "--book", "rev1"), ("tcp", "rev1")),
    (("judge", "unknown"), ("nowhere",)),
)  # fmt: skip


@pytest.mark.parametrize("words, told", BOOKS, ids=[" ".join(words) for words, _ in BOOKS])
def test_a_book_that_cannot_judge_is_one_line(words: tuple[str, ...], told: tuple[str, ...], made: Path, tmp_path: Path) -> None:
    """Both are named, the status is 2, and nothing is written."""
    for name in ("run", "other"):
        shutil.copytree(made / name, tmp_path / name)
    shutil.copytree(made / "run", tmp_path / "unknown")
    file = tmp_path / "unknown/evidence/run.json"
    file.write_text(file.read_text().replace('"book": "fcvi"', '"book": "nowhere"'))
    more = ["--report", "report"] if words[0] in ("run", "certify") else []
    before = sorted(tmp_path.rglob("*"))
    status, out, err = fcvi(*map(os.fsencode, (*words, *more)), cwd=tmp_path)
    assert (status, out, err.count(b"\n")) == (2, b"", 1), (status, out, err)
    assert [word for word in told if word.encode() not in err] == [], err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name, book", [("run", "fcvi"), ("other", "vitcp")])
def test_a_run_says_its_book_and_an_older_one_is_read_by_its_device(name: str, book: str, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / name, tmp_path / name)
    file = tmp_path / name / "evidence/run.json"
    run = json.loads(file.read_text())
    assert run.pop("book") == book
    file.write_text(json.dumps(run, indent=1) + "\n")
    status, out, _ = fcvi(b"judge", name.encode(), cwd=tmp_path)
    assert status == 0 and b"byte for byte the same" in out


def test_the_text_of_a_target_gives_it_again() -> None:
    for spec in ("ref", "ref:rev1", "ref:vitcp", "exec:a b", "unix:/x:y", "tcp:h:1", "fcoe:x,role=enode", "frames:exec:x",
                 "vitcp:h:1", "api"):
        assert str(parse(spec)) == spec and parse(str(parse(spec))) == parse(spec)
    assert str(parse("ref:fcvi")) == str(parse("ref:2007")) == "ref"
