"""An FC-VI endpoint written from the standard alone."""
