# Mutants of codec, refimpl and the monitor. Everything stands on a shared libfcvi, so that one library with one changed object
# serves every program: as it is, with coverage (which program runs which line) and with sanitizers.

MUT := $(BUILD)/mut
MUT_CC = $(CC) -std=c11 -D_DEFAULT_SOURCE -DFCVI_INTERNALS_IN_SIGHT $(ASSERTS) -fPIC -w $(INCLUDES) $(MUT_DIALECT)
$(eval $(call variant,$(MUT)/plain,$$(MUT_CC) -O1))
$(eval $(call variant,$(MUT)/cov,$$(MUT_CC) -O0 --coverage))
$(eval $(call variant,$(MUT)/san,$$(MUT_CC) $$(SANITIZE) -g0))
# of the fuzz targets only: a mutant is compiled as C11 too
$(MUT)/plain/fuzz/%.o: private MUT_DIALECT := -std=gnu11 -Ifuzz -Iharness/mutator

define mut_library
$(MUT)/$(1)/libfcvi.so: $(call objects,$(MUT)/$(1),$(LIB_SRC))
	$$(CC) -shared $(2) -Wl,-Bsymbolic -Wl,-soname,libfcvi.so $$^ $$(LIBS) -o $$@
endef
$(eval $(call mut_library,plain,))
$(eval $(call mut_library,cov,--coverage))
$(eval $(call mut_library,san,$(SANITIZE)))

MUT_LINK := -L$(MUT)/plain -lfcvi $(LIBS)
$(MUT)/unit/harness/mutator/%: $(MUT)/plain/harness/mutator/%.o $(call objects,$(MUT)/plain,$(MUTATOR_SRC)) $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(CC) $(filter %.o,$^) $(MUT_LINK) $$(pkg-config --libs check) -o $@
$(MUT)/unit/%: $(MUT)/plain/%.o $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(CC) $< $(MUT_LINK) $$(pkg-config --libs check) -o $@
$(MUT)/vipl/%: $(MUT)/plain/%.o $(call objects,$(MUT)/plain,$(VIPL_TEST_PARTS)) $(call objects,$(BUILD)/obj,$(VIPL_SRC)) $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(CC) $(filter %.o,$^) $(MUT_LINK) $$(pkg-config --libs check) -lpthread -o $@
$(MUT)/fuzz/%: $(MUT)/plain/fuzz/fuzz_%.o $(MUT)/plain/fuzz/replay.o $(CAPTURE_OBJ) $(BUILD)/libvipl.a $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(CC) $(filter %.o,$^) $(BUILD)/libvipl.a $(MUT_LINK) -lpcap -ljansson -lpthread -o $@
$(MUT)/fcvi-explore: $(EXPLORE_OBJ) $(MUT)/plain/libfcvi.so
	$(CC) $(EXPLORE_OBJ) $(MUT_LINK) -o $@
$(MUT)/python/.built: harness/ffi/build.py $(MUT)/plain/libfcvi.so $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi-sandbox.a $(BUILD)/libfcvi-mutator.a
	$(PYTHON) harness/ffi/build.py --build $(BUILD) --shared $(MUT)/plain --out $(@D)
	@touch $@
# it calls no library of ours, so that of the build serves
$(MUT)/python/libfcvi-streams.so: $(STREAMS)
	@mkdir -p $(@D)
	cp $< $@
$(MUT)/fuzz/reassembly: | $(MUT)/python/libfcvi-streams.so
$(MUT)/fcvi: $(MUT)/python/.built $(MUT)/python/libfcvi-streams.so
	printf '#!/bin/sh\nexport LD_LIBRARY_PATH="$${LD_LIBRARY_PATH:-%s}"\nPYTHONPATH=%s exec $(PYTHON) -m conformance "$$@"\n' \
	  '$(CURDIR)/$(MUT)/plain' '$(CURDIR)/$(MUT)/python:$(CURDIR)/harness:$(CURDIR)' > $@
	chmod 755 $@

MUT_TESTS := $(patsubst %.c,$(MUT)/unit/%,$(TEST_SRC) $(MUTATOR_TEST_SRC)) $(patsubst %.c,$(MUT)/vipl/%,$(VIPL_TEST_SRC))
MUT_REPLAYS := $(patsubst fuzz/fuzz_%.c,$(MUT)/fuzz/%,$(FUZZ_SRC))
MUT_LIBS := $(foreach kind,plain cov san,$(MUT)/$(kind)/libfcvi.so)
MUT_EVERYTHING := $(MUT_LIBS) $(MUT_TESTS) $(MUT_REPLAYS) $(MUT)/fcvi-explore $(MUT)/fcvi $(MUT)/python/.built

MUTANTS ?= 0
MUTANTS_ARGS ?=
mutants: $(MUT_EVERYTHING) ## source mutants of codec, refimpl and the monitor against all that check runs in seconds (MUTANTS=N: a sample); build/mutants.txt
	PYTHONPATH=harness:. $(PYTHON) -m conformance.tests.mutants --sample $(MUTANTS) --results $(BUILD)/mutants.tsv --out $(BUILD)/mutants.txt $(MUTANTS_ARGS)

MUTANTS_SUITE_ARGS ?=
.PHONY: mutants-suite
mutants-suite: all $(TEST_PROGRAMS) ## 80 seeded mutants of the suite's own Python against the tests that run their lines; build/mutants-suite.tsv
	$(IN_TREE) -m conformance.tests.suite_mutants $(MUTANTS_SUITE_ARGS)
