"""Every check proves itself: the devices that break just one check, made from the check, and what the suite says of them."""
