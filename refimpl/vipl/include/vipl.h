/* The VI Provider Library: the 41 calls of the VI Architecture Developer's Guide (VI-DG) 1.0 by their own
 * names. A program needs this header only; it is self-contained, for C and for C++.
 *
 * What a program may count on beyond the guide:
 * - Notify and error handlers run one at a time, in a thread of the library's (VI-DG 3.5.12), so that they
 * may take what a thread of the program's has locked around a call. Where a host has no such thread they run
 *   inside a VIPL call of the same NIC (any call, also of another open of it). A handler may make VIPL calls.
 * - Handles are numbers in pointer's clothing: one that was destroyed, or never given out, is found out and
 *   gives VIP_INVALID_PARAMETER.
 * - A zero-length data segment is not checked: its handle and address may be anything.
 * - A discriminator has up to MaxDiscriminatorLen bytes. FC-VI has none of less than 16 (clause 7.2): one
 * that is shorter has zeros behind it on the wire, unless the NIC is told to refuse it.
 * - CS.Next and CS.NextHandle of a Descriptor are neither read nor written.
 */
#ifndef VIPL_H
#define VIPL_H

#include <fcvi/vip_codes.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types (VI-DG 4.1) ----
 *
 * VIP_ULONG has the 32 bits that unsigned long had where the guide was written. A program that has
 * `unsigned long` itself where the guide says VIP_ULONG needs the other width: it is compiled with -DVIPL64
 * and linked with -lvipl64. Each call has another name in that library, so that a program and a library of
 * different widths do not link. */

#ifdef VIPL64
#include <fcvi/vipl64.h>
#endif

/* Programs that say VIPL095 write their own functions with these. */
#ifdef VIPL095
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#endif

typedef void *VIP_PVOID;
typedef int VIP_BOOLEAN;
typedef char VIP_CHAR;
typedef unsigned char VIP_UCHAR;
typedef unsigned short VIP_USHORT;
#ifdef VIPL64
typedef unsigned long VIP_ULONG;
#else
typedef uint32_t VIP_ULONG;
#endif
typedef uint64_t VIP_UINT64;
typedef uint32_t VIP_UINT32;
typedef uint16_t VIP_UINT16;
typedef uint8_t VIP_UINT8;

#define VIP_TRUE (1)
#define VIP_FALSE (0)

typedef VIP_PVOID VIP_NIC_HANDLE;
typedef VIP_PVOID VIP_VI_HANDLE;
typedef VIP_PVOID VIP_CQ_HANDLE;
typedef VIP_PVOID VIP_CONN_HANDLE;
typedef VIP_PVOID VIP_PROTECTION_HANDLE;
typedef VIP_UINT32 VIP_MEM_HANDLE; /* 32 bits of a Descriptor (VI-DG 5.2) */

typedef VIP_PVOID VIP_QOS; /* NULL, or the provider's struct fcvi_vipl_qos (fcvi/vipl_host.h) */

/** Time-outs are in milliseconds. What has more than 32 bits is as infinite as this. */
#define VIP_INFINITE 0xFFFFFFFFu

/** A Descriptor's address is a multiple of this many bytes. */
#define VIP_DESCRIPTOR_ALIGNMENT 64

/* ---- return codes (VI-DG 4.2) and error codes (VI-DG 4.4) ---- */

typedef enum fcvi_vip VIP_RETURN;
typedef enum fcvi_vip_error VIP_ERROR_CODE;

typedef enum _VIP_RESOURCE_CODE {
    VIP_RESOURCE_NIC,
    VIP_RESOURCE_VI,
    VIP_RESOURCE_CQ,
    VIP_RESOURCE_DESCRIPTOR
} VIP_RESOURCE_CODE;

/* ---- Descriptors (VI-DG 4.3, 5): little-endian, 64-byte aligned, in one registered region ---- */

typedef union {
    VIP_UINT64 AddressBits;
    VIP_PVOID Address;
} VIP_PVOID64;

typedef struct {
    VIP_PVOID64 Next;
    VIP_MEM_HANDLE NextHandle;
    VIP_UINT16 SegCount; /* segments after this one, the address segment included */
    VIP_UINT16 Control;
    VIP_UINT32 Reserved;
    VIP_UINT32 ImmediateData;
    VIP_UINT32 Length; /* bytes */
    VIP_UINT32 Status;
} VIP_CONTROL_SEGMENT;

typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    VIP_UINT32 Length; /* bytes */
} VIP_DATA_SEGMENT;

typedef union {
    VIP_ADDRESS_SEGMENT Remote;
    VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/** Further segments follow in memory: a Descriptor has 32 + 16 * SegCount bytes. Control and Data are what
 * programs of Giganet's header call its parts. */
typedef struct _VIP_DESCRIPTOR {
    union {
        VIP_CONTROL_SEGMENT CS, Control;
    };
    union {
        VIP_DESCRIPTOR_SEGMENT DS[2], Data[2];
    };
} VIP_DESCRIPTOR;

#define VIP_CONTROL_OP_SENDRECV 0x0000
#define VIP_CONTROL_OP_RDMAWRITE 0x0001
#define VIP_CONTROL_OP_RDMAREAD 0x0002
#define VIP_CONTROL_OP_RESERVED 0x0003
#define VIP_CONTROL_OP_MASK 0x0003
#define VIP_CONTROL_IMMEDIATE 0x0004
#define VIP_CONTROL_QFENCE 0x0008
#define VIP_CONTROL_RESERVED 0xFFF0

#define VIP_STATUS_DONE 0x00000001u
#define VIP_STATUS_FORMAT_ERROR 0x00000002u
#define VIP_STATUS_PROTECTION_ERROR 0x00000004u
#define VIP_STATUS_LENGTH_ERROR 0x00000008u
#define VIP_STATUS_PARTIAL_ERROR 0x00000010u
#define VIP_STATUS_DESC_FLUSHED_ERROR 0x00000020u
#define VIP_STATUS_TRANSPORT_ERROR 0x00000040u
#define VIP_STATUS_RDMA_PROT_ERROR 0x00000080u
#define VIP_STATUS_REMOTE_DESC_ERROR 0x00000100u
#define VIP_STATUS_ERROR_MASK 0x000001FEu
#define VIP_STATUS_OP_SEND 0x00000000u
#define VIP_STATUS_OP_RECEIVE 0x00010000u
#define VIP_STATUS_OP_RDMA_WRITE 0x00020000u
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE 0x00030000u
#define VIP_STATUS_OP_RDMA_READ 0x00040000u
#define VIP_STATUS_OP_MASK 0x00070000u
#define VIP_STATUS_IMMEDIATE 0x00080000u
#define VIP_STATUS_RESERVED 0xFFF0FE00u

/** OpCode has the VIP_STATUS_OP_ value of the operation, 0 when the error belongs to none. */
typedef struct {
    VIP_NIC_HANDLE NicHandle;
    VIP_VI_HANDLE ViHandle;
    VIP_CQ_HANDLE CQHandle;
    VIP_DESCRIPTOR *DescriptorPtr;
    VIP_ULONG OpCode;
    VIP_RESOURCE_CODE ResourceCode;
    VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

/* ---- attributes (VI-DG 4.5 to 4.9) ---- */

typedef VIP_USHORT VIP_RELIABILITY_LEVEL;
#define VIP_SERVICE_UNRELIABLE 0x01
#define VIP_SERVICE_RELIABLE_DELIVERY 0x02
#define VIP_SERVICE_RELIABLE_RECEPTION 0x04

typedef struct {
    VIP_CHAR Name[64];
    VIP_ULONG HardwareVersion;
    VIP_ULONG ProviderVersion;
    VIP_UINT16 NicAddressLen;
    const VIP_UINT8 *LocalNicAddress; /* valid until VipCloseNic */
    VIP_BOOLEAN ThreadSafe;
    VIP_UINT16 MaxDiscriminatorLen;
    VIP_ULONG MaxRegisterBytes;
    VIP_ULONG MaxRegisterRegions;
    VIP_ULONG MaxRegisterBlockBytes;
    VIP_ULONG MaxVI;
    VIP_ULONG MaxDescriptorsPerQueue;
    VIP_ULONG MaxSegmentsPerDesc; /* the address segment included */
    VIP_ULONG MaxCQ;
    VIP_ULONG MaxCQEntries;
    VIP_ULONG MaxTransferSize;
    VIP_ULONG NativeMTU;
    VIP_ULONG MaxPtags;
    VIP_RELIABILITY_LEVEL ReliabilityLevelSupport;
    VIP_RELIABILITY_LEVEL RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

/** QoS as returned points to memory of the provider's: of the VI (VipQueryVi, and the remote attributes of a
 * connection; until its next connect call or its end) or of the connection handle (VipConnectWait). */
typedef struct {
    VIP_RELIABILITY_LEVEL ReliabilityLevel;
    VIP_ULONG MaxTransferSize;
    VIP_QOS QoS;
    VIP_PROTECTION_HANDLE Ptag; /* NULL in remote attributes */
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

typedef struct {
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef enum { VIP_STATE_IDLE, VIP_STATE_CONNECTED, VIP_STATE_CONNECT_PENDING, VIP_STATE_ERROR } VIP_VI_STATE;

/** HostAddress: the host address, then the discriminator; 4 + HostAddressLen + DiscriminatorLen bytes. */
typedef struct {
    VIP_UINT16 HostAddressLen;
    VIP_UINT16 DiscriminatorLen;
    VIP_UINT8 HostAddress[1];
} VIP_NET_ADDRESS;

#define VIP_SMI_AUTODISCOVERY ((VIP_ULONG)1)

typedef struct {
    VIP_ULONG NumberOfHops;
    VIP_NET_ADDRESS **ADAddrArray;
    VIP_ULONG NumAdAddrs; /* in: places; out: addresses found, or with VIP_ERROR_RESOURCE places needed */
} VIP_AUTODISCOVERY_LIST;

/* ---- hardware connection (VI-DG 3.1) ---- */

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle);
/** Ends everything of this open; waits until its connections are disconnected. */
VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);

/* ---- endpoints (VI-DG 3.2) ---- */

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs, VIP_CQ_HANDLE SendCQHandle,
                       VIP_CQ_HANDLE RecvCQHandle, VIP_VI_HANDLE *ViHandle);
VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle);

/* ---- connections (VI-DG 3.3) ---- */

/** RemoteAddr has room for 4 + NicAddressLen + MaxDiscriminatorLen bytes. */
VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle);
VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle);
VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle);
VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr, VIP_NET_ADDRESS *RemoteAddr,
                             VIP_ULONG Timeout, VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle);
VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                                 VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout);
VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs);

/* ---- memory (VI-DG 3.4) ---- */

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag);
VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag);
VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemoryHandle);
VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_MEM_HANDLE MemoryHandle);

/* ---- data transfer and completion (VI-DG 3.5) ---- */

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                     VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
                         void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
                         void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, VIP_PVOID Context,
                       void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                       VIP_BOOLEAN RecvQueue));

/* ---- completion queues (VI-DG 3.6) ---- */

/** An entry that finds the queue full is lost. */
VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle);
VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle);
/** VIP_ERROR_RESOURCE when more entries are in the queue than it shall hold. */
VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount);

/* ---- information (VI-DG 3.7) ---- */

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs);
VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *ViAttribs);
VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty);
VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address, VIP_MEM_HANDLE MemHandle,
                               VIP_MEM_ATTRIBUTES *MemAttribs);
VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address, VIP_MEM_HANDLE MemHandle,
                       VIP_MEM_ATTRIBUTES *MemAttribs);
VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType, VIP_PVOID SysManInfo);

/* ---- errors (VI-DG 3.8) ---- */

/** Without a handler each error is one line on the standard error stream. */
VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
                            void (*Handler)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc));

/* ---- name service (VI-DG 3.9) ---- */

/** NSInitInfo: NULL for the names that the host of the NIC gave, or the name of a file with lines of an IP
 * address and one or more names; # begins a comment. */
VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, VIP_PVOID NSInitInfo);
/** HostAddressLen of Address is the room for the host address; 0: there is enough. */
VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, VIP_CHAR *Name, VIP_NET_ADDRESS *Address,
                              VIP_ULONG NameIndex);
VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *Address, VIP_CHAR *Name,
                              VIP_ULONG *NameLen);
VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle);

#ifdef __cplusplus
}
#endif

#endif
