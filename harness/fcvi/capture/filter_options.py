"""The options --filter and --fields of the commands that show frames. They load nothing."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def add_options(parser: "Any", what: str) -> None:
    """Register them. what: is shown."""
    parser.add_argument(
        "--filter", metavar="COND", action="append", default=[],
        help=f"Show only {what} of which COND holds: 'iu == CONNECT_RESP1 and Reason_Code == 20h'; of several all have to hold.",
    )  # fmt: skip
    parser.add_argument(
        "--fields", metavar="A,B,C", help="Show these fields, by the names of the field table: S_ID,D_ID,FCVI_MSG_ID.",
    )  # fmt: skip
