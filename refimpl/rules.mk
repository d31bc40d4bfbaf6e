# The reference port and its fabric (inside libfcvi), and the VIPL provider over it (libvipl).

PORT_SRC := $(wildcard refimpl/src/*/*.c)
VIPL_SRC := $(wildcard refimpl/vipl/src/*.c)
TEST_SRC += $(wildcard refimpl/tests/*/test_*.c)
VIPL_TEST_SRC := $(wildcard refimpl/vipl/tests/test_*.c)
VIPL_TEST_PARTS := $(filter-out $(VIPL_TEST_SRC),$(wildcard refimpl/vipl/tests/*.c))
PUBLIC_HEADERS += $(wildcard refimpl/include/fcvi/* refimpl/vipl/include/fcvi/*) refimpl/vipl/include/vipl.h

$(eval $(call archive,$(BUILD)/libvipl.a,$(call objects,$(BUILD)/obj,$(VIPL_SRC))))
$(eval $(call archive,$(BUILD)/san/libvipl.a,$(call objects,$(BUILD)/san/obj,$(VIPL_SRC))))

$(BUILD)/bench_port: refimpl/bench/bench_port.c refimpl/bench/pair.h $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libfcvi.a $(LIBS) -o $@
