"""Joins the report directories of the shards of one run: their evidence becomes that of one run, which is judged anew.

Every part has to have the cases of its shard, and all have to be about one item, tested by one laboratory with one suite.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from fcvi.engine import evidence
from fcvi.engine.case import load_cases
from fcvi.engine.files import FileError, damage, encoded, parse_json
from fcvi.engine.folder import Folder, open_report
from fcvi.engine.protocol import put_in_force
from fcvi.engine.rejudge import strayed
from fcvi.engine.strict import twice
from fcvi.engine.target import recorded

#: What has to be the same in every part, and how it is called in a message.
_SAME = {
    "suite": "version of the suite", "seed": "seed", "certification": "command (run or certify)", "deviations": "known deviations",
    "given": "options", "select": "selection", "lab": "laboratory ([lab])", "item": "item ([item])",
    "commit": "commit of the suite", "against": "device at the far side",
}  # fmt: skip
_RUN = f"{evidence.FOLDER}/{evidence.RUN}"
_MOST_MISSING = 12  # parts that are named


def _same(parts: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    first, head = parts[0]
    for path, run in parts[1:]:
        differing = [what for name, what in _SAME.items() if run.get(name) != head.get(name)]
        of_device = ("implementation", "version", "clock", "pics")
        differing += [f"{name} of the device" for name in of_device if run["dut"][name] != head["dut"][name]]
        if recorded(run, path) is not recorded(head, first):
            differing.append("book")
        if _settled(run["pixit"]) != _settled(head["pixit"]):
            differing.append("PIXIT")
        if differing:
            raise FileError(f"{path}: not a part of the same run as {first}: another {', another '.join(differing)}")


def _settled(pixit: dict[str, Any]) -> dict[str, Any]:
    """Without what was measured of the host."""
    return {name: value for name, value in pixit.items() if name != "jitter_us"}


def _complete(parts: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Every part is there once. A part that is missing would be a silent gap."""
    total = parts[0][1].get("shard", [1, 1])[1]
    numbers: dict[int, Path] = {}
    for path, run in parts:
        number, of = run.get("shard", [1, 1])
        if of != total or total == 1 or not 1 <= number <= of:
            what = "it is a whole run" if of == 1 else f"it is part {number} of {of}"
            raise FileError(f"{path}: {what}, not a part of {'one that was shared out' if total == 1 else total}")
        if number in numbers:
            raise FileError(f"{path}: part {number} of {of}, as {numbers[number]} is")
        if run.get("unattached") or run.get("error"):
            raise FileError(f"{path}: nothing ran there: {str(run.get('error'))[:200]}")
        numbers[number] = path
    if len(numbers) < total:  # which a file says: it may be any number
        missing = [str(n) for n in range(1, min(total, len(numbers) + _MOST_MISSING) + 1) if n not in numbers]
        raise FileError(f"part {', '.join(missing)} of {total} is missing")


def _check(run: dict[str, Any]) -> None:
    """What of a part is used has the right kind. Raises KeyError, TypeError, ValueError or AttributeError."""
    shard = run.get("shard", [1, 1])
    if not (isinstance(shard, list) and len(shard) == 2 and all(type(n) is int for n in shard)):
        raise ValueError("shard is no pair of numbers")
    for name in ("implementation", "version", "clock", "pics", "attachment"):
        run["dut"][name]  # pylint: disable=pointless-statement
    if not isinstance(run["pixit"], dict):
        raise ValueError("pixit is no object")
    if not all(isinstance(case, dict) and isinstance(case["id"], str) for case in run["cases"]):
        raise ValueError("a case has no name")


def merge(stack: ExitStack, out: Path, directories: Sequence[Path]) -> Folder:
    """Write the evidence of the whole run into out, which must be new or empty, and keep it: it and the parts are open until the
    stack is, which takes back what was written when an exception ends it. What the parts waived counts again: whoever judges the
    whole names what does not. Raises FileError and OSError.
    """
    folders = [(path, stack.enter_context(open_report(path, _RUN))) for path in directories]
    parts = [(path, evidence.load_run(folder)) for path, folder in folders]
    for path, run in parts:
        try:
            _check(run)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"{path / evidence.FOLDER / evidence.RUN}: damaged: {damage(error)}") from error
    try:
        _complete(parts)
        _same(parts)
        run = _joined(parts)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{parts[0][0] / evidence.FOLDER / evidence.RUN} or another part: damaged: {damage(error)}") from error
    whole = stack.enter_context(Folder(out, ours=True))
    if whole.names():
        raise FileError(f"{out}: not empty; the joined report needs a directory of its own")

    def undo(kind: Optional[type[BaseException]], *_: object) -> None:
        """What an interrupt or a failure leaves would stand in the way of the same command."""
        if kind is not None:
            for name, _hash in list(whole.walk()):
                whole.remove(name)
            whole.remove_folder(evidence.FOLDER)

    stack.push(undo)
    logs = []
    for (_, folder), (_, part) in zip(folders, parts):
        for case in part["cases"]:
            if "not_run" not in case:
                name = f"{evidence.FOLDER}/{evidence.stem(case['id'])}.jsonl"
                whole.write(name, folder.read(name))
        logs.append(folder.read("dut.log") if "dut.log" in folder.names() else b"")
    whole.write("dut.log", b"".join(logs))
    whole.write(_RUN, encoded(json.dumps(run, indent=1) + "\n"))
    return whole


def _joined(parts: Sequence[tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    put_in_force(recorded(parts[0][1], parts[0][0]))
    for path, part in parts:
        for line in strayed(part, path):
            raise FileError(f"{path}: {line}")
    order = {ident: n for n, ident in enumerate(i for case in load_cases() for i in case.variant_ids())}
    cases = [case for _, run in parts for case in run["cases"]]
    double = twice(case["id"] for case in cases)
    if double is not None:
        raise FileError(f"{double} ran in two of the parts")
    run = dict(parts[0][1])
    jitter = max(int(part["pixit"].get("jitter_us", 0)) for _, part in parts)
    if jitter:
        run["pixit"] = {**run["pixit"], "jitter_us": jitter}
    run["dut"] = {**run["dut"], "attachment": "; ".join(dict.fromkeys(part["dut"]["attachment"] for _, part in parts))}
    run["date"] = min(part["date"] for _, part in parts)
    run["ended"] = max(str(part.get("ended", "")) for _, part in parts)
    run["host"] = "; ".join(dict.fromkeys(str(part.get("host", "")) for _, part in parts))
    run["waived"], run["baseline"] = {}, {}
    run["cases"] = sorted(cases, key=lambda case: order.get(case["id"], len(order)))
    run["shard"] = [1, 1]
    return run


def note_waived(folder: Folder, waived: Mapping[str, str], baseline: Mapping[str, Any]) -> None:
    """What does not count in the whole goes into its evidence. Raises FileError, OSError."""
    name = f"{evidence.FOLDER}/{evidence.RUN}"
    run = {**parse_json(folder.read(name), name), "waived": dict(waived), "baseline": dict(baseline)}
    folder.write(name, encoded(json.dumps(run, indent=1) + "\n"))
