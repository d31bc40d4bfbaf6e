"""The codes that the Developer's Guide (clause 3) and the Specification (clause 9) list for each call, both together.

VIP_ERROR_RESOURCE is taken from every call (G 4.2 names it for a conflict of resources), and VIP_INVALID_STATE from every call
on a VI. The codes that the errata take are in the lists, too.
"""

_ATTRIBUTES = "INVALID_PTAG INVALID_RDMAREAD"
_MATCHED = "INVALID_RELIABILITY_LEVEL INVALID_MTU INVALID_QOS"
_REACHED = "TIMEOUT NOT_REACHABLE"
_WORK = "NOT_DONE DESCRIPTOR_ERROR"
_NAMES = "ERROR_NAMESERVICE"
_OTHER = {
    "VipCreateVi": f"{_MATCHED} {_ATTRIBUTES}",
    "VipSetViAttributes": f"{_MATCHED} {_ATTRIBUTES}",
    "VipConnectWait": _REACHED,
    "VipConnectAccept": f"{_MATCHED} {_REACHED}",
    "VipConnectReject": f"{_REACHED}",
    "VipConnectRequest": f"{_REACHED} {_MATCHED} REJECT NO_MATCH",
    "VipConnectPeerRequest": f"{_REACHED}",
    "VipConnectPeerDone": f"NOT_DONE NO_MATCH REJECT {_REACHED} {_MATCHED}",
    "VipConnectPeerWait": f"NO_MATCH REJECT {_REACHED} {_MATCHED}",
    "VipDisconnect": "NOT_REACHABLE",
    "VipDestroyPtag": "INVALID_PTAG",
    "VipRegisterMem": _ATTRIBUTES,
    "VipSetMemAttributes": _ATTRIBUTES,
    "VipSendDone": _WORK,
    "VipRecvDone": _WORK,
    "VipSendWait": f"{_WORK} TIMEOUT",
    "VipRecvWait": f"{_WORK} TIMEOUT",
    "VipSendNotify": _WORK,
    "VipRecvNotify": _WORK,
    "VipCQDone": "NOT_DONE",
    "VipCQWait": "TIMEOUT",
    "VipCQNotify": "",
    "VipNSInit": _NAMES,
    "VipNSGetHostByName": _NAMES,
    "VipNSGetHostByAddr": _NAMES,
    "VipNSShutdown": _NAMES,
}
_EVERYWHERE = "SUCCESS INVALID_PARAMETER ERROR_RESOURCE INVALID_STATE"

#: Calls that the lists say nothing of beyond the codes that are everywhere.
_PLAIN = (
    "VipOpenNic VipCloseNic VipQueryNic VipErrorCallback VipCreatePtag VipDestroyVi VipQueryVi VipDeregisterMem VipQueryMem "
    "VipCreateCQ VipDestroyCQ VipResizeCQ VipPostSend VipPostRecv VipPostSendRaw VipPostRecvRaw VipQuerySystemManagementInfo"
)
CODES = {
    call: frozenset(f"VIP_{code}" for code in f"{_EVERYWHERE} {_OTHER.get(call, '')}".split())
    for call in [*_OTHER, *_PLAIN.split()]
}  # fmt: skip
