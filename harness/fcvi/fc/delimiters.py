"""SOF and EOF (FC-FS), by the names that the DUT protocol has for them."""

SOF_BY_NAME = {"i2": 0x2D, "n2": 0x35, "i3": 0x2E, "n3": 0x36}
NAME_BY_SOF = {code: name for name, code in SOF_BY_NAME.items()}
EOF_BY_NAME = {"n": 0x41, "t": 0x42, "ni": 0x49, "a": 0x50}
NAME_BY_EOF = {code: name for name, code in EOF_BY_NAME.items()}
