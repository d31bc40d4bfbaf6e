"""Tests what a release brings along: the bill of materials, and shared libraries that say which of their kind they are."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from harness.release import sbom

from ..conftest import ROOT


def test_the_bill_of_materials() -> None:
    def made() -> str:
        subprocess.run(["make", "-s", "sbom"], cwd=ROOT, check=True, capture_output=True, timeout=60)
        return (ROOT / "build/fcvi.spdx.json").read_text()

    text = made()
    assert made() == text, "the same again"
    data = json.loads(text)
    assert (data["spdxVersion"], data["dataLicense"], data["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    idents = [p["SPDXID"] for p in data["packages"]]
    assert len(set(idents)) == len(idents) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", ident) for ident in idents)
    assert all(r["spdxElementId"] in (*idents, "SPDXRef-DOCUMENT") for r in data["relationships"])
    assert len(data["relationships"]) == len(idents)
    named = {p["name"]: p for p in data["packages"]}
    for line in re.findall(r"^([a-z0-9][a-z0-9+.-]+): ", (ROOT / "bootstrap").read_text(), re.MULTILINE):
        assert line in named
    gcc = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "gcc"], capture_output=True, text=True, check=True).stdout
    assert named["gcc"]["versionInfo"] == gcc
    assert named["gcc"]["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/gcc@")
    kinds = {r["spdxElementId"]: r["relationshipType"] for r in data["relationships"]}
    assert kinds["SPDXRef-libpcap0.8"] == "RUNTIME_DEPENDENCY_OF" and kinds["SPDXRef-tshark"] == "TEST_DEPENDENCY_OF"
    assert kinds["SPDXRef-gcc"] == "BUILD_DEPENDENCY_OF"


def test_the_packages_are_built_with_what_bootstrap_installs() -> None:
    listed = re.search(r'build_packages="(.*?)"', (ROOT / "bootstrap").read_text(), re.DOTALL)
    control = re.search(r"^Build-Depends:\n(.*?)^\S", (ROOT / "debian/control").read_text(), re.DOTALL | re.MULTILINE)
    assert listed and control
    # build-essential brings these along
    essential = {"gcc", "g++", "libc6-dev", "make"}
    wanted = set(re.findall(r"^([a-z0-9][a-z0-9+.-]+): ", listed[1], re.MULTILINE)) - essential
    assert wanted - set(re.findall(r"[a-z0-9][a-z0-9+.-]+", control[1])) == set()


def test_lists_that_are_not_there_are_told() -> None:
    with pytest.raises(ValueError, match="build_packages"):
        sbom.packages("", "")


@pytest.mark.parametrize("name", ["libfcvi", "libvipl", "libvipl64", "libfcvi-mutator"])
def test_shared_libraries_have_sonames(name: str) -> None:
    told = subprocess.run(["readelf", "-d", str(ROOT / f"build/{name}.so")], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"SONAME.*\[{re.escape(name)}\.so\.\d+\]", told)
