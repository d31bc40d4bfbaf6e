"""The bill of materials of a build, as SPDX 2.3 in JSON: which packages of Debian the suite is built from, tested with and runs on.

``make sbom`` writes build/fcvi.spdx.json. The names come from ./bootstrap, the versions from dpkg; a package that is not installed
here has none. Two builds of one commit on one system give equal bytes: the time is that of the commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[2]
_RELATIONS = {"build": "BUILD_DEPENDENCY_OF", "check": "TEST_DEPENDENCY_OF", "runtime": "RUNTIME_DEPENDENCY_OF"}


def packages(bootstrap: str, container: str) -> dict[str, str]:
    """Names and what each is for: build, check or runtime; the last wins, for users meet it."""
    found = {}
    for kind in ("build", "check"):
        listed = re.search(rf'^{kind}_packages="\n(.*?)"$', bootstrap, re.MULTILINE | re.DOTALL)
        if listed is None:
            raise ValueError(f"bootstrap has no {kind}_packages")
        found.update({line.partition(":")[0]: kind for line in listed[1].splitlines()})
    wanted = re.search(r"--no-install-recommends install \\\n((?:.*\\\n)+)", container)
    if wanted is None:
        raise ValueError("the Containerfile installs nothing")
    found.update({name: "runtime" for name in re.findall(r"[a-z0-9][a-z0-9+.-]+", wanted[1].replace("\\", " ").partition("&&")[0])})
    return found


def versions(names: list[str]) -> dict[str, tuple[str, str]]:
    """Version and architecture of each package that is installed."""
    form = "${binary:Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n"
    done = subprocess.run(["dpkg-query", "-W", "-f", form, *names], capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name.partition(":")[0]: (version, of) for name, version, of, status in rows if status.startswith("ii")}


def _entry(name: str, has: Optional[tuple[str, str]]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}", "name": name, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "supplier": "Organization: Debian", "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
    }  # fmt: skip
    if has is not None:
        version, of = has
        locator = f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={of}"
        entry["versionInfo"] = version
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ]
    return entry


def document(version: str, licence: str, commit: str, moment: int, root: Path) -> dict[str, Any]:
    """The document. Raises ValueError, OSError."""
    kinds = packages((root / "bootstrap").read_text(), (root / "harness/pipeline/Containerfile").read_text())
    have = versions(sorted(kinds))
    entries = [_entry(name, have.get(name)) for name in sorted(kinds)]
    suite = {
        "SPDXID": "SPDXRef-fcvi", "name": "fcvi", "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
    }  # fmt: skip
    if commit:
        suite["sourceInfo"] = f"commit {commit}"
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-fcvi"}]
    for entry in entries:
        kind = _RELATIONS[kinds[entry["name"]]]
        relations.append({"spdxElementId": entry["SPDXID"], "relationshipType": kind, "relatedSpdxElement": "SPDXRef-fcvi"})
    name = hashlib.sha256(json.dumps([suite, entries], sort_keys=True).encode()).hexdigest()
    created = datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"fcvi-{version}",
        "documentNamespace": f"urn:sha256:{name}", "creationInfo": {"created": created, "creators": ["Tool: fcvi-sbom"]},
        "packages": [suite, *entries], "relationships": relations,
    }  # fmt: skip


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> None:
    """Write it."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--version", required=True)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    commit = _git("rev-parse", "HEAD")
    moment = int(_git("log", "-1", "--format=%ct") or 0)
    licence = "Apache-2.0" if "Apache License" in (ROOT / "LICENSE").read_text()[:200] else "NOASSERTION"
    args.out.write_text(json.dumps(document(args.version, licence, commit, moment, ROOT), indent=1) + "\n")


if __name__ == "__main__":
    main()
