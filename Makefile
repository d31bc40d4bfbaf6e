# fcvi: the conformance suite for FC-VI (ISO/IEC 14165-331:2007). `make help` says what there is.

VERSION := $(shell sed -n 's/.*FCVI_VERSION "\(.*\)".*/\1/p' codec/src/core/internal.h)
SOVERSION := 0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build
PYTHON := /usr/bin/python3
CC ?= gcc
CLANG ?= clang
FUZZ_SECONDS ?= 60

CFLAGS ?= -O3 -g
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
INCLUDES := -Icodec/include -Irefimpl/include -Iconformance/monitor/include -Irefimpl/vipl/include -Iharness/capture
ALL_CFLAGS = -std=c11 -D_DEFAULT_SOURCE -fPIC -fno-semantic-interposition -fstack-protector-strong $(WARNINGS) $(INCLUDES) $(CFLAGS)
LIBS := -lisal

LIB_SRC := $(wildcard codec/src/*/*.c refimpl/src/*/*.c conformance/monitor/src/*.c)
CAPTURE_SRC := $(wildcard harness/capture/*.c)
AGENT_SRC := $(filter-out harness/agent/provider_%.c,$(wildcard harness/agent/*.c))
VIPL_SRC := $(wildcard refimpl/vipl/src/*.c)
MUTATOR_SRC := $(wildcard fuzz/mutator/*.c)
TEST_SRC := $(wildcard codec/tests/test_*.c refimpl/tests/test_*.c conformance/monitor/tests/test_*.c)
VIPL_TEST_SRC := $(wildcard refimpl/vipl/tests/test_*.c)
VIPL_TEST_PARTS := $(filter-out $(VIPL_TEST_SRC),$(wildcard refimpl/vipl/tests/*.c))
FUZZ_SRC := $(filter-out fuzz/fuzz_empty%,$(wildcard fuzz/fuzz_*.c))
C_FILES := $(wildcard codec/*/*.[ch] codec/src/*/*.[ch] codec/include/fcvi/*.h refimpl/*/*.[ch] refimpl/src/*/*.[ch] refimpl/include/fcvi/*.h \
             refimpl/vipl/*/*.[ch] refimpl/vipl/include/fcvi/*.h harness/capture/*.[ch] harness/agent/*.[ch] harness/ffi/*.[ch] fuzz/*.[ch] fuzz/*/*.[ch] fuzz/*/*/*.[ch] \
             harness/bench/*.c conformance/monitor/*/*.[ch] conformance/monitor/include/fcvi/*.h conformance/explore/*.[ch])
PY_DIRS := harness/fcvi harness/ffi harness/bench harness/interop harness/tests harness/case_captures.py conformance fuzz

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
VIPL_OBJ := $(VIPL_SRC:%.c=$(BUILD)/obj/%.o)
MUTATOR_OBJ := $(MUTATOR_SRC:%.c=$(BUILD)/obj/%.o)
CAPTURE_OBJ := $(CAPTURE_SRC:%.c=$(BUILD)/obj/%.o)
EXPLORE_SRC := $(wildcard conformance/explore/*.c)
EXPLORE_OBJ := $(EXPLORE_SRC:%.c=$(BUILD)/obj/%.o)
FUZZ_TEST_SRC := $(wildcard fuzz/mutator/tests/test_*.c)
TESTS := $(patsubst %.c,$(BUILD)/tests/%,$(TEST_SRC) $(VIPL_TEST_SRC) $(FUZZ_TEST_SRC))
SAN_TESTS := $(patsubst %.c,$(BUILD)/san/%,$(TEST_SRC) $(VIPL_TEST_SRC) $(FUZZ_TEST_SRC))
EXTENSION := $(BUILD)/python/.built

.PHONY: agent live interop differential fuzz-measured fuzz-throughput fuzz-campaign fuzz-defects fuzz-afl fuzz-seeds fuzz-minimise fuzz-replay fuzz-coverage
.PHONY: all check check-c check-san check-python check-format check-types check-docs check-install check-pcaps check-speed check-tidy pcaps certify install install-dissector \
        uninstall fuzz fuzz-smoke bench coverage faults variants mutants format format-check lint valgrind clean help
.DELETE_ON_ERROR:

EVERYTHING := $(BUILD)/libfcvi-mutator.so $(BUILD)/libfcvi.a $(BUILD)/libfcvi.so $(BUILD)/libvipl.a $(BUILD)/libvipl.so $(EXTENSION) $(BUILD)/fcvi $(BUILD)/fcvi-agent \
              $(BUILD)/fcvi.pc $(BUILD)/vipl.pc $(BUILD)/fcvi.lua $(BUILD)/fcvi-explore
all: $(EVERYTHING) ## build everything

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r t d; do printf '  %-14s %s\n' "$$t" "$$d"; done

# ---- libraries ----

# The shared libraries export what the headers declare, and nothing that the C library or a program may have too: with an
# internal `logout` in the open, glibc's stood in for it in any process that loads libfcvi.so later.
EXPORTS = -Wl,-Bsymbolic -Wl,--version-script=$(filter %.map,$^)

# a change of compiler or flags rebuilds everything
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@
.PHONY: FORCE
FORCE:

# what judges every frame of a capture is optimised as a whole where it is linked for that (an eighth of its time);
# other linkers find ordinary objects
LTO := $(if $(findstring Free Software,$(shell $(CC) --version)),-flto=auto -ffat-lto-objects)
$(BUILD)/obj/codec/%.o $(BUILD)/obj/conformance/monitor/%.o $(BUILD)/obj/harness/capture/%.o: CFLAGS += $(LTO)

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libfcvi.a: $(LIB_OBJ)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/libfcvi.so.$(VERSION): $(LIB_OBJ) codec/exports.map
	$(CC) -shared -Wl,-soname,libfcvi.so.$(SOVERSION) -Wl,--no-undefined $(EXPORTS) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $@

$(BUILD)/libfcvi.so: $(BUILD)/libfcvi.so.$(VERSION)
	ln -sf libfcvi.so.$(VERSION) $(BUILD)/libfcvi.so.$(SOVERSION)
	ln -sf libfcvi.so.$(SOVERSION) $@

# the VIPL provider, with the port inside
$(BUILD)/libvipl.a: $(VIPL_OBJ)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/libvipl.so.$(VERSION): $(VIPL_OBJ) $(LIB_OBJ) refimpl/vipl/exports.map
	$(CC) -shared -Wl,-soname,libvipl.so.$(SOVERSION) -Wl,--no-undefined $(EXPORTS) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -lpthread -o $@

$(BUILD)/libvipl.so: $(BUILD)/libvipl.so.$(VERSION)
	ln -sf libvipl.so.$(VERSION) $(BUILD)/libvipl.so.$(SOVERSION)
	ln -sf libvipl.so.$(SOVERSION) $@

$(BUILD)/libfcvi-capture.a: $(CAPTURE_OBJ)
	rm -f $@
	ar rcs $@ $^

# without the entry points that fuzzing engines look for
$(BUILD)/libfcvi-mutator.a: $(filter-out %/hooks.o,$(MUTATOR_OBJ))
	rm -f $@
	ar rcs $@ $^

# the upper tester agent with our libvipl; for another: make agent VIPL_LIBS="-L... -lvipl" VIPL_INCLUDE=DIR
AGENT_PORT_SRC := harness/agent/provider_reference.c harness/agent/provider_wire.c harness/capture/live.c harness/capture/envelope.c
$(BUILD)/fcvi-agent: $(AGENT_SRC:%.c=$(BUILD)/obj/%.o) $(AGENT_PORT_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(LIBS) -ljansson -lpcap -lpthread -o $@

VIPL_INCLUDE ?= refimpl/vipl/include
VIPL_LIBS ?= -L$(BUILD) -lvipl
$(BUILD)/fcvi-agent-plain: $(AGENT_SRC) harness/agent/provider_plain.c $(wildcard harness/agent/*.h)
	@mkdir -p $(BUILD)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(WARNINGS) -I$(VIPL_INCLUDE) $(CFLAGS) $(filter %.c,$^) $(VIPL_LIBS) -ljansson -lpthread -o $@
agent: $(BUILD)/fcvi-agent-plain ## the upper tester agent for any libvipl: VIPL_LIBS="-L... -lvipl" VIPL_INCLUDE=DIR

$(BUILD)/san/fcvi-agent: $(AGENT_SRC) $(AGENT_PORT_SRC) $(VIPL_SRC:%.c=$(BUILD)/san/obj/%.o) $(wildcard harness/agent/*.h) $(BUILD)/san/libfcvi.a
	@mkdir -p $(@D)
	$(SAN_CC) $(filter %.c %.o %.a,$^) $(LIBS) -ljansson -lpcap -lpthread -o $@

$(EXTENSION): harness/ffi/build.py harness/ffi/calls.c harness/ffi/calls.h $(BUILD)/libfcvi.a $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi-mutator.a
	$(PYTHON) harness/ffi/build.py $(if $(LTO),--lto) --build $(BUILD) --out $(@D)
	@touch $@

$(BUILD)/fcvi: harness/fcvi.sh
	@mkdir -p $(@D)
	install -m 755 $< $@

# explores the interleavings of two ports, for `fcvi explore`
$(BUILD)/fcvi-explore: $(EXPLORE_OBJ) $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $^ $(LIBS) -o $@

# the Wireshark dissector
$(BUILD)/fcvi.lua: harness/wireshark/fcvi.lua.in harness/fcvi/report/dissector.py $(EXTENSION)
	PYTHONPATH=$(BUILD)/python:harness $(PYTHON) -m fcvi.report.dissector $< > $@

$(BUILD)/%.pc: harness/%.pc.in Makefile codec/src/core/internal.h
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# ---- install ----

LIBDIR = $(DESTDIR)$(PREFIX)/lib
install: all ## install under DESTDIR and PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBDIR)/pkgconfig $(LIBDIR)/fcvi/build $(DESTDIR)$(PREFIX)/include/fcvi
	install -m 644 codec/include/fcvi/* refimpl/include/fcvi/* conformance/monitor/include/fcvi/* refimpl/vipl/include/fcvi/* $(DESTDIR)$(PREFIX)/include/fcvi/
	install -m 644 refimpl/vipl/include/vipl.h fuzz/mutator/fcvi_mutator.h $(DESTDIR)$(PREFIX)/include/
	install -m 755 $(BUILD)/libfcvi-mutator.so $(LIBDIR)/
	install -m 755 $(BUILD)/fcvi-agent $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/libfcvi.a $(BUILD)/libvipl.a $(LIBDIR)/
	install -m 755 $(BUILD)/libvipl.so.$(VERSION) $(LIBDIR)/
	ln -sf libvipl.so.$(VERSION) $(LIBDIR)/libvipl.so.$(SOVERSION)
	ln -sf libvipl.so.$(SOVERSION) $(LIBDIR)/libvipl.so
	install -m 755 $(BUILD)/libfcvi.so.$(VERSION) $(LIBDIR)/
	ln -sf libfcvi.so.$(VERSION) $(LIBDIR)/libfcvi.so.$(SOVERSION)
	ln -sf libfcvi.so.$(SOVERSION) $(LIBDIR)/libfcvi.so
	$(MAKE) --no-print-directory -B $(BUILD)/fcvi.pc $(BUILD)/vipl.pc
	install -m 644 $(BUILD)/fcvi.pc $(BUILD)/vipl.pc $(LIBDIR)/pkgconfig/
	cd harness && find fcvi -name '*.py' -o -name '*.json' -o -path '*/templates/*' -type f | while read -r f; do install -D -m 644 "$$f" "$(abspath $(LIBDIR))/fcvi/harness/$$f"; done
	find conformance -name '*.py' -not -path '*/tests/*' -o -name '*.tsv' -o -name '*.toml' -o -name 'errata.md' | while read -r f; do install -D -m 644 "$$f" "$(LIBDIR)/fcvi/$$f"; done
	install -D -m 644 $(BUILD)/fcvi.lua $(LIBDIR)/fcvi/wireshark/fcvi.lua
	install -d $(LIBDIR)/fcvi/build/python
	install -m 755 $(BUILD)/python/*.so $(LIBDIR)/fcvi/build/python/
	install -m 755 harness/fcvi.sh $(LIBDIR)/fcvi/build/fcvi
	install -m 755 $(BUILD)/fcvi-explore $(LIBDIR)/fcvi/build/
	ln -sf ../lib/fcvi/build/fcvi $(DESTDIR)$(PREFIX)/bin/fcvi

uninstall: ## remove what install put there
	rm -rf $(LIBDIR)/fcvi $(DESTDIR)$(PREFIX)/include/fcvi $(LIBDIR)/pkgconfig/fcvi.pc $(LIBDIR)/pkgconfig/vipl.pc
	rm -f $(DESTDIR)$(PREFIX)/include/fcvi_mutator.h $(LIBDIR)/libfcvi-mutator.so
	rm -f $(DESTDIR)$(PREFIX)/include/vipl.h $(LIBDIR)/libvipl.a $(LIBDIR)/libvipl.so $(LIBDIR)/libvipl.so.$(SOVERSION) $(LIBDIR)/libvipl.so.$(VERSION)
	rm -f $(DESTDIR)$(PREFIX)/bin/fcvi $(DESTDIR)$(PREFIX)/bin/fcvi-agent $(LIBDIR)/libfcvi.a $(LIBDIR)/libfcvi.so $(LIBDIR)/libfcvi.so.$(SOVERSION) $(LIBDIR)/libfcvi.so.$(VERSION)

LUA_PLUGINS ?= $(shell tshark -G folders 2>/dev/null | sed -n 's/^Personal Lua Plugins:[[:space:]]*//p')
install-dissector: $(BUILD)/fcvi.lua ## the Wireshark dissector for this user; LUA_PLUGINS=DIR puts it elsewhere
	@test -n '$(LUA_PLUGINS)' || { echo 'no tshark to ask for the directory of plugins: give LUA_PLUGINS=DIR' >&2; exit 2; }
	install -D -m 644 $< '$(LUA_PLUGINS)/fcvi.lua'

# ---- running ----

certify: all ## run the suite against the reference port; the report is in report/
	$(BUILD)/fcvi certify --dut ref --report report

BENCH_TOOLS := $(patsubst harness/bench/%.c,$(BUILD)/bench_%,$(wildcard harness/bench/*.c))
BENCH_ROUNDS ?= 5
bench: all $(BUILD)/bench $(BUILD)/bench_port $(BENCH_TOOLS) ## every figure of the README's table as a ratio of one run: build/bench.json
	@if command -v $(CLANG) > /dev/null; then $(MAKE) -s fuzz-measured; fi
	$(PYTHON) harness/bench/bench.py --build $(BUILD) --rounds $(BENCH_ROUNDS) --json $(BUILD)/bench.json

check-speed: $(BUILD)/bench_lint $(BUILD)/bench_traffic ## instructions a frame (callgrind) are at most 3 % above harness/bench/instructions.json
	$(PYTHON) harness/bench/instructions.py --build $(BUILD)

$(BUILD)/bench_port: refimpl/bench/bench_port.c refimpl/bench/pair.h $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libfcvi.a $(LIBS) -o $@

# ---- benchmarks (harness/bench) ----

$(BUILD)/bench_traffic: refimpl/bench/pair.h

$(BUILD)/bench_%: harness/bench/%.c $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(LTO) $< $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi.a -lpcap $(LIBS) -o $@

$(BUILD)/bench: codec/bench/bench.c $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libfcvi.a $(LIBS) -o $@

# ---- checks ----

# the test programs themselves are not what has to be fast, and with -flto each would optimise the library anew
TEST_CFLAGS := -Og -fno-lto
$(BUILD)/tests/refimpl/vipl/%: refimpl/vipl/%.c $(VIPL_TEST_PARTS) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) $< $(VIPL_TEST_PARTS) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a $(LIBS) $$(pkg-config --libs check) -lpthread -o $@

$(BUILD)/tests/%: %.c $(BUILD)/libfcvi.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) -MMD -MP $< $(BUILD)/libfcvi.a $(LIBS) $$(pkg-config --libs check) -o $@

SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_CC = $(CC) -std=c11 -D_DEFAULT_SOURCE $(WARNINGS) $(INCLUDES) $(SANITIZE)
$(BUILD)/san/libvipl.a: $(VIPL_SRC:%.c=$(BUILD)/san/obj/%.o) $(VIPL_TEST_PARTS:%.c=$(BUILD)/san/obj/%.o)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/san/refimpl/vipl/%: refimpl/vipl/%.c $(BUILD)/san/libvipl.a $(BUILD)/san/libfcvi.a
	@mkdir -p $(@D)
	$(SAN_CC) $(TEST_CFLAGS) $^ $(LIBS) $$(pkg-config --libs check) -lpthread -o $@

LIB_HEADERS := $(wildcard codec/*/*.h codec/src/*/*.h codec/include/fcvi/* refimpl/*/*.h refimpl/src/*/*.h refimpl/include/fcvi/* conformance/monitor/*/*.h \
                 conformance/monitor/include/fcvi/* refimpl/vipl/*/*.h refimpl/vipl/include/fcvi/*)
$(BUILD)/san/obj/%.o: %.c $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(SAN_CC) -c $< -o $@

$(BUILD)/san/libfcvi.a: $(LIB_SRC:%.c=$(BUILD)/san/obj/%.o)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/san/%: %.c $(BUILD)/san/libfcvi.a
	@mkdir -p $(@D)
	$(SAN_CC) $(TEST_CFLAGS) $< $(BUILD)/san/libfcvi.a $(LIBS) $$(pkg-config --libs check) -o $@

check: ## every test; says at the end how many stages passed
	@harness/check.sh

LONG_TESTS := %/test_total %/test_seeds %/test_fabric_data %/test_messages %/test_vipl_programs
longest_first = $(filter $(LONG_TESTS),$(1)) $(filter-out $(LONG_TESTS),$(1))

check-c: $(TESTS) ## C unit tests
	@FCVI_SRCDIR="$(CURDIR)" harness/run_tests.sh $(call longest_first,$(TESTS))

check-san: $(SAN_TESTS) ## the same under ASan and UBSan
	@CK_TIMEOUT_MULTIPLIER=10 FCVI_SEED_TESTS=10 FCVI_SRCDIR="$(CURDIR)" harness/run_tests.sh $(call longest_first,$(SAN_TESTS))

check-python: all ## pytest over the harness and the catalogue
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m pytest -q -n $$(nproc) harness/tests conformance/tests

faults: all ## the suite against a broken device for every requirement; the matrix is in build/faults
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m conformance.tests.bank --out $(BUILD)/faults

LIVE_RUNS ?= 1
LIVE_DEVICE ?= endpoint
live: all ## the whole suite over real frames on a veth pair, LIVE_RUNS times; LIVE_DEVICE=endpoint or agent
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m harness.tests.live.full --runs $(LIVE_RUNS) --device $(LIVE_DEVICE) --keep $(BUILD)/live

interop: all ## login-level cases against libfc of the Debian kernel in QEMU (needs apt; about three minutes)
	PYTHONPATH=$(BUILD)/python:harness:. timeout 600 $(PYTHON) -m harness.interop $(BUILD)/interop

variants: all ## the suite against 1,000 conforming devices that choose by seed what the standard leaves open
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m conformance.tests.variants

check-types: all ## mypy and flake8
	PYTHONPATH= MYPYPATH=harness mypy --config-file setup.cfg harness/fcvi conformance
	flake8 --config setup.cfg $(PY_DIRS)

check-docs: all ## CONFORMANCE.md is what the generator writes
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m conformance.gen_conformance --check

pcaps: all ## the capture of each case, from the reference port: pcaps/cases
	$(PYTHON) harness/case_captures.py $(BUILD)/fcvi pcaps/cases

check-pcaps: all ## pcaps/cases is what the suite makes, byte for byte
	$(PYTHON) harness/case_captures.py --check $(BUILD)/fcvi pcaps/cases

check-install: all ## install into a scratch directory and use what is there
	@harness/check_install.sh

valgrind: $(TESTS) ## C unit tests under valgrind
	@for t in $(TESTS); do CK_FORK=no CK_TIMEOUT_MULTIPLIER=100 FCVI_SEED_TESTS=1 FCVI_SRCDIR="$(CURDIR)" FCVI_QUICK=1 valgrind -q --error-exitcode=1 --leak-check=full $$t || exit 1; done

# ---- fuzzing ----

# The targets link instrumented objects; the mutator is a shared object of its own, so that its codec is not
# instrumented and it serves AFL++ and other people's targets as it is.
$(BUILD)/libfcvi-mutator.so: $(MUTATOR_OBJ) $(BUILD)/libfcvi.a fuzz/mutator/exports.map
	$(CC) -shared -Wl,-Bsymbolic -Wl,--version-script=fuzz/mutator/exports.map $(MUTATOR_OBJ) $(BUILD)/libfcvi.a $(LIBS) -o $@

$(BUILD)/tests/fuzz/%: fuzz/%.c $(MUTATOR_OBJ) $(BUILD)/libfcvi.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) $< $(MUTATOR_OBJ) $(BUILD)/libfcvi.a $(LIBS) $$(pkg-config --libs check) -o $@

$(BUILD)/san/fuzz/%: fuzz/%.c $(MUTATOR_SRC) $(BUILD)/san/libfcvi.a
	@mkdir -p $(@D)
	$(SAN_CC) $(TEST_CFLAGS) $< $(MUTATOR_SRC) $(BUILD)/san/libfcvi.a $(LIBS) $$(pkg-config --libs check) -o $@

FUZZERS := $(FUZZ_SRC:fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_LIB_SRC := $(LIB_SRC) $(CAPTURE_SRC) fuzz/options.c
FUZZ_SANITIZE := -std=gnu11 -O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all $(INCLUDES) -Ifuzz
FUZZ_COVERAGE := -fsanitize-coverage=inline-8bit-counters,pc-table
# What the engine does with each counter costs more than a check of the codec: blocks rather than edges, no copies of blocks (-O1),
# and sanitizers that end the run by an option (fuzz/options.c) rather than by a jump that makes more blocks. Of the frame target itself only
# that it was called: what it asks of the codec's answer is no coverage.
FUZZ_CODEC := -O1 -fsanitize-coverage=bb -fsanitize-coverage-ignorelist=fuzz/straight.txt -fsanitize-recover=undefined
FUZZ_CALLED := -fsanitize-coverage=func
$(BUILD)/fuzz/obj/codec/%.o: FUZZ_COVERAGE += $(FUZZ_CODEC)
$(BUILD)/fuzz/obj/fuzz/fuzz_frame.o: FUZZ_COVERAGE += $(FUZZ_CALLED)
FUZZ_HEADERS := $(wildcard codec/*/*.h codec/src/*/*.h codec/include/fcvi/* refimpl/*/*.h refimpl/src/*/*.h refimpl/include/fcvi/* harness/capture/*.h fuzz/*.h fuzz/mutator/*.h conformance/monitor/*/*.h conformance/monitor/include/fcvi/*)
FUZZ_LIBS := $(LIBS) -lpcap -ljansson -lpthread

$(BUILD)/fuzz/obj/%.o: %.c $(FUZZ_HEADERS)
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_SANITIZE) $(FUZZ_COVERAGE) -c $< -o $@

$(BUILD)/fuzz/obj/fuzz/fuzz_control.o: $(wildcard harness/agent/*.[ch])

$(BUILD)/fuzz/libfuzzed.a: $(FUZZ_LIB_SRC:%.c=$(BUILD)/fuzz/obj/%.o)
	rm -f $@
	ar rcs $@ $^

# a target that says its format (fuzz/mutator/fcvi_mutator.h) gets the mutator, unless it is plain
FUZZ_LINK = $(CLANG) -fsanitize=fuzzer,address,undefined $< $(BUILD)/fuzz/libfuzzed.a $(BUILD)/fuzz/obj/fuzz/options.o
$(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/fuzz/%.o $(BUILD)/fuzz/libfuzzed.a $(BUILD)/libfcvi-mutator.so
	mutator=; if grep -q fcvi_fuzz_format fuzz/$*.c; then mutator='-L$(BUILD) -lfcvi-mutator -Wl,-rpath,$$ORIGIN/..'; fi; \
	$(FUZZ_LINK) $$mutator $(FUZZ_LIBS) -o $@
$(BUILD)/fuzz/plain-%: $(BUILD)/fuzz/obj/fuzz/fuzz_%.o $(BUILD)/fuzz/libfuzzed.a
	$(FUZZ_LINK) $(FUZZ_LIBS) -o $@
.SECONDARY: $(FUZZ_SRC:%.c=$(BUILD)/fuzz/obj/%.o)

FUZZ_TARGETS := $(FUZZERS)
fuzz: $(FUZZ_TARGETS) ## every target for FUZZ_SECONDS each
	@fuzz/run.sh $(BUILD) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

AFL_CC := AFL_QUIET=1 afl-clang-fast -std=gnu11 -O2 -g $(INCLUDES) -Ifuzz
$(BUILD)/fuzz/of-afl/%.o: %.c $(FUZZ_HEADERS)
	@mkdir -p $(@D)
	$(AFL_CC) -c $< -o $@
$(BUILD)/fuzz/of-afl/fuzz/fuzz_control.o: $(wildcard harness/agent/*.[ch])
$(BUILD)/fuzz/afl-%: $(BUILD)/fuzz/of-afl/fuzz/%.o $(patsubst %.c,$(BUILD)/fuzz/of-afl/%.o,fuzz/afl_driver.c $(LIB_SRC) $(CAPTURE_SRC))
	$(AFL_CC) $^ $(FUZZ_LIBS) -o $@
.SECONDARY: $(patsubst %.c,$(BUILD)/fuzz/of-afl/%.o,$(FUZZ_SRC) fuzz/fuzz_empty.c fuzz/afl_driver.c $(LIB_SRC) $(CAPTURE_SRC))
fuzz-afl: $(BUILD)/libfcvi-mutator.so $(patsubst fuzz/%.c,$(BUILD)/fuzz/afl-%,$(FUZZ_SRC) fuzz/fuzz_empty.c) ## build the targets for AFL++ (needs the package afl++): build/fuzz/afl-*

fuzz-measured: $(addprefix $(BUILD)/fuzz/,fuzz_empty fuzz_empty_long plain-frame fuzz_frame plain-message fuzz_message fuzz_port fuzz_pair) \
               $(if $(shell command -v afl-clang-fast),$(addprefix $(BUILD)/fuzz/afl-,fuzz_empty fuzz_frame fuzz_port))

fuzz-throughput: fuzz-measured ## executions a second beside an empty target
	@$(PYTHON) fuzz/throughput.py --build $(BUILD) --json $(BUILD)/fuzz/throughput.json

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

fuzz-seeds: all ## seed corpora and dictionary from the field table and the captures of all cases: build/fuzz/seeds
	rm -rf $(BUILD)/fuzz/seeds && mkdir -p $(BUILD)/fuzz
	$(BUILD)/fcvi run --dut ref --quiet --report $(BUILD)/fuzz/report
	PYTHONPATH=$(BUILD)/python:harness $(PYTHON) fuzz/seeds.py --out $(BUILD)/fuzz $$(find pcaps $(BUILD)/fuzz/report -name '*.pcap' -o -name '*.pcapng')

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

fuzz-coverage: ## branches of codec and refimpl that the corpora of the repository reach
	rm -rf $(BUILD)/fuzzcov && mkdir -p $(BUILD)/fuzzcov
	@for f in $(LIB_SRC) $(CAPTURE_SRC); do $(CC) -std=c11 -D_DEFAULT_SOURCE -O1 -g --coverage $(INCLUDES) -c $$f -o $(BUILD)/fuzzcov/$$(echo $$f | tr / _).o || exit 1; done
	@for f in $(FUZZ_SRC); do n=$${f#fuzz/fuzz_}; n=$${n%.c}; o=$(BUILD)/fuzzcov/$$n; \
	  $(CC) -std=gnu11 -O1 -g $(INCLUDES) -Ifuzz $$f fuzz/replay.c $(BUILD)/fuzzcov/*_[a-z]*.c.o -lgcov $(FUZZ_LIBS) -o $$o || exit 1; \
	  d=$$(ls -d fuzz/corpus/$$n fuzz/regressions/$$n 2>/dev/null); [ -z "$$d" ] || $$o $$d || exit 1; done
	gcovr -r . $(BUILD)/fuzzcov --filter codec/src --txt --branches
	gcovr -r . $(BUILD)/fuzzcov --filter refimpl/src --txt --branches

# ---- mutants ----

# Everything stands on a shared libfcvi, so that one library with one changed object serves every program: as it is,
# with coverage (which program runs which line) and with sanitizers.
MUT := $(BUILD)/mut
MUT_CC = $(CC) -std=c11 -D_DEFAULT_SOURCE -DFCVI_INTERNALS_IN_SIGHT -fPIC -w $(INCLUDES)
MUT_TESTS := $(patsubst %.c,$(MUT)/unit/%,$(TEST_SRC) $(FUZZ_TEST_SRC)) $(patsubst %.c,$(MUT)/vipl/%,$(VIPL_TEST_SRC))
MUT_REPLAYS := $(patsubst fuzz/fuzz_%.c,$(MUT)/fuzz/%,$(filter-out fuzz/fuzz_empty.c,$(FUZZ_SRC)))
MUT_LIBS := $(foreach kind,plain cov san,$(MUT)/$(kind)/libfcvi.so)
MUT_EVERYTHING := $(MUT_LIBS) $(MUT_TESTS) $(MUT_REPLAYS) $(MUT)/fcvi-explore $(MUT)/fcvi $(MUT)/python/.built
.SECONDARY: $(foreach kind,plain cov san,$(LIB_SRC:%.c=$(MUT)/$(kind)/%.o))

$(MUT)/plain/%.o: %.c $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(MUT_CC) -O1 -c $< -o $@
$(MUT)/cov/%.o: %.c $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(MUT_CC) -O0 --coverage -c $< -o $@
$(MUT)/san/%.o: %.c $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(MUT_CC) $(SANITIZE) -g0 -c $< -o $@
$(MUT)/plain/libfcvi.so: $(LIB_SRC:%.c=$(MUT)/plain/%.o)
	$(CC) -shared -Wl,-Bsymbolic -Wl,-soname,libfcvi.so $^ $(LIBS) -o $@
$(MUT)/cov/libfcvi.so: $(LIB_SRC:%.c=$(MUT)/cov/%.o)
	$(CC) -shared --coverage -Wl,-Bsymbolic -Wl,-soname,libfcvi.so $^ $(LIBS) -o $@
$(MUT)/san/libfcvi.so: $(LIB_SRC:%.c=$(MUT)/san/%.o)
	$(CC) -shared $(SANITIZE) -Wl,-Bsymbolic -Wl,-soname,libfcvi.so $^ $(LIBS) -o $@

MUT_LINK := -L$(MUT)/plain -lfcvi $(LIBS)
$(MUT)/unit/fuzz/%: fuzz/%.c $(MUTATOR_SRC) $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(MUT_CC) -O1 $(filter %.c,$^) $(MUT_LINK) $$(pkg-config --libs check) -o $@
$(MUT)/unit/%: %.c $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(MUT_CC) -O1 $< $(MUT_LINK) $$(pkg-config --libs check) -o $@
$(MUT)/vipl/%: %.c $(VIPL_TEST_PARTS) $(VIPL_OBJ) $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(MUT_CC) -O1 $(filter %.c %.o,$^) $(MUT_LINK) $$(pkg-config --libs check) -lpthread -o $@
$(MUT)/fuzz/%: fuzz/fuzz_%.c fuzz/replay.c $(CAPTURE_OBJ) $(MUT)/plain/libfcvi.so
	@mkdir -p $(@D)
	$(MUT_CC) -std=gnu11 -Ifuzz -O1 $(filter %.c %.o,$^) $(MUT_LINK) -lpcap -ljansson -lpthread -o $@
$(MUT)/fcvi-explore: $(EXPLORE_OBJ) $(MUT)/plain/libfcvi.so
	$(CC) $(EXPLORE_OBJ) $(MUT_LINK) -o $@
$(MUT)/python/.built: harness/ffi/build.py $(MUT)/plain/libfcvi.so $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi-mutator.a
	$(PYTHON) harness/ffi/build.py --build $(BUILD) --shared $(MUT)/plain --out $(@D)
	@touch $@
$(MUT)/fcvi: $(MUT)/python/.built
	printf '#!/bin/sh\nPYTHONPATH=%s exec $(PYTHON) -m fcvi "$$@"\n' '$(CURDIR)/$(MUT)/python:$(CURDIR)/harness:$(CURDIR)' > $@
	chmod 755 $@

MUTANTS ?= 0
MUTANTS_ARGS ?=
mutants: $(MUT_EVERYTHING) ## source mutants of codec, refimpl and the monitor against all that check runs in seconds (MUTANTS=N: a sample); build/mutants.txt
	PYTHONPATH=. $(PYTHON) -m conformance.tests.mutants --sample $(MUTANTS) --results $(BUILD)/mutants.tsv --out $(BUILD)/mutants.txt $(MUTANTS_ARGS)

# ---- against other decoders ----

DIFFERENTIAL_FRAMES ?= 2000000
DIFFERENTIAL_SEED ?= 1
differential: all ## the codec against a decoder written from the tables alone, on DIFFERENTIAL_FRAMES mutated frames
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m harness.tests.differential $(DIFFERENTIAL_FRAMES) $(DIFFERENTIAL_SEED)

# ---- coverage and style ----

COV_OBJ := $(LIB_SRC:%.c=$(BUILD)/cov/%.o)
COV_TESTS := $(TEST_SRC:%.c=$(BUILD)/cov/%)
$(BUILD)/cov/%.o: %.c $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE -O1 -g --coverage $(INCLUDES) -c $< -o $@

$(BUILD)/cov/%: %.c $(COV_OBJ)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(TEST_CFLAGS) $(INCLUDES) $< $(COV_OBJ) -lgcov $(LIBS) $$(pkg-config --libs check) -o $@

coverage: $(COV_TESTS) ## line and branch coverage of codec and refimpl by the C tests
	find $(BUILD)/cov -name '*.gcda' -delete
	@FCVI_SRCDIR="$(CURDIR)" CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 FCVI_SEED_TESTS=20 harness/run_tests.sh $(call longest_first,$(COV_TESTS))
	gcovr -r . $(BUILD)/cov --filter refimpl/src --txt --fail-under-line 95 > /dev/null
	gcovr -r . $(BUILD)/cov --filter refimpl/src --txt --branches --fail-under-branch 90
	gcovr -r . $(BUILD)/cov --filter codec/src --txt --branches --fail-under-line 100 --fail-under-branch 100

format: ## clang-format over all C
	clang-format -i $(C_FILES)

format-check:
	clang-format --dry-run -Werror $(C_FILES)

lint: check-types format-check check-tidy ## clang-tidy, cppcheck, flake8, mypy

TIDY_SRC := $(LIB_SRC) $(VIPL_SRC) $(CAPTURE_SRC) $(AGENT_SRC) $(MUTATOR_SRC) $(EXPLORE_SRC) harness/ffi/calls.c
# how many states of a function clang's analyzer follows; lint takes its own default, for three times the time
TIDY_NODES := 50000
lint: TIDY_NODES := 225000
TIDY = clang-tidy --quiet $(foreach word,-Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES),--extra-arg=$(word))
check-tidy: ## clang-tidy and cppcheck
	@printf '%s\n' $(TIDY_SRC) | xargs -P $$(nproc) -n 2 sh -c '$(TIDY) "$$@" -- -std=c11 -D_DEFAULT_SOURCE $(INCLUDES) 2> /dev/null' tidy
	@cppcheck --quiet -j $$(nproc) --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	  --suppress=missingIncludeSystem $(INCLUDES) $(TIDY_SRC)

clean: ## remove the build
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(MUTATOR_OBJ:.o=.d) $(VIPL_OBJ:.o=.d) $(AGENT_SRC:%.c=$(BUILD)/obj/%.d) $(CAPTURE_OBJ:.o=.d) $(EXPLORE_OBJ:.o=.d) $(TESTS:=.d)
