# The catalogue, the monitor (inside libfcvi) and the explorer of interleavings.

MONITOR_SRC := $(filter-out conformance/monitor/tests/%,$(wildcard conformance/monitor/*/*.c conformance/monitor/src/*/*.c))
EXPLORE_SRC := $(wildcard conformance/explore/*.c)
TEST_SRC += $(wildcard conformance/monitor/tests/test_*.c)
PUBLIC_HEADERS += $(wildcard conformance/monitor/include/fcvi/*)
EXPLORE_OBJ := $(call objects,$(BUILD)/obj,$(EXPLORE_SRC))

# for `fcvi explore`
$(BUILD)/fcvi-explore: $(EXPLORE_OBJ) $(BUILD)/libfcvi.a
	$(call say,linking $@)
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) $(LDFLAGS) $^ $(LIBS) -o $@

breaches: all ## lint against captures with one breach each and 2,000 conforming sessions, made from the standard alone
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m conformance.tests.breaches.judge --detail --sessions 2000

faults: all ## the suite against a broken device for every requirement; the matrix is in build/faults
	$(IN_TREE) -m conformance.tests.bank --out $(BUILD)/faults

PROOFS_ARGS = $(if $(BOOK),--book $(BOOK)) $(if $(CASE),--case '$(CASE)')
.PHONY: proofs
proofs: all ## each check of a book against the devices that follow from it (BOOK=fcvi CASE=5.3.*); without BOOK those of the three wires; build/proofs.tsv
	$(IN_TREE) -m conformance.proofs --out $(BUILD)/proofs.tsv $(PROOFS_ARGS)

variants: all ## the suite against 1,000 conforming devices that choose by seed what the standard leaves open
	$(IN_TREE) -m conformance.tests.variants

check-docs: all ## CONFORMANCE.md and the page of each book are what the generator writes
	$(IN_TREE) -m conformance.gen_conformance --check
