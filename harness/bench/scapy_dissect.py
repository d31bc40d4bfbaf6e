"""Dissect the frames of a pcap file (linktype 225) with scapy: Frame_Header and Device_Header. Prints how many."""

from __future__ import annotations

import sys

from scapy.fields import ByteField, IntField, LongField, ShortField, X3BytesField
from scapy.packet import Packet, bind_layers
from scapy.utils import RawPcapReader


class FC2(Packet):  # type: ignore[misc]
    """Frame_Header (FC-FS)."""

    name = "FC2"
    fields_desc = [
        ByteField("r_ctl", 0), X3BytesField("d_id", 0), ByteField("cs_ctl", 0), X3BytesField("s_id", 0), ByteField("type", 0),
        X3BytesField("f_ctl", 0), ByteField("seq_id", 0), ByteField("df_ctl", 0), ShortField("seq_cnt", 0),
        ShortField("ox_id", 0), ShortField("rx_id", 0), IntField("parameter", 0),
    ]  # fmt: skip


class Device(Packet):  # type: ignore[misc]
    """Device_Header of 32 bytes (Table 4)."""

    name = "Device"
    fields_desc = [
        IntField("handle", 0), ByteField("opcode", 0), ByteField("flags", 0), ShortField("reserved", 0),
        IntField("msg_id", 0), IntField("parameter", 0), LongField("rmt_va", 0), IntField("rmt_va_handle", 0),
        IntField("tot_len", 0),
    ]  # fmt: skip


bind_layers(FC2, Device, type=0x58)
count = 0
for data, _ in RawPcapReader(sys.argv[1]):
    FC2(data[4:-8])
    count += 1
print(count)
