"""The calls that each phase of conformance adds to those of the first (G 2.2)."""

from __future__ import annotations

_FUNCTIONAL = frozenset((
    "VipConnectPeerRequest", "VipConnectPeerDone", "VipConnectPeerWait", "VipCQDone", "VipCQWait", "VipCreateCQ", "VipDestroyCQ",
    "VipResizeCQ", "VipCreatePtag", "VipDestroyPtag", "VipNSInit", "VipNSGetHostByName", "VipNSGetHostByAddr", "VipNSShutdown",
    "VipErrorCallback",
))  # fmt: skip
_FULL = frozenset((
    "VipSendNotify", "VipRecvNotify", "VipCQNotify", "VipSetViAttributes", "VipSetMemAttributes", "VipQuerySystemManagementInfo",
))  # fmt: skip
LACKING = {"Early Adopter": _FUNCTIONAL | _FULL, "Functional": _FULL, "Full": frozenset[str]()}
