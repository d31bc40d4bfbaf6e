"""FC-VI Rev 1.0, the working draft of 1999: an edition of FC-VI, told by its differences from that of 2007."""
