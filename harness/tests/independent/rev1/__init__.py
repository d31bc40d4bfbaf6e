"""FC-VI Rev 1.0, the draft of 1999, written from the draft alone."""
