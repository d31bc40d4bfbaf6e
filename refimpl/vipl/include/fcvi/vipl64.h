/* The names of the calls whose VIP_ULONG is `unsigned long`. vipl.h includes this for -DVIPL64; without that
 * it says nothing. */
#if defined VIPL64 && !defined FCVI_VIPL64_H
#define FCVI_VIPL64_H

#define VipOpenNic VipOpenNic64
#define VipCloseNic VipCloseNic64
#define VipCreateVi VipCreateVi64
#define VipDestroyVi VipDestroyVi64
#define VipConnectWait VipConnectWait64
#define VipConnectAccept VipConnectAccept64
#define VipConnectReject VipConnectReject64
#define VipConnectRequest VipConnectRequest64
#define VipDisconnect VipDisconnect64
#define VipConnectPeerRequest VipConnectPeerRequest64
#define VipConnectPeerDone VipConnectPeerDone64
#define VipConnectPeerWait VipConnectPeerWait64
#define VipCreatePtag VipCreatePtag64
#define VipDestroyPtag VipDestroyPtag64
#define VipRegisterMem VipRegisterMem64
#define VipDeregisterMem VipDeregisterMem64
#define VipPostSend VipPostSend64
#define VipSendDone VipSendDone64
#define VipSendWait VipSendWait64
#define VipPostRecv VipPostRecv64
#define VipRecvDone VipRecvDone64
#define VipRecvWait VipRecvWait64
#define VipCQDone VipCQDone64
#define VipCQWait VipCQWait64
#define VipSendNotify VipSendNotify64
#define VipRecvNotify VipRecvNotify64
#define VipCQNotify VipCQNotify64
#define VipCreateCQ VipCreateCQ64
#define VipDestroyCQ VipDestroyCQ64
#define VipResizeCQ VipResizeCQ64
#define VipQueryNic VipQueryNic64
#define VipSetViAttributes VipSetViAttributes64
#define VipQueryVi VipQueryVi64
#define VipSetMemAttributes VipSetMemAttributes64
#define VipQueryMem VipQueryMem64
#define VipQuerySystemManagementInfo VipQuerySystemManagementInfo64
#define VipErrorCallback VipErrorCallback64
#define VipNSInit VipNSInit64
#define VipNSGetHostByName VipNSGetHostByName64
#define VipNSGetHostByAddr VipNSGetHostByAddr64
#define VipNSShutdown VipNSShutdown64

#endif
