# The fuzz targets: they link instrumented objects, and the mutator (harness/mutator) as a shared object that is not.

FUZZ_SRC := $(wildcard fuzz/fuzz_*.c)
FUZZ_SECONDS ?= 60
FUZZ_INCLUDES := $(INCLUDES) -Ifuzz -Iharness/mutator

FUZZ_LIB_SRC := $(LIB_SRC) $(VIPL_SRC) $(CAPTURE_SRC) fuzz/options.c
FUZZ_SANITIZE := -std=gnu11 -O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all $(ASSERTS) $(FUZZ_INCLUDES)
FUZZ_COVERAGE := -fsanitize-coverage=inline-8bit-counters,pc-table
# What the engine does with each counter costs more than a check of the codec: blocks rather than edges, no copies of blocks (-O1),
# and sanitizers that end the run by an option (fuzz/options.c) rather than by a jump that makes more blocks. Of the frame target itself only
# that it was called: what it asks of the codec's answer is no coverage.
FUZZ_CODEC := -O1 -fsanitize-coverage=bb -fsanitize-coverage-ignorelist=fuzz/straight.txt -fsanitize-recover=undefined
FUZZ_CALLED := -fsanitize-coverage=func
$(BUILD)/fuzz/obj/codec/%.o: private FUZZ_MORE = $(FUZZ_CODEC)
$(BUILD)/fuzz/obj/fuzz/fuzz_frame.o: private FUZZ_MORE = $(FUZZ_CALLED)
FUZZ_LIBS := $(LIBS) -lpcap -ljansson -lpthread

$(eval $(call variant,$(BUILD)/fuzz/obj,$$(CLANG) $$(FUZZ_SANITIZE) $$(FUZZ_COVERAGE) $$(FUZZ_MORE)))
$(eval $(call archive,$(BUILD)/fuzz/libfuzzed.a,$(call objects,$(BUILD)/fuzz/obj,$(FUZZ_LIB_SRC))))

# a target that says its format (harness/mutator/fcvi_mutator.h) gets the mutator, unless it is plain
FUZZ_LINK = $(CLANG) -fsanitize=fuzzer,address,undefined $< $(BUILD)/fuzz/libfuzzed.a $(BUILD)/fuzz/obj/fuzz/options.o
$(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/fuzz/%.o $(BUILD)/fuzz/libfuzzed.a $(BUILD)/libfcvi-mutator.so
	mutator=; if grep -q fcvi_fuzz_format fuzz/$*.c; then mutator='-L$(BUILD) -lfcvi-mutator -Wl,-rpath,$$ORIGIN/..'; fi; \
	$(FUZZ_LINK) $$mutator $(FUZZ_LIBS) -o $@
$(BUILD)/fuzz/plain-%: $(BUILD)/fuzz/obj/fuzz/fuzz_%.o $(BUILD)/fuzz/libfuzzed.a
	$(FUZZ_LINK) $(FUZZ_LIBS) -o $@

# the library of the streams is loaded from python/ beside the target
$(addprefix $(BUILD)/fuzz/,fuzz_reassembly plain-reassembly replay-reassembly afl-fuzz_reassembly) $(BUILD)/fuzzcov/reach-reassembly: | $(STREAMS)

FUZZ_TARGETS := $(FUZZ_SRC:fuzz/%.c=$(BUILD)/fuzz/%)
fuzz: $(FUZZ_TARGETS) ## every target for FUZZ_SECONDS each
	@fuzz/run.sh $(BUILD) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

AFL_CC := AFL_QUIET=1 afl-clang-fast -std=gnu11 -O2 -g $(ASSERTS) $(FUZZ_INCLUDES)
$(eval $(call variant,$(BUILD)/fuzz/of-afl,$$(AFL_CC)))
$(BUILD)/fuzz/afl-%: $(BUILD)/fuzz/of-afl/fuzz/%.o $(call objects,$(BUILD)/fuzz/of-afl,fuzz/afl_driver.c $(LIB_SRC) $(CAPTURE_SRC))
	$(AFL_CC) $^ $(FUZZ_LIBS) -o $@
fuzz-afl: $(BUILD)/libfcvi-mutator.so $(patsubst fuzz/%.c,$(BUILD)/fuzz/afl-%,$(FUZZ_SRC)) ## build the targets for AFL++ (needs the package afl++): build/fuzz/afl-*

DEFECT_SECONDS ?= 600
fuzz-defects: $(FUZZ_TARGETS) ## plant the defects of fuzz/defects.toml and see whether the fuzzers find them
	@$(PYTHON) fuzz/defects.py --build $(BUILD) --compile '$(CLANG) $(FUZZ_SANITIZE) $(FUZZ_COVERAGE)' --codec='$(FUZZ_CODEC)' \
	  --link '$(CLANG) -fsanitize=fuzzer,address,undefined' --libs='$(FUZZ_LIBS)' --budget $(DEFECT_SECONDS) $(DEFECT_FLAGS)

fuzz-campaign: $(FUZZ_TARGETS) ## every target in turn for FUZZ_SECONDS in all, with a log of CPU time and executions
	@fuzz/campaign.sh $(BUILD) $(FUZZ_SECONDS) 300 $(FUZZ_TARGETS)

fuzz-smoke: $(FUZZ_TARGETS) ## a bounded number of executions
	@for f in $(FUZZ_TARGETS); do $$f -seed=1 -max_len=2148 -runs=$$(fuzz/runs.sh $$f) -artifact_prefix=$(BUILD)/fuzz/ 2>&1 | tail -1; \
	  test $${PIPESTATUS[0]} -eq 0 || exit 1; done
	@fuzz/example/run.sh $(CLANG) $(BUILD)
fuzz-smoke: SHELL := /bin/bash

fuzz-seeds: all $(CASE_CAPTURES) ## seed corpora and dictionary from the field table and the captures of all cases: build/fuzz/seeds
	rm -rf $(BUILD)/fuzz/seeds && mkdir -p $(BUILD)/fuzz
	$(BUILD)/fcvi run --dut ref --quiet --report $(BUILD)/fuzz/report
	PYTHONPATH=$(BUILD)/python:harness $(PYTHON) fuzz/seeds.py --out $(BUILD)/fuzz $$(find pcaps $(BUILD)/pcaps $(BUILD)/fuzz/report -name '*.pcap' -o -name '*.pcapng')

# edges here: a corpus is kept for each branch
EDGES := $(patsubst fuzz/fuzz_%.c,$(BUILD)/edges/fuzz/plain-%,$(FUZZ_SRC))
fuzz-minimise: ## what the corpora of build/fuzz and the seeds cover, in as few inputs as can be: fuzz/corpus
	@$(MAKE) -s BUILD=$(BUILD)/edges FUZZ_CODEC= FUZZ_CALLED= $(EDGES)
	@for f in $(EDGES); do fuzz/minimise.sh $(BUILD) $$f || exit 1; done

# every input that is kept, without a fuzzer
$(BUILD)/fuzz/replay-%: $(BUILD)/fuzz/obj/fuzz/fuzz_%.o $(BUILD)/fuzz/obj/fuzz/replay.o $(BUILD)/fuzz/libfuzzed.a
	$(CLANG) -fsanitize=address,undefined $^ $(BUILD)/fuzz/obj/fuzz/options.o $(FUZZ_LIBS) -o $@
REPLAYS := $(patsubst $(BUILD)/fuzz/fuzz_%,$(BUILD)/fuzz/replay-%,$(FUZZ_TARGETS))
fuzz-replay: $(REPLAYS) ## corpora and regressions of the repository through their targets
	@for f in $(REPLAYS); do n=$${f##*replay-}; d=$$(ls -d fuzz/corpus/$$n fuzz/regressions/$$n 2>/dev/null); \
	  [ -z "$$d" ] || { printf '%s: ' $$n; $$f $$d || exit 1; }; done

# the targets with coverage: objects of every source, so that what no target reaches is counted too
FUZZCOV_CC = $(CC) -std=gnu11 -D_DEFAULT_SOURCE -O1 -g $(ASSERTS) $(INCLUDES) $(FUZZCOV)
$(eval $(call variant,$(BUILD)/fuzzcov,$$(FUZZCOV_CC)))
$(BUILD)/fuzzcov/%.o: private FUZZCOV := --coverage
$(BUILD)/fuzzcov/fuzz/%.o: private FUZZCOV := -Ifuzz -Iharness/mutator
$(BUILD)/fuzzcov/reach-%: $(BUILD)/fuzzcov/fuzz/fuzz_%.o $(BUILD)/fuzzcov/fuzz/replay.o $(call objects,$(BUILD)/fuzzcov,$(LIB_SRC) $(CAPTURE_SRC))
	$(CC) $^ -lgcov $(FUZZ_LIBS) -o $@
# the target of the agent has VIPL calls of its own, this one has libvipl's
$(BUILD)/fuzz/afl-fuzz_descriptor: $(call objects,$(BUILD)/fuzz/of-afl,$(VIPL_SRC))
$(BUILD)/fuzzcov/reach-descriptor: $(call objects,$(BUILD)/fuzzcov,$(VIPL_SRC))
FUZZCOVS := $(patsubst fuzz/fuzz_%.c,$(BUILD)/fuzzcov/reach-%,$(FUZZ_SRC))
fuzz-coverage: $(FUZZCOVS) ## branches of codec and refimpl that the corpora of the repository reach
	find $(BUILD)/fuzzcov -name '*.gcda' -delete
	@for f in $(FUZZCOVS); do n=$${f##*reach-}; d=$$(ls -d fuzz/corpus/$$n fuzz/regressions/$$n 2>/dev/null); [ -z "$$d" ] || $$f $$d || exit 1; done
	$(GCOVR) $(BUILD)/fuzzcov --filter codec/src --txt --branches
	$(GCOVR) $(BUILD)/fuzzcov --filter refimpl/src --txt --branches
