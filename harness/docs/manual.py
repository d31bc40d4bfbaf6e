"""Writes the manual pages and the shell completions from the parser of the command.

Usage: python3 harness/docs/manual.py OUT AGENT... It writes OUT/man1/fcvi.1, one page for each command (OUT/man1/fcvi-run.1), one
for each upper tester AGENT (fcvi-agent.1), OUT/fcvi.bash and OUT/_fcvi (zsh). Nothing is written by hand: the pages say what
`--help` says.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

from fcvi import __version__
from fcvi.arguments import parser
from fcvi.commands import NAMES
from fcvi.commands.examples import EXAMPLES
from fcvi.report import FORMATS

_STATUS = (
    ("0", "All is as it should be."),
    ("1", "There are findings: a failed case, a violation in a capture, a difference between two reports."),
    ("2", "The usage is wrong, the input is bad, or nothing was selected or applicable."),
    ("3", "The suite or the attachment failed."),
    ("4", "Nothing failed, but something stayed inconclusive."),
)


def actions_of(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below this one by name."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def helps_of(command: argparse.ArgumentParser) -> dict[str, str]:
    """One line about each command below this one."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {choice.dest: choice.help or "" for choice in action._choices_actions}
    return {}


def phrase(sentence: str) -> str:
    """What stands behind the dash of NAME: the sentence of --help without its capital and its full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def options_of(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options that a user sees."""
    return [a for a in command._actions if a.option_strings and a.help != argparse.SUPPRESS]


def arguments_of(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments without a dash."""
    return [a for a in command._actions if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]


def _roff(text: str) -> str:
    """Text that roff does not take for its own requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("``", "`")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices:
        return "|".join(str(choice) for choice in action.choices)
    return str(action.metavar or action.dest.upper())


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def _paragraphs(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        listed = re.search(r"^ {2}\S", part, re.MULTILINE)
        yield f".PP\n.nf\n{_roff(part)}\n.fi" if listed else f".PP\n{_roff(' '.join(part.split()))}"


def _body(command: argparse.ArgumentParser, section: str) -> list[str]:
    lines = [*_paragraphs(command.description or "")]
    for title, entries in (("ARGUMENTS", arguments_of(command)), ("OPTIONS", options_of(command))):
        if entries:
            lines.append(f"{section} {title}")
        for action in entries:
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = f" \\fI{_roff(_value(action))}\\fR" if action.option_strings and _value(action) else ""
            lines += [".TP", f"\\fB{_roff(names)}\\fR{value}", _roff(_help(action)) or "\\&"]
    notes = EXAMPLES.get(command.prog)
    if notes:
        lines += [f"{section} NOTES AND EXAMPLES", *_paragraphs(notes)]
    return lines


def page(name: str, summary: str, command: argparse.ArgumentParser) -> str:
    """The manual page of one command, with the commands below it."""
    usage = " ".join(command.format_usage().removeprefix("usage:").split())
    lines = [f'.TH "{name.upper()}" 1 "" "fcvi {__version__}" "User Commands"', ".SH NAME", f"{_roff(name)} \\- {_roff(summary)}"]
    lines += [".SH SYNOPSIS", _roff(usage), ".SH DESCRIPTION", *_body(command, ".SH")]
    helps = helps_of(command)
    for below, its in actions_of(command).items():
        if name == "fcvi":
            continue
        lines += [f'.SH "ACTION {below.upper()}"', _roff(" ".join(its.format_usage().removeprefix("usage:").split()))]
        lines += _body(its, ".SS")
    if name == "fcvi":
        lines.append(".SH COMMANDS")
        for below in actions_of(command):
            lines += [".TP", f"\\fBfcvi\\-{_roff(below)}\\fR(1)", _roff(helps[below])]
    lines.append(".SH EXIT STATUS")
    for status, words in _STATUS:
        lines += [".TP", status, _roff(words)]
    others = ["fcvi", *(f"fcvi-{other}" for other in NAMES)]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{_roff(other)}\\fR(1)" for other in others if other != name)]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    top = parser()
    helps = helps_of(top)
    found = {"fcvi.1": page("fcvi", "conformance suite for FC-VI", top)}
    for name, command in actions_of(top).items():
        found[f"fcvi-{name}.1"] = page(f"fcvi-{name}", phrase(helps[name]), command)
    return found


def _every() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with the words that call it."""
    for name, command in actions_of(parser()).items():
        yield name, command
        for below, its in actions_of(command).items():
            yield f"{name} {below}", its


#: What is offered for the value of an option, by its metavar or its name.
_OFFERED = {
    "SPEC": "ref exec: unix: tcp: fcoe: frames: api verbs ref:rev1 ref:vitcp vitcp:", "EXPR": "$(_fcvi_ids)",
    "--book": "fcvi rev1 vitcp vipl verbs", "--formats": ",".join(FORMATS) + " " + " ".join(FORMATS),
    "--agent": "exec: unix: tcp: manual",
}  # fmt: skip
#: Commands that take the id of a case as an argument.
_IDS = ("show",)


def bash() -> str:
    """Completion of commands, options and choices for bash; where a value is free, file names."""
    top = actions_of(parser())
    words, choices = [], []
    for name, command in _every():
        offered = [o for a in options_of(command) for o in a.option_strings if o.startswith("--")]
        offered += list(actions_of(command))
        words.append(f'    "{name}") words="{" ".join(offered)}" ;;')
        if name in _IDS:
            words[-1] = f'    "{name}") case $current in -*) words="{" ".join(offered)}" ;; *) words=$(_fcvi_ids) ;; esac ;;'
        for action in options_of(command):
            offer = _OFFERED.get(str(action.metavar if action.metavar in _OFFERED else action.option_strings[-1]))
            if offer and not action.choices:
                choices.append(f'    "{name} {action.option_strings[-1]}") words="{offer}" ;;')
            if action.choices:
                choices.append(f'    "{name} {action.option_strings[-1]}") words="{_value(action).replace("|", " ")}" ;;')
    nested = "|".join(name for name, its in top.items() if actions_of(its))
    return f"""# bash completion of fcvi, generated from its parser
_fcvi_ids() {{ # the ids of the cases, asked for once
  [ -n "$_fcvi_known" ] || _fcvi_known=$("${{COMP_WORDS[0]}}" list 2> /dev/null | sed 's/[ /].*//' | sort -u)
  echo $_fcvi_known
}}
_fcvi() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{' '.join(top)} --help --version" -- "$current")
    return
  fi
  case $command in
    {nested}) [ "$COMP_CWORD" -gt 2 ] && command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$command $before" in
{chr(10).join(choices)}
  esac
  if [ -z "$words" ]; then
    case $command in
{chr(10).join(words)}
    esac
    case $current in
      -*) ;;
      *) case " $words" in *" --"*) words=$(printf '%s\\n' $words | grep -v '^--') ;; esac
         [ -n "$words" ] || {{ mapfile -t COMPREPLY < <(compgen -f -- "$current"); return; }} ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o filenames -F _fcvi fcvi
"""


def _zsh_words(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text.replace("'", "").replace("\n", " "))


def zsh() -> str:
    """The same for zsh, which shows the help of each option."""
    top = parser()
    helps = helps_of(top)
    described = "\n".join(f"    '{name}:{_zsh_words(helps[name])}'" for name in actions_of(top))
    cases = []
    for name, command in actions_of(top).items():
        parts = [command, *actions_of(command).values()]
        specs = []
        for action in (a for part in parts for a in options_of(part)):
            value = f":{_zsh_words(_value(action))}:" if action.nargs != 0 else ""
            offer = _OFFERED.get(str(action.metavar if action.metavar in _OFFERED else action.option_strings[-1]), "")
            offer = "_fcvi_ids" if "_fcvi_ids" in offer else f"({_zsh_words(offer)})" if offer else ""
            value += f"({' '.join(map(str, action.choices))})" if action.choices else offer or "_files" if value else ""
            specs += [f"'{option}[{_zsh_words(_help(action))}]{value}'" for option in action.option_strings]
        actions = f"'1:action:({' '.join(actions_of(command))})' " if actions_of(command) else ""
        rest = "'*:case:_fcvi_ids'" if name in _IDS else "'*:file:_files'"
        cases.append(f"    {name}) _arguments {actions}{' '.join(dict.fromkeys(specs))} {rest} ;;")
    return f"""#compdef fcvi
# zsh completion of fcvi, generated from its parser
_fcvi_ids() {{
  compadd -- ${{(f)"$(fcvi list 2> /dev/null | sed 's/[ /].*//' | sort -u)"}}
}}
_fcvi() {{
  local -a commands
  commands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{chr(10).join(cases)}
  esac
}}
_fcvi "$@"
"""


_AGENTS = {
    "fcvi-agent": "upper tester: VIPL calls over the DUT protocol",
    "fcvi-verbs-agent": "upper tester: RDMA verbs over the DUT protocol",
}


def agent(name: str, words: str) -> str:
    """The manual page of an upper tester, from its --help: the synopsis, then what the options mean."""
    synopsis, _, rest = words.partition("\n")
    head, _, statuses = rest.partition("Exit status: ")
    lines = [f'.TH "{name.upper()}" 1 "" "fcvi {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"{_roff(name)} \\- {_AGENTS[name]}"]
    lines += [".SH SYNOPSIS", _roff(synopsis.removeprefix("usage: ")), ".SH DESCRIPTION", ".nf", _roff(head.rstrip("\n")), ".fi"]
    lines += [".SH EXIT STATUS", _roff(" ".join(statuses.split()))]
    lines += [".SH SEE ALSO", "\\fBfcvi\\fR(1), \\fBfcvi\\-run\\fR(1)"]
    return "\n".join(lines) + "\n"


def main(out: Path, upper_testers: list[Path]) -> int:
    """Write everything under out."""
    (out / "man1").mkdir(parents=True, exist_ok=True)
    made = pages()
    for tester in upper_testers:
        said = subprocess.run([tester.resolve(), "--help"], capture_output=True, text=True, check=True, timeout=10).stdout
        made[f"{tester.name}.1"] = agent(tester.name, said)
    for name, text in made.items():
        (out / "man1" / name).write_text(text, encoding="utf-8")
    (out / "fcvi.bash").write_text(bash(), encoding="utf-8")
    (out / "_fcvi").write_text(zsh(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print("usage: manual.py OUT AGENT...", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]), [Path(word) for word in sys.argv[2:]]))
