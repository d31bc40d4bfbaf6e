# fcvi: the conformance suite for FC-VI (ISO/IEC 14165-331:2007). `make help` says what there is.
#
# Each room has a rules.mk: its sources and what is built of them. Here are the compilers, the variants that every room is
# built in, what is made of several rooms, and the checks of all of them.

VERSION := $(shell sed -n 's/.*FCVI_VERSION "\(.*\)".*/\1/p' codec/src/core/*.h)
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
BUILD := build
PYTHON := /usr/bin/python3
CC ?= gcc
CLANG ?= clang

CFLAGS ?= -O3 -g
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
INCLUDES := -Icodec/include -Irefimpl/include -Iconformance/monitor/include -Irefimpl/vipl/include -Iharness/capture -Iharness/judge -Iharness/sandbox
# what makes a flaw hard to use: checked copies, guarded stacks, branch targets (CET), and tables that are read-only from the start
accepts = $(shell $(CC) -Werror $(1) -E -x c /dev/null > /dev/null 2>&1 && echo '$(1)')
FORTIFY := $(shell $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include features.h -dM -E -x c /dev/null 2> /dev/null | sed -n 's/^.define __USE_FORTIFY_LEVEL //p')
HARDEN := -fstack-protector-strong $(call accepts,-fstack-clash-protection) $(call accepts,-fcf-protection=full)
HARDEN += $(if $(FORTIFY),$(if $(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY)))
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack
ALL_CFLAGS = -std=c11 -D_DEFAULT_SOURCE -fPIC -fno-semantic-interposition $(HARDEN) $(WARNINGS) $(INCLUDES) $(CFLAGS)
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_CC = $(CC) -std=c11 -D_DEFAULT_SOURCE $(WARNINGS) $(ASSERTS) $(INCLUDES) $(SANITIZE)
# at the borders of the rooms; in every build but the one that is installed
ASSERTS := -DFCVI_ASSERTS
LIBS := -lisal
# what judges every frame of a capture is optimised as a whole where it is linked for that (an eighth of its time);
# other linkers find ordinary objects
LTO := $(if $(findstring Free Software,$(shell $(CC) --version)),-flto=auto -ffat-lto-objects)
# an assertion has a branch that nothing takes
GCOVR := gcovr -r . --exclude-branches-by-pattern '.*FCVI_ASSERT.*'

# A build says what is made, a line each; V=1 shows the commands.
ifneq ($(V),1)
.SILENT:
endif
say = @echo '  $(1)'

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help manual FORCE agent live interop differential fuzz-campaign fuzz-defects fuzz-afl fuzz-seeds fuzz-minimise fuzz-replay \
        fuzz-coverage check nightly check-c check-san check-python check-slow check-format check-types check-docs check-install check-pcaps check-speed check-tidy pcaps certify \
        install install-dissector uninstall dist check-dist fuzz fuzz-smoke bench coverage faults breaches variants mutants format format-check lint valgrind clean

all: ## build everything

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | while IFS='|' read -r t d; do printf '  %-14s %s\n' "$$t" "$$d"; done

# ---- variants ----

# The objects of sources in a tree of a variant: $(call objects,TREE,SOURCES).
objects = $(patsubst %.c,$(1)/%.o,$(2))

# A variant is every source compiled in one way into a tree of its own: $(eval $(call variant,TREE,COMMAND)). A change of the
# command compiles all of it again, a change of a header what included it.
define variant
$(1)/%.o: %.c $(1)/flags
	@mkdir -p $$(@D)
	$(2) -MMD -MP -c $$< -o $$@
$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$(2)' | cmp -s - $$@ || echo '$(2)' > $$@
TREES += $(1)
endef

# A library of objects: $(eval $(call archive,LIBRARY,OBJECTS)).
define archive
$(1): $(2)
	@mkdir -p $$(@D)
	$$(call say,compiled $$@)
	rm -f $$@
	ar rcs $$@ $$^
endef

# The test programs of a variant under WHERE, whose objects are under WHERE/obj: $(eval $(call tests,WHERE,OF,LINK,PARTS)) links each
# source of the folder OF with PARTS.
define tests
$(1)/$(2)%: $(1)/obj/$(2)%.o $(4)
	@mkdir -p $$(@D)
	$(3) $$^ $$(LIBS) $$$$(pkg-config --libs check) -lpthread -o $$@
endef
FORCE:

# ---- rooms ----

# conformance/tests comes last: mutants run what the other rooms have
include codec/rules.mk refimpl/rules.mk
include conformance/rules.mk
LIB_SRC := $(CODEC_SRC) $(PORT_SRC) $(MONITOR_SRC)
LIB_OBJ := $(call objects,$(BUILD)/obj,$(LIB_SRC))
include harness/rules.mk harness/release/rules.mk
include fuzz/rules.mk conformance/tests/rules.mk

SHARED := libfcvi.so libvipl.so libvipl64.so
PC_FILES := $(patsubst %,$(BUILD)/%.pc,fcvi vipl vipl64)
all: $(BUILD)/libfcvi-mutator.so $(BUILD)/libfcvi.a $(BUILD)/libfcvi.so $(BUILD)/libvipl.a $(BUILD)/libvipl.so $(BUILD)/libvipl64.so $(EXTENSION) $(STREAMS) $(BUILD)/fcvi $(BUILD)/fcvi-agent \
     $(PC_FILES) $(BUILD)/fcvi.lua $(BUILD)/fcvi-explore $(BUILD)/fcvi-open $(VERBS_AGENT)
ifeq ($(filter-out all,$(MAKECMDGOALS)),)
	@echo 'Built. Next: build/fcvi --help; build/fcvi run --dut ref tries the suite on its reference port; ./bootstrap check runs the tests.'
endif

# ---- libraries: codec, reference port and monitor ----

# The shared libraries export what the headers declare, and nothing that the C library or a program may have too: with an
# internal `logout` in the open, glibc's stood in for it in any process that loads libfcvi.so later.
EXPORTS = -Wl,-Bsymbolic -Wl,--version-script=$(filter %.map,$^)

$(eval $(call variant,$(BUILD)/obj,$$(CC) $$(ALL_CFLAGS)))
$(BUILD)/obj/codec/%.o $(BUILD)/obj/conformance/monitor/%.o $(BUILD)/obj/harness/capture/%.o $(BUILD)/obj/harness/judge/%.o: private CFLAGS += $(LTO)
$(eval $(call archive,$(BUILD)/libfcvi.a,$(LIB_OBJ)))

# $(eval $(call shared,LIBRARY,OBJECTS AND MAP,LIBRARIES))
define shared
$(BUILD)/$(1).so.$(VERSION): $(2)
	$$(call say,linking $$@)
	$$(CC) -shared -Wl,-soname,$(1).so.$(SOVERSION) -Wl,--no-undefined $$(EXPORTS) $$(HARDEN_LINK) $$(LDFLAGS) $$(filter %.o,$$^) $(3) -o $$@
$(BUILD)/$(1).so: $(BUILD)/$(1).so.$(VERSION)
	ln -sf $(1).so.$(VERSION) $(BUILD)/$(1).so.$(SOVERSION)
	ln -sf $(1).so.$(SOVERSION) $$@
endef
$(eval $(call shared,libfcvi,$(LIB_OBJ) codec/exports.map,$(LIBS)))
# with the port inside, and what brings it onto a wire; once more with a VIP_ULONG that is `unsigned long` (vipl.h). Their
# threads run until the process ends, so dlclose leaves them where they are
VIPL_SO_LIBS = $(LIBS) -lpcap -lpthread -Wl,-z,nodelete
$(eval $(call shared,libvipl,$(call objects,$(BUILD)/obj,$(VIPL_SRC) $(VIPL_HOST_SRC)) $(LIB_OBJ) refimpl/vipl/exports.map,$(VIPL_SO_LIBS)))
$(eval $(call variant,$(BUILD)/obj64,$$(CC) $$(ALL_CFLAGS) -DVIPL64))
$(eval $(call shared,libvipl64,$(call objects,$(BUILD)/obj64,$(VIPL_SRC)) $(call objects,$(BUILD)/obj,$(VIPL_HOST_SRC)) $(LIB_OBJ) refimpl/vipl/exports.map,$(VIPL_SO_LIBS)))

$(BUILD)/%.pc: harness/%.pc.in Makefile $(wildcard codec/src/core/*.h)
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# ---- install ----

# the public libraries, and what only the command uses
LIBRARIES = $(DESTDIR)$(LIBDIR)
PRIVATE = $(DESTDIR)$(PREFIX)/lib/fcvi
# the model providers of the books of calls, on which `fcvi show` plays their cases
MODELS = harness/tests/__init__.py harness/tests/inside.py harness/tests/independent/__init__.py harness/tests/independent/verbs harness/tests/independent/provider
OURS = $(foreach header,$(PUBLIC_HEADERS),$(if $(findstring /include/fcvi/,$(header)),$(header)))
SHARE = $(DESTDIR)$(PREFIX)/share
# the corpora that serve parsers of others: frames, payloads, captures, and the bytes of streams
SEEDS := capture envelope frame iu segment stream
install: all ## install under DESTDIR and PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBRARIES)/pkgconfig $(PRIVATE)/build $(DESTDIR)$(PREFIX)/include/fcvi
	install -m 644 $(OURS) $(DESTDIR)$(PREFIX)/include/fcvi/
	install -m 644 $(filter-out $(OURS),$(PUBLIC_HEADERS)) $(DESTDIR)$(PREFIX)/include/
	install -m 755 $(BUILD)/libfcvi-mutator.so $(LIBRARIES)/libfcvi-mutator.so.$(VERSION)
	ln -sf libfcvi-mutator.so.$(VERSION) $(LIBRARIES)/libfcvi-mutator.so.$(SOVERSION)
	ln -sf libfcvi-mutator.so.$(SOVERSION) $(LIBRARIES)/libfcvi-mutator.so
	install -m 755 $(BUILD)/fcvi-agent $(VERBS_AGENT) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/libfcvi.a $(BUILD)/libvipl.a $(LIBRARIES)/
	for library in $(SHARED); do \
	  install -m 755 $(BUILD)/$$library.$(VERSION) $(LIBRARIES)/ && \
	  ln -sf $$library.$(VERSION) $(LIBRARIES)/$$library.$(SOVERSION) && \
	  ln -sf $$library.$(SOVERSION) $(LIBRARIES)/$$library || exit 1; done
	$(MAKE) --no-print-directory -B $(PC_FILES)
	install -m 644 $(PC_FILES) $(LIBRARIES)/pkgconfig/
	cd harness && find fcvi -name '*.py' -o -name '*.json' -o -path '*/templates/*' -type f | while read -r f; do install -D -m 644 "$$f" "$(abspath $(PRIVATE))/harness/$$f"; done
	find conformance -name '*.py' -not -path '*/tests/*' -o -name '*.tsv' -o -name '*.toml' -o -name 'errata.md' | while read -r f; do install -D -m 644 "$$f" "$(PRIVATE)/$$f"; done
	find $(MODELS) -name '*.py' -not -name 'test_*' | while read -r f; do install -D -m 644 "$$f" "$(PRIVATE)/$$f"; done
	install -D -m 644 $(BUILD)/fcvi.lua $(PRIVATE)/wireshark/fcvi.lua
	{ [ -e .git ] && git rev-parse HEAD 2> /dev/null || cat harness/fcvi/commit; } | install -m 644 /dev/stdin $(PRIVATE)/harness/fcvi/commit
	$(MAKE) --no-print-directory manual
	install -d $(SHARE)/man/man1 $(SHARE)/doc/fcvi
	install -m 644 $(BUILD)/doc/man1/*.1 $(SHARE)/man/man1/
	install -D -m 644 harness/docs/vipl.conf.5 $(SHARE)/man/man5/vipl.conf.5
	install -D -m 644 harness/docs/examples/vi_hello.c $(SHARE)/doc/fcvi/examples/vi_hello.c
	install -D -m 644 $(BUILD)/doc/fcvi.bash $(SHARE)/bash-completion/completions/fcvi
	install -D -m 644 $(BUILD)/doc/_fcvi $(SHARE)/zsh/site-functions/_fcvi
	install -D -m 644 harness/docs/fcvi-open.8 $(SHARE)/man/man8/fcvi-open.8
	$(PYTHON) harness/docs/installed.py $(BUILD)/doc/pages $(PREFIX)
	install -m 644 $(BUILD)/doc/api.md $(BUILD)/doc/test-plan.md $(BUILD)/doc/pages/*.md $(SHARE)/doc/fcvi/
	install -d $(SHARE)/fcvi/starters $(SHARE)/fcvi/pipeline $(SHARE)/fcvi/fuzz-example
	install -m 755 harness/starters/*.py harness/starters/*.pl $(SHARE)/fcvi/starters/
	install -m 644 harness/starters/*.c $(SHARE)/fcvi/starters/
	install -m 644 harness/pipeline/* $(SHARE)/fcvi/pipeline/
	install -m 644 fuzz/example/*.c $(SHARE)/fcvi/fuzz-example/
	$(IN_TREE) fuzz/seeds.py --out $(BUILD)/fuzz
	install -m 644 $(BUILD)/fuzz/fcvi.dict $(SHARE)/fcvi/
	for kind in $(SEEDS); do install -d $(SHARE)/fcvi/seeds/$$kind && install -m 644 fuzz/corpus/$$kind/* $(SHARE)/fcvi/seeds/$$kind/ || exit 1; done
	install -d $(PRIVATE)/build/python
	install -m 755 $(BUILD)/python/*.so $(PRIVATE)/build/python/
	install -m 755 $(BUILD)/fcvi $(PRIVATE)/build/fcvi
	install -m 755 $(BUILD)/fcvi-explore $(BUILD)/fcvi-open $(PRIVATE)/build/
	ln -sf ../lib/fcvi/build/fcvi $(DESTDIR)$(PREFIX)/bin/fcvi

uninstall: ## remove what install put there
	rm -rf $(SHARE)/doc/fcvi $(SHARE)/fcvi
	rm -f $(SHARE)/man/man8/fcvi-open.8 $(SHARE)/man/man5/vipl.conf.5
	rm -f $(SHARE)/man/man1/fcvi.1 $(SHARE)/man/man1/fcvi-*.1 $(SHARE)/bash-completion/completions/fcvi $(SHARE)/zsh/site-functions/_fcvi
	rm -rf $(PRIVATE) $(DESTDIR)$(PREFIX)/include/fcvi $(PC_FILES:$(BUILD)/%=$(LIBRARIES)/pkgconfig/%)
	rm -f $(DESTDIR)$(PREFIX)/include/fcvi_mutator.h $(LIBRARIES)/libfcvi-mutator.so $(LIBRARIES)/libfcvi-mutator.so.$(SOVERSION) $(LIBRARIES)/libfcvi-mutator.so.$(VERSION)
	rm -f $(DESTDIR)$(PREFIX)/include/vipl.h $(LIBRARIES)/libvipl.a $(foreach library,$(SHARED),$(LIBRARIES)/$(library) $(LIBRARIES)/$(library).$(SOVERSION) $(LIBRARIES)/$(library).$(VERSION))
	rm -f $(DESTDIR)$(PREFIX)/bin/fcvi $(DESTDIR)$(PREFIX)/bin/fcvi-agent $(DESTDIR)$(PREFIX)/bin/fcvi-verbs-agent $(LIBRARIES)/libfcvi.a

# ---- releases ----

# An archive of git has sorted names, one owner, the time of the commit, and the hash of the commit in harness/fcvi/commit; gzip -n
# adds neither time nor name. So two runs give the same bytes, on any machine with these programs.
DIST := $(BUILD)/fcvi-$(VERSION).tar.gz
dist: ## the source of HEAD as a tarball, the same bytes each time: build/fcvi-VERSION.tar.gz
	@test -e .git || { echo 'make dist: this is no clone of the repository: a tarball is made of a commit' >&2; exit 2; }
	@git diff --quiet HEAD || echo 'make dist: what is not committed is not in the tarball' >&2
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=fcvi-$(VERSION)/ HEAD | gzip -9n > $(DIST)
	@sha256sum $(DIST)

check-dist: ## two tarballs are the same, and one builds and installs without git
	@harness/check_dist.sh $(DIST)

# ---- checks ----

check: ## what a commit needs; says at the end how many stages passed
	@harness/check.sh check

nightly: ## the rest of the tests; says at the end how many stages passed
	@harness/check.sh nightly

# The test programs themselves are not what has to be fast, and with -flto each would optimise the library anew. Those under
# build/tests stand on the libraries as they are installed, those under build/san on sanitized ones, and so on.
TEST_CFLAGS := -Og -fno-lto
TESTS := $(patsubst %.c,$(BUILD)/tests/%,$(TEST_SRC) $(VIPL_TEST_SRC) $(MUTATOR_TEST_SRC) $(CAPTURE_TEST_SRC))
$(eval $(call variant,$(BUILD)/tests/obj,$$(CC) $$(ALL_CFLAGS) $$(TEST_CFLAGS) $$(ASSERTS)))
WITH_PCAP := -Wl,--no-as-needed -lpcap # before what needs it
TEST_LINK = $(CC) $(ALL_CFLAGS) $(TEST_CFLAGS)
$(eval $(call tests,$(BUILD)/tests,,$$(TEST_LINK),$(BUILD)/libfcvi.a))
$(eval $(call tests,$(BUILD)/tests,harness/mutator/,$$(TEST_LINK),$(MUTATOR_OBJ) $(BUILD)/libfcvi.a))
$(eval $(call tests,$(BUILD)/tests,harness/capture/,$$(TEST_LINK) $$(WITH_PCAP),$(BUILD)/obj/harness/capture/tap.o))
$(eval $(call tests,$(BUILD)/tests,refimpl/vipl/,$$(TEST_LINK),$(call objects,$(BUILD)/tests/obj,$(VIPL_TEST_PARTS)) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a))

SAN_TESTS := $(TESTS:$(BUILD)/tests/%=$(BUILD)/san/%)
$(eval $(call variant,$(BUILD)/san/obj,$$(SAN_CC)))
$(eval $(call archive,$(BUILD)/san/libfcvi.a,$(call objects,$(BUILD)/san/obj,$(LIB_SRC))))
$(eval $(call tests,$(BUILD)/san,,$$(SAN_CC),$(BUILD)/san/libfcvi.a))
$(eval $(call tests,$(BUILD)/san,harness/mutator/,$$(SAN_CC),$(call objects,$(BUILD)/san/obj,$(MUTATOR_SRC)) $(BUILD)/san/libfcvi.a))
$(eval $(call tests,$(BUILD)/san,harness/capture/,$$(SAN_CC) $$(WITH_PCAP),$(BUILD)/san/obj/harness/capture/tap.o))
$(eval $(call tests,$(BUILD)/san,refimpl/vipl/,$$(SAN_CC),$(call objects,$(BUILD)/san/obj,$(VIPL_TEST_PARTS)) $(BUILD)/san/libvipl.a $(BUILD)/san/libfcvi.a))

COV_TESTS := $(TEST_SRC:%.c=$(BUILD)/cov/%)
$(eval $(call variant,$(BUILD)/cov/obj,$$(CC) -std=c11 -D_DEFAULT_SOURCE -O1 -fno-inline -g $$(ASSERTS) $$(INCLUDES) $$(COVERAGE)))
$(foreach room,codec refimpl conformance/monitor,$(BUILD)/cov/obj/$(room)/src/%.o): private COVERAGE := --coverage
$(eval $(call archive,$(BUILD)/cov/libfcvi.a,$(call objects,$(BUILD)/cov/obj,$(LIB_SRC))))
$(eval $(call tests,$(BUILD)/cov,,$$(CC) --coverage,$(BUILD)/cov/libfcvi.a))

LONG_TESTS := %/test_total %/test_seeds %/test_fabric_data %/test_messages %/test_vipl_programs
longest_first = $(filter $(LONG_TESTS),$(1)) $(filter-out $(LONG_TESTS),$(1))

check-c: $(TESTS) ## C unit tests
	@FCVI_SRCDIR="$(CURDIR)" harness/run_tests.sh $(call longest_first,$(TESTS))

check-san: $(SAN_TESTS) $(CASE_CAPTURES) ## the same under ASan and UBSan
	@CK_TIMEOUT_MULTIPLIER=10 FCVI_SEED_TESTS=10 FCVI_SRCDIR="$(CURDIR)" harness/run_tests.sh $(call longest_first,$(SAN_TESTS))

PY_DIRS := harness/fcvi harness/ffi harness/bench harness/interop harness/release harness/shims harness/tests harness/case_captures.py conformance fuzz
check-types: all ## mypy and flake8
	PYTHONPATH= MYPYPATH=harness mypy --config-file setup.cfg harness/fcvi conformance
	flake8 --config setup.cfg $(PY_DIRS)

check-install: all ## install into a scratch directory and use what is there
	@harness/check_install.sh

valgrind: $(TESTS) ## C unit tests under valgrind
	@for t in $(TESTS); do CK_FORK=no CK_TIMEOUT_MULTIPLIER=100 FCVI_SEED_TESTS=1 FCVI_SRCDIR="$(CURDIR)" FCVI_QUICK=1 valgrind -q --error-exitcode=1 --leak-check=full $$t || exit 1; done

coverage: $(COV_TESTS) ## line and branch coverage of codec and refimpl by the C tests
	find $(BUILD)/cov -name '*.gcda' -delete
	@FCVI_SRCDIR="$(CURDIR)" CK_FORK=no CK_TIMEOUT_MULTIPLIER=10 FCVI_SEED_TESTS=20 harness/run_tests.sh $(call longest_first,$(COV_TESTS))
	$(GCOVR) $(BUILD)/cov --filter refimpl/src --txt --fail-under-line 95 > /dev/null
	$(GCOVR) $(BUILD)/cov --filter refimpl/src --txt --branches --fail-under-branch 95
	$(GCOVR) $(BUILD)/cov --filter codec/src --txt --branches --fail-under-line 100 --fail-under-branch 100

C_FILES = $(sort $(shell find codec refimpl conformance harness fuzz -name '*.[ch]'))
format: ## clang-format over all C
	clang-format -i $(C_FILES)

format-check:
	clang-format --dry-run -Werror $(C_FILES)

lint: check-types format-check check-tidy ## clang-tidy, cppcheck, flake8, mypy

TIDY_SRC := $(LIB_SRC) $(VIPL_SRC) $(CAPTURE_SRC) $(SANDBOX_SRC) harness/sandbox/make_filter.c $(AGENT_SRC) $(MUTATOR_SRC) $(EXPLORE_SRC) $(if $(HAS_VERBS),$(filter-out $(LINES_SRC),$(VERBS_SRC))) $(wildcard harness/ffi/*.c harness/opener/*.c harness/shims/*.c harness/host/*.c harness/agent/provider_*.c harness/load/*.c)
# how many states of a function clang's analyzer follows; lint takes its own default, for three times the time
TIDY_NODES := 20000
lint: TIDY_NODES := 225000
TIDY = clang-tidy --quiet $(foreach word,-Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES),--extra-arg=$(word))
CPPCHECK = cppcheck --quiet -j $$(nproc) --std=c11 -D__GNUC__ --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
  --suppress=missingIncludeSystem $(INCLUDES)
# what cppcheck sees once for each macro that makes other code of it; anywhere else each would be the same code again, at the same
# price. What __has_feature stands for is what FCVI_ASSERTS gives
CONDITIONAL = $(sort $(VIPL_SRC) $(shell grep -lE '^ *[#] *(if|elif)|FCVI_ASSERT|include.*vipl|include.*mutator.h' $(TIDY_SRC)))
check-tidy: ## clang-tidy and cppcheck
	@printf '%s\n' $(TIDY_SRC) | xargs -P $$(nproc) -n 2 sh -c '$(TIDY) "$$@" -- -std=c11 -D_DEFAULT_SOURCE $(INCLUDES) -Iharness/ffi 2> /dev/null' tidy
	@$(CPPCHECK) $(filter-out $(CONDITIONAL),$(TIDY_SRC))
	@$(CPPCHECK) --force -U__has_feature $(CONDITIONAL)

clean: ## remove the build
	rm -rf $(BUILD)

# ---- what was included ----

DEPENDENCIES := $(shell find $(wildcard $(TREES)) -name '*.d' 2> /dev/null)
$(DEPENDENCIES): ;
-include $(DEPENDENCIES)
