# The catalogue, the monitor (inside libfcvi) and the explorer of interleavings.

MONITOR_SRC := $(filter-out conformance/monitor/tests/%,$(wildcard conformance/monitor/*/*.c conformance/monitor/src/*/*.c))
EXPLORE_SRC := $(wildcard conformance/explore/*.c)
TEST_SRC += $(wildcard conformance/monitor/tests/test_*.c)
PUBLIC_HEADERS += $(wildcard conformance/monitor/include/fcvi/*)
EXPLORE_OBJ := $(call objects,$(BUILD)/obj,$(EXPLORE_SRC))

# for `fcvi explore`
$(BUILD)/fcvi-explore: $(EXPLORE_OBJ) $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) $(LDFLAGS) $^ $(LIBS) -o $@

breaches: all ## lint against captures with one breach each and 2,000 conforming sessions, made from the standard alone
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m conformance.tests.breaches.judge --detail --sessions 2000

faults: all ## the suite against a broken device for every requirement; the matrix is in build/faults
	$(IN_TREE) -m conformance.tests.bank --out $(BUILD)/faults

.PHONY: proofs-calls
proofs-calls: all ## each check of a book of calls against the providers that follow from it (BOOK=vipl or verbs, CASE=VIPL.S*)
	$(IN_TREE) -m conformance.call_proofs $(or $(BOOK),vipl) $(if $(CASE),--case '$(CASE)') --afresh

variants: all ## the suite against 1,000 conforming devices that choose by seed what the standard leaves open
	$(IN_TREE) -m conformance.tests.variants

check-docs: all ## CONFORMANCE.md and the page of each book are what the generator writes
	$(IN_TREE) -m conformance.gen_conformance --check
