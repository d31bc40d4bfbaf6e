"""The contract of an attachment (engine/attachment.py), under the name by which the attachments know it."""

from __future__ import annotations

from fcvi.engine.attachment import (
    SETTLE_US, AttachError, Dut, DutError, HostError, NotReached, Notification, Reply, Unavailable, Unit,
)  # fmt: skip

__all__ = ["SETTLE_US", "AttachError", "Dut", "DutError", "HostError", "NotReached", "Notification", "Reply", "Unavailable", "Unit"]
