"""The devices of proofs.tsv in words: a certifier reads them who knows the standards and not the tables of the suite."""

from __future__ import annotations

import re

import pytest

from conformance import register_all
from fcvi.engine.break_words import in_words
from fcvi.engine.breaks import understand
from fcvi.engine.catalogue import load_proofs
from fcvi.engine.protocol import registered

register_all()


@pytest.mark.parametrize("device, words", [
    ("out CONNECT_RQST#1 drop -", "does not send its first FCVI_CONNECT_RQST"),
    ("out CONNECT_RESP1#22 DH.Reason_Code= 65", "sends its 22nd FCVI_CONNECT_RESP1 with Reason_Code 41h"),
    ("out SEND_RQST DH.FCVI_MSG_ID^ 1", "sends each FCVI_SEND_RQST with FCVI_MSG_ID altered"),
    ("out BA_ACC#1 late 4000000", "sends its first BA_ACC 4 s late"),
    ("out FARP_REPLY#11 @60^ 1", "sends its 11th FARP_REPLY with byte 60 altered"),
    ("out DISCONNECT_RQST#1 exchange< CONNECT_RQST", "sends its first FCVI_DISCONNECT_RQST on the Exchange of FCVI_CONNECT_RQST"),
    ("out Connect~Accept#1 mtu^ 1", "sends its first Connect Accept with MTU Size altered"),
    ("say SEND_RESP~WRITE_RESP tester:6efe:ffff 1", "sends FCVI_SEND_RESP or FCVI_WRITE_RESP though nothing asks for it"),
    ("say Connect~Request d1 1799999", "sends Connect Request though nothing asks for it"),
    ("upon SEND_RQST#8 good -", "completes a Descriptor without an error when it receives the 8th FCVI_SEND_RQST"),
    ("upon VipCreateVi#1 opens -", "opens a TCP connection at the first VipCreateVi"),
    ("deaf CONNECT_RESP3 - -", "ignores any FCVI_CONNECT_RESP3"),
    ("never VipDisconnect#2 - -", "never returns from the second VipDisconnect"),
    ("member VipQueryVi#3 State VIP_STATE_IDLE>VIP_STATE_ERROR",
     "from the third VipQueryVi on tells VIP_STATE_ERROR where the state is VIP_STATE_IDLE"),
    ("done completion#1 none -", "never completes the first Descriptor"),
    ("stream tester#1 stays-open -", "never closes the tester's first TCP connection"),
    ("config r_a_tov_us - 10", "waits 10 % of R_A_TOV where it has to wait the whole"),
    ('answer VipCloseNic#1 return "VIP_NOT_DONE"', "answers the first VipCloseNic with VIP_NOT_DONE"),
    ('answer verbs.PollCq#3 wcs.1.status "SUCCESS"',
     "answers the third PollCq with SUCCESS as the status of the second Work Completion"),
    ("answer-from verbs.PollCq#4 wcs []", "answers the 4th PollCq with no Work Completion, and later ones"),
    ('nothing VipRecvDone#1 - {"return":"VIP_NOT_DONE","DescriptorPtr":null}',
     "answers the first VipRecvDone and each later one with VIP_NOT_DONE, no Descriptor"),
    ("asked-from verbs.ModifySrq#2 limit 9", "takes the second ModifySrq as if limit were 9, and later ones"),
    ("silent async - -", "never tells of any Asynchronous Event"),
    ("fault far:write-total-frames - -", 'has the fault "write total frames"'),
])
def test_a_device_in_words(device: str, words: str) -> None:
    assert in_words(understand(device)) == words


@pytest.mark.parametrize("book", [protocol.book for protocol in registered()])
def test_every_device_of_a_book_has_words(book: str) -> None:
    program = re.compile(r"None|True|False|[\"'_]us\b|#|~|\^|==|\bdict\b|\bverbs\.|\bmem\.|  ")
    protocol = next(p for p in registered() if p.book == book)
    told = {one.device: in_words(understand(one.device)) for one in load_proofs([protocol]) if one.device}
    assert told and {device: words for device, words in told.items() if program.search(words) or len(words) > 250} == {}
