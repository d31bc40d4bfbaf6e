# What runs the suite: captures, the upper tester agent, the extension module, the command, benchmarks and the Python tests.

CAPTURE_SRC := $(wildcard harness/capture/*.c harness/judge/*.c)
CAPTURE_TEST_SRC := $(wildcard harness/capture/tests/test_*.c)
# what every agent has: its lines, their parameters, and who may be a client
LINES_SRC := $(wildcard harness/lines/*.c)
AGENT_SRC := $(filter-out harness/agent/provider_%.c,$(wildcard harness/agent/*.c)) $(LINES_SRC)
CAPTURE_OBJ := $(call objects,$(BUILD)/obj,$(CAPTURE_SRC))
SANDBOX_SRC := harness/sandbox/sandbox.c
EXTENSION := $(BUILD)/python/.built

# what Python runs with in this tree
IN_TREE = PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON)

$(eval $(call archive,$(BUILD)/libfcvi-capture.a,$(CAPTURE_OBJ)))

# The mutator that knows the field table: a shared object of its own, whose codec is not instrumented, so that it serves libFuzzer,
# AFL++ and other people's targets as it is; and without the entry points that fuzzing engines look for, for `fcvi fuzz`
MUTATOR_SRC := $(wildcard harness/mutator/*.c)
MUTATOR_OBJ := $(call objects,$(BUILD)/obj,$(MUTATOR_SRC))
MUTATOR_TEST_SRC := $(wildcard harness/mutator/tests/test_*.c)
PUBLIC_HEADERS += harness/mutator/fcvi_mutator.h
$(eval $(call archive,$(BUILD)/libfcvi-mutator.a,$(filter-out %/hooks.o,$(MUTATOR_OBJ))))

$(BUILD)/libfcvi-mutator.so: $(MUTATOR_OBJ) $(BUILD)/libfcvi.a harness/mutator/exports.map
	$(CC) -shared -Wl,-soname,libfcvi-mutator.so.$(SOVERSION) -Wl,-Bsymbolic -Wl,--version-script=harness/mutator/exports.map $(HARDEN_LINK) $(LDFLAGS) \
	  $(MUTATOR_OBJ) $(BUILD)/libfcvi.a $(LIBS) -o $@
	ln -sf libfcvi-mutator.so $@.$(SOVERSION)
# the sandbox of the reader; its seccomp filter is made here, so that a reader starts without libseccomp
$(BUILD)/make_filter: harness/sandbox/make_filter.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(WARNINGS) -O1 $< -lseccomp -o $@
$(BUILD)/obj/filter.c: $(BUILD)/make_filter
	@mkdir -p $(@D)
	$< > $@
$(BUILD)/obj/filter.o: $(BUILD)/obj/filter.c harness/sandbox/filter.h
	$(CC) $(ALL_CFLAGS) -c $< -o $@
$(eval $(call archive,$(BUILD)/libfcvi-sandbox.a,$(call objects,$(BUILD)/obj,$(SANDBOX_SRC)) $(BUILD)/obj/filter.o))

# opens an interface for who may not: small enough to be given a capability, and linked with nothing but the C library
$(BUILD)/fcvi-open: harness/opener/fcvi_open.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIE -pie $(HARDEN_LINK) $(LDFLAGS) $< -o $@

ENVELOPE_SRC := $(patsubst %,harness/capture/%.c,envelope ethernet ip fcoe cisco delimited frames)
# libvipl has them inside and shows nothing of them
$(BUILD)/obj/harness/capture/%.o $(BUILD)/obj/harness/host/%.o: private ALL_CFLAGS += -fvisibility=hidden
# what lets a port act in real time, on Ethernet or on TCP
HOST_SRC := harness/host/host.c harness/host/sockets.c harness/host/fcoe.c harness/host/opener.c harness/capture/live.c harness/capture/adopted.c $(ENVELOPE_SRC)
# the same for programs that have libvipl alone
VIPL_HOST_SRC := $(HOST_SRC) harness/host/conf.c harness/host/open.c
# the upper tester agent with our libvipl; for another: make agent VIPL_LIBS="-L... -lvipl" VIPL_INCLUDE=DIR
AGENT_PORT_SRC := harness/agent/provider_reference.c harness/agent/provider_inject.c harness/agent/provider_stream.c harness/agent/provider_privileges.c $(HOST_SRC)
$(BUILD)/fcvi-agent: $(call objects,$(BUILD)/obj,$(AGENT_SRC) $(AGENT_PORT_SRC)) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a
	$(call say,linking $@)
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) $(LDFLAGS) $^ $(LIBS) -ljansson -lpcap -lpthread -o $@

$(BUILD)/san/fcvi-agent: $(call objects,$(BUILD)/san/obj,$(AGENT_SRC) $(AGENT_PORT_SRC)) $(BUILD)/san/libvipl.a $(BUILD)/san/libfcvi.a
	$(SAN_CC) $^ $(LIBS) -ljansson -lpcap -lpthread -o $@

VIPL_INCLUDE ?= refimpl/vipl/include
VIPL_LIBS ?= -L$(BUILD) -lvipl
AGENT_LACKS := $(BUILD)/agent-plain/vipl_lacks.h
# what the vendor's vipl.h has otherwise than the guide is told, and the agent is built by it
$(AGENT_LACKS): harness/agent/vipl_header.py $(VIPL_INCLUDE)/vipl.h FORCE
	@mkdir -p $(@D)
	@$(PYTHON) harness/agent/vipl_header.py $(VIPL_INCLUDE) --cc "$(CC) $(CFLAGS)" --out $@.new || test $$? = 1
	@cmp -s $@.new $@ || cp $@.new $@
.PHONY: vipl-header
vipl-header: ## what a vendor's vipl.h lacks or has otherwise than the VI-DG: VIPL_INCLUDE=DIR
	@$(PYTHON) harness/agent/vipl_header.py $(VIPL_INCLUDE) --cc "$(CC) $(CFLAGS)"
# another header may be without const, or have handles of other kinds
AGENT_WARNINGS = $(if $(filter refimpl/vipl/include,$(VIPL_INCLUDE)),$(WARNINGS),-w -Wno-int-conversion -Wno-incompatible-pointer-types)
$(BUILD)/fcvi-agent-plain: $(AGENT_SRC) harness/agent/provider_plain.c $(wildcard harness/agent/*.h harness/lines/*.h) $(AGENT_LACKS)
	@mkdir -p $(BUILD)
	$(CC) -std=c11 -D_DEFAULT_SOURCE $(AGENT_WARNINGS) $(HARDEN) $(HARDEN_LINK) -I$(VIPL_INCLUDE) -DVIPL_LACKS_H='"$(abspath $(AGENT_LACKS))"' $(CFLAGS) $(filter %.c,$^) $(VIPL_LIBS) -ljansson -lpthread -o $@
agent: $(BUILD)/fcvi-agent-plain ## the upper tester agent for any libvipl: VIPL_LIBS="-L... -lvipl" VIPL_INCLUDE=DIR

# two NICs joined to each other behind a libvipl of their own: a provider where there is no hardware
PAIR_OBJECTS := $(call objects,$(BUILD)/obj,harness/agent/provider_pair.c $(AGENT_PORT_SRC))
.PHONY: vipl-pair
vipl-pair: $(BUILD)/libvipl-pair.so ## a provider of two NICs that are joined to each other, to try the plain agent with
$(BUILD)/libvipl-pair.so: $(PAIR_OBJECTS) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a refimpl/vipl/exports.map
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) -shared -Wl,--version-script=refimpl/vipl/exports.map $(PAIR_OBJECTS) -Wl,--whole-archive $(BUILD)/libvipl.a -Wl,--no-whole-archive $(BUILD)/libfcvi.a $(LDFLAGS) $(LIBS) -ljansson -lpcap -lpthread -o $@

# what stands before a libvipl and makes it a faulty one: a wrapper for each call of the header
$(BUILD)/obj/shims/wrappers.c: harness/shims/make_shim.py refimpl/vipl/include/vipl.h
	@mkdir -p $(@D)
	$(PYTHON) $^ > $@.new && mv $@.new $@
$(BUILD)/vipl-shim.so: $(BUILD)/obj/shims/wrappers.c $(wildcard harness/shims/*.c harness/shims/*.h)
	$(CC) $(ALL_CFLAGS) -fPIC -Iharness/shims -shared $(filter %.c,$^) $(LDFLAGS) -ldl -lpthread -o $@
FAULTY_PROVIDERS := $(BUILD)/vipl-shim.so $(BUILD)/libvipl-pair.so $(BUILD)/fcvi-agent-plain
.PHONY: vipl-bank
vipl-bank: all $(FAULTY_PROVIDERS) ## every faulty provider of VIPL, and whether its row catches it
	$(IN_TREE) -m harness.tests.vipl.test_vipl_faults

# the upper tester agent for RDMA verbs, where libibverbs and librdmacm are
VERBS_SRC := $(wildcard harness/verbs/*.c) $(LINES_SRC)
VERBS_LIBS := -lrdmacm -libverbs -ljansson -lpthread
HAS_VERBS := $(shell printf '\043include <infiniband/verbs.h>\n\043include <rdma/rdma_cma.h>\n' | $(CC) -E -x c - > /dev/null 2>&1 && echo yes)
VERBS_AGENT := $(if $(HAS_VERBS),$(BUILD)/fcvi-verbs-agent)
VERBS_SAN := $(if $(HAS_VERBS),$(BUILD)/san/fcvi-verbs-agent)
$(BUILD)/fcvi-verbs-agent: $(call objects,$(BUILD)/obj,$(VERBS_SRC))
	$(call say,linking $@)
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) $(LDFLAGS) $^ $(VERBS_LIBS) -o $@
$(BUILD)/san/fcvi-verbs-agent: $(call objects,$(BUILD)/san/obj,$(VERBS_SRC))
	$(SAN_CC) $^ $(VERBS_LIBS) -o $@

# a long run of random legal calls, with and without sanitizers
LOAD_SRC := harness/load/vipl_load.c $(AGENT_PORT_SRC)
LOAD_SECONDS ?= 3600
$(BUILD)/vipl_load: $(call objects,$(BUILD)/obj,$(LOAD_SRC)) $(BUILD)/libvipl.a $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(HARDEN_LINK) $(LDFLAGS) $^ $(LIBS) -ljansson -lpcap -lpthread -o $@
$(BUILD)/san/vipl_load: $(call objects,$(BUILD)/san/obj,$(LOAD_SRC)) $(BUILD)/san/libvipl.a $(BUILD)/san/libfcvi.a
	$(SAN_CC) $^ $(LIBS) -ljansson -lpcap -lpthread -o $@
$(eval $(call variant,$(BUILD)/tsan/obj,$$(CC) -std=c11 -D_DEFAULT_SOURCE -O1 -g -fsanitize=thread $$(ASSERTS) $$(INCLUDES)))
$(BUILD)/tsan/vipl_load: $(call objects,$(BUILD)/tsan/obj,$(LOAD_SRC) $(VIPL_SRC) $(LIB_SRC))
	$(CC) -fsanitize=thread $^ $(LIBS) -ljansson -lpcap -lpthread -o $@
# programs of VIPL with the library inside, under sanitizers
VIPL_PROGRAM_SRC := harness/tests/vipl/programs/program.c $(VIPL_HOST_SRC) $(VIPL_SRC) $(LIB_SRC)
$(BUILD)/san/vipl_program: $(call objects,$(BUILD)/san/obj,$(VIPL_PROGRAM_SRC))
	$(SAN_CC) $^ $(LIBS) -lpcap -lpthread -o $@
$(BUILD)/tsan/vipl_program: $(call objects,$(BUILD)/tsan/obj,$(VIPL_PROGRAM_SRC))
	$(CC) -fsanitize=thread $^ $(LIBS) -lpcap -lpthread -o $@
.PHONY: vipl-load
vipl-load: $(BUILD)/vipl_load $(BUILD)/tsan/vipl_load $(BUILD)/san/vipl_load ## random legal VIPL calls by 8 threads on 64 VIs for LOAD_SECONDS, then a tenth of it under TSan and under ASan
	$(BUILD)/vipl_load $(LOAD_SECONDS) 1
	$(BUILD)/tsan/vipl_load $$(( ($(LOAD_SECONDS) + 9) / 10 )) 2
	$(BUILD)/san/vipl_load $$(( ($(LOAD_SECONDS) + 9) / 10 )) 3


# the TCP streams of FCIP, loaded when one comes: libtins and what it needs take longer to load than many captures to read
STREAMS := $(BUILD)/python/libfcvi-streams.so
$(STREAMS): harness/capture/streams.cc harness/capture/streams.h
	@mkdir -p $(@D)
	$(call say,compiling $@)
	$(CXX) -std=c++17 -O2 -g -fPIC $(HARDEN) $(HARDEN_LINK) -Wall -Wextra -Werror -Wshadow -fvisibility=hidden -shared $< $(LDFLAGS) -ltins -o $@

$(EXTENSION): harness/ffi/build.py $(wildcard harness/ffi/*.c harness/ffi/*.h) $(foreach name,first owner door,harness/lines/$(name).c harness/lines/$(name).h) $(BUILD)/libfcvi.a $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi-sandbox.a $(BUILD)/libfcvi-mutator.a
	$(call say,compiling the extension module of Python, which takes longest)
	$(PYTHON) harness/ffi/build.py --flags="$(HARDEN) $(HARDEN_LINK)" $(if $(LTO),--lto) --build $(BUILD) --out $(@D)
	@touch $@

# The command starts without a site module, so this is the moment to ask which interpreter PYTHON is and where it keeps packages.
$(BUILD)/fcvi: harness/fcvi.sh $(BUILD)/python.name
	packages=$$($(PYTHON) -I -c 'import site; print(", ".join(f"\"{path}\"" for path in site.getsitepackages()))') && \
	python=$$($(PYTHON) -I -c 'import sys; print(sys.executable)') && \
	env="env --block-signal=INT,TERM,HUP " && { $${env}true 2>/dev/null || env=; } && \
	sed -e "s|@ENV@|$$env|" -e "s|@PYTHON@|$$python|" -e "s|@PACKAGES@|$$packages|" $< > $@
	chmod 755 $@
$(BUILD)/python.name: FORCE
	@mkdir -p $(@D)
	@echo '$(PYTHON)' | cmp -s - $@ || echo '$(PYTHON)' > $@

# the Wireshark dissector
$(BUILD)/fcvi.lua: harness/wireshark/fcvi.lua.in $(wildcard harness/wireshark/*.lua) harness/fcvi/report/dissector.py $(EXTENSION)
	$(call say,making $@)
	PYTHONPATH=$(BUILD)/python:harness $(PYTHON) -m fcvi.report.dissector $< > $@

LUA_PLUGINS ?= $(shell tshark -G folders 2>/dev/null | sed -n 's/^Personal Lua Plugins:[[:space:]]*//p')
install-dissector: $(BUILD)/fcvi.lua ## the Wireshark dissector for this user; LUA_PLUGINS=DIR puts it elsewhere
	@test -n '$(LUA_PLUGINS)' || { echo 'no tshark to ask for the directory of plugins: give LUA_PLUGINS=DIR' >&2; exit 2; }
	install -D -m 644 $< '$(LUA_PLUGINS)/fcvi.lua'

# ---- documents that are made from the code ----

manual: all ## manual pages, shell completion, C reference (api.md) and test plan, into build/doc
	$(IN_TREE) harness/docs/manual.py $(BUILD)/doc $(BUILD)/fcvi-agent $(VERBS_AGENT)
	$(PYTHON) harness/docs/api.py . > $(BUILD)/doc/api.md
	$(IN_TREE) -m conformance.test_plan > $(BUILD)/doc/test-plan.md

# ---- recordings ----

# What the suite makes of each case on the reference port: the repository keeps its SHA-256, the build makes it when it is needed.
CASE_CAPTURES := $(BUILD)/pcaps/.made
PCAPS_MANIFEST := pcaps/cases.sha256
$(CASE_CAPTURES): harness/case_captures.py $(EXTENSION) $(BUILD)/fcvi $(shell find harness/fcvi conformance -name tests -prune -o \( -name '*.py' -o -name '*.tsv' -o -name '*.toml' \) -print)
	@mkdir -p $(@D)
	$(IN_TREE) harness/case_captures.py make $(BUILD)/fcvi $(@D)
	@touch $@

pcaps: $(CASE_CAPTURES) ## the capture of each case, from the reference port: build/pcaps; and their SHA-256: pcaps/cases.sha256
	$(IN_TREE) harness/case_captures.py renew $(<D) $(PCAPS_MANIFEST)

check-pcaps: $(CASE_CAPTURES) ## the capture of each case is what the manifest says, byte for byte
	$(IN_TREE) harness/case_captures.py check $(<D) $(PCAPS_MANIFEST)

.PHONY: pcaps-diff
OF ?= *
REV ?= HEAD
pcaps-diff: $(CASE_CAPTURES) ## what changed in the captures of cases since a commit, in words: OF=CASE REV=HEAD (builds that commit in build/was)
	@harness/captures_diff.sh $(BUILD) '$(REV)' '$(OF)'

# ---- running ----

certify: all ## run the suite against the reference port; the report is in report/
	$(BUILD)/fcvi certify --dut ref --report report --force

LIVE_RUNS ?= 1
LIVE_DEVICE ?= endpoint
LIVE_ROLE ?= point-to-point
live: all ## the whole suite over real frames on a veth pair, LIVE_RUNS times; LIVE_DEVICE=endpoint or agent, LIVE_ROLE=... or all
	$(IN_TREE) -m harness.tests.live.full --runs $(LIVE_RUNS) --device $(LIVE_DEVICE) --role $(LIVE_ROLE) --keep $(BUILD)/live

interop: all ## login-level cases against libfc and LIO of the Debian kernel in QEMU (needs apt; about two minutes)
	PYTHONPATH=$(BUILD)/python:harness:. timeout 600 $(PYTHON) -m harness.interop $(BUILD)/interop

RDMA_ARGS ?=
.PHONY: interop-rdma
interop-rdma: all $(if $(findstring --san,$(RDMA_ARGS)),$(VERBS_SAN)) ## the cases of RDMA verbs against rxe and siw of the Debian kernel in QEMU (needs apt); RDMA_ARGS=... as verbs.md says
	PYTHONPATH=$(BUILD)/python:harness:. $(PYTHON) -m harness.interop.rdma $(BUILD)/interop-rdma $(RDMA_ARGS)

DIFFERENTIAL_FRAMES ?= 2000000
DIFFERENTIAL_SEED ?= 1
differential: all ## the codec against a decoder written from the tables alone, on DIFFERENTIAL_FRAMES mutated frames
	$(IN_TREE) -m harness.tests.capture.differential $(DIFFERENTIAL_FRAMES) $(DIFFERENTIAL_SEED)

.PHONY: replay-vendors
replay-vendors: all $(CASE_CAPTURES) ## every recording against every variant and every faulty device of the independent endpoint: build/replay-vendors.json
	$(IN_TREE) -m harness.tests.independent.replay_vendors --json $(BUILD)/replay-vendors.json

.PHONY: verbs-bank
verbs-bank: all ## each fault of the model of RDMA verbs against the cases that list its row, in both flavours (an hour)
	$(IN_TREE) -m conformance.tests.verbs_bank
	$(IN_TREE) -m conformance.tests.verbs_bank --flavour ib

TEST_PROGRAMS := $(CASE_CAPTURES) $(FAULTY_PROVIDERS) $(BUILD)/vipl_load
# two more than there are cores: many tests wait for a process or a socket
WORKERS = $$(( $$(nproc) + 2 ))
check-python: all $(TEST_PROGRAMS) ## pytest over the harness and the catalogue, but for what is marked nightly
	$(IN_TREE) -m pytest -q --durations=30 -n $(WORKERS) -m 'not nightly' harness/tests conformance/tests

check-slow: all $(TEST_PROGRAMS) $(BUILD)/san/vipl_load $(BUILD)/san/vipl_program $(BUILD)/tsan/vipl_program $(VERBS_SAN) ## the tests that are marked nightly
	$(IN_TREE) -m pytest -q --durations=30 -n $(WORKERS) -m nightly harness/tests conformance/tests

# ---- benchmarks ----

BENCH_TOOLS := $(patsubst harness/bench/%.c,$(BUILD)/bench_%,$(wildcard harness/bench/*.c))
BENCH_ROUNDS ?= 5
bench: all $(BUILD)/bench $(BUILD)/bench_port $(BENCH_TOOLS) ## every figure of harness/docs/performance.md as a ratio of one run: build/bench.json
	$(PYTHON) harness/bench/bench.py --build $(BUILD) --rounds $(BENCH_ROUNDS) --json $(BUILD)/bench.json

check-speed: $(BUILD)/bench_lint $(BUILD)/bench_traffic ## instructions a frame (callgrind) are at most 3 % above harness/bench/instructions.json
	$(PYTHON) harness/bench/instructions.py --build $(BUILD)

$(BUILD)/bench_traffic: refimpl/bench/pair.h

$(BUILD)/bench_sockets: harness/bench/sockets.c harness/host/sockets.c harness/host/sockets.h $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(LTO) harness/bench/sockets.c harness/host/sockets.c $(BUILD)/libfcvi.a $(LIBS) -o $@

$(BUILD)/bench_vipl: harness/bench/vipl.c $(BUILD)/libvipl.so
	$(CC) $(ALL_CFLAGS) $< -L$(BUILD) -Wl,-rpath,$(abspath $(BUILD)) -lvipl -o $@

$(BUILD)/bench_%: harness/bench/%.c $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi.a
	$(CC) $(ALL_CFLAGS) $(LTO) $< $(BUILD)/libfcvi-capture.a $(BUILD)/libfcvi.a -lpcap $(LIBS) -o $@
