"""Times, numbers and commands as people read them. Every format of the report takes its words from here."""

from __future__ import annotations

import re
import shlex

from fcvi.engine.results import Finding, RunReport

_TIME = re.compile(r"(?<![\w.])(\d{4,}) us\b")
_LAST_TWO = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_NO_CHARACTERS = f"\ud800-\udfff\ufdd0-\ufdef{_LAST_TWO}"
_STRANGE = re.compile(rf"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069{_NO_CHARACTERS}]")
_CONTROLS = bytes(code for code in range(128) if _STRANGE.match(chr(code)))
_EXCHANGE = re.compile(r" on Exchange OX_ID [0-9A-F]{4}h of the \w+")
_SEE = re.compile(r" \(see frame \d+\)$")
_LONGEST_CHOICE = 300  # of an expression: --rerun-failed makes one of every case
_NUMBER = re.compile(r"\b(?:[0-9A-F]+h|0x[0-9a-f]+|\d+)\b")


def duration(us: int) -> str:
    """A time in seconds, or in milliseconds where that has fewer zeros."""
    if abs(us) < 1000:
        return f"{us} us"
    number, unit = (us / 1e6, "s") if abs(us) >= 1_000_000 else (us / 1e3, "ms")
    return f"{number:.6f}".rstrip("0").rstrip(".") + f" {unit}"


def harmless(text: str) -> str:
    """The text with control characters, those that turn the direction of writing, and what is no character at all (neither XML nor
    HTML may have it) as escapes: all of them are strangers'.
    """
    if text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text):
        return text  # a report is long, and has none as a rule
    return _STRANGE.sub(lambda match: ascii(match[0])[1:-1], text)


def timed(text: str) -> str:
    """A sentence in which long counts of microseconds are seconds."""
    return _TIME.sub(lambda found: duration(int(found[1])), text)


def anywhere(text: str) -> str:
    """A sentence without the Exchange and the frame that it names: they are others in each case."""
    return _SEE.sub("", _EXCHANGE.sub("", text))


def sorted_out(text: str) -> str:
    """A sentence without its numbers: what two cases with one cause have in common."""
    return _NUMBER.sub("#", timed(text))


def bits(finding: Finding) -> str:
    """The bits that a finding points at, behind a byte: " bits 7-4", " bit 20", or nothing."""
    high, _, low = (finding.bits or "").partition("-")
    return "" if not high else f" bit {high}" if high == low else f" bits {finding.bits}"


def where(finding: Finding) -> str:
    """The place that a finding points at: frame, byte, bits and time."""
    parts = []
    if finding.frame is not None:
        parts.append(f"frame {finding.frame}")
    if finding.byte is not None:
        parts.append(f"byte {finding.byte}{bits(finding)}")
    if finding.time_us is not None:
        parts.append(f"{duration(finding.time_us)} after the case began")
    return ", ".join(parts)


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: "1 case", "2 cases"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def far_breaches(report: RunReport) -> str:
    """What the frames of the device of --against broke, and where that device is judged; "" for nothing."""
    cases = [r for r in report.results if r.far]
    if not cases:
        return ""
    rules = list(dict.fromkeys(f.requirement for r in cases for f in r.far))
    told = ", ".join(rules[:5]) + (f" and {len(rules) - 5} more" if len(rules) > 5 else "")
    return f"the device of --against broke {told} in {plural(len(cases), 'case')}; a run with it as --dut judges it"


def chosen(select: str) -> str:
    """By what the cases were chosen; "" where every case of the book was to run."""
    expression = select if len(select) <= _LONGEST_CHOICE else select[:_LONGEST_CHOICE] + "..."
    return f"chosen by --select {shlex.quote(expression)}" if expression else ""


def again(report: RunReport, ident: str) -> str:
    """The command that runs this case again as it was run."""
    given = f" {requoted(report.given)}" if report.given else ""
    device, case = shlex.quote(report.attachment), shlex.quote(ident)
    return f"fcvi run --dut {device}{given} --seed {report.seed} --select {case} --report again"


def requoted(given: str) -> str:
    """Words of a command line as a shell takes them for words, whoever wrote them down."""
    try:
        return shlex.join(shlex.split(given))
    except ValueError:  # a quotation without an end
        return shlex.quote(given)
