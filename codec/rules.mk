# The codec: encodes, decodes and checks frames. Uses nothing else of the project.

CODEC_SRC := $(wildcard codec/src/*/*.c)
TEST_SRC += $(wildcard codec/tests/test_*.c)
PUBLIC_HEADERS += $(wildcard codec/include/fcvi/*)

$(BUILD)/bench: codec/bench/bench.c $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libfcvi.a $(LIBS) -o $@
