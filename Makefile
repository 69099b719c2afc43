# memcachedb: no configure step. GNU make, a C11 compiler, pkg-config.
#
#   make              the server: build/<variant>/memcachedb, linked as ./memcachedb
#   make run          install what the build needs, build, serve 127.0.0.1:21201
#   make check        install what the tests need, build, run every suite
#   make check-fast   lint, unit, fuzz, e2e and bench: the daily loop
#   make check-long   every suite with its long cases
#   make check-reference   put memcached itself through our tests
#   make lint         the house rules; `make format` repairs the layout
#   make fuzz T=text [SECONDS=60]
#   make bench        the load generator, then the side-by-side runs
#   make install [DESTDIR=] [prefix=/usr/local]; make uninstall; make clean
#
# CC=gcc|clang and SAN=asan|ubsan|tsan choose the variant; each has its own
# folder below build/. CFLAGS, CPPFLAGS and LDFLAGS are the user's. V=1 shows
# the commands. ARGS are more options for what `make run` and bench start.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
CFLAGS ?= -O2 -g
prefix ?= /usr/local
SECONDS ?= 60
JOBS ?= $(shell nproc)
parallel_make = $(MAKE) --no-print-directory -j$(JOBS)

ifneq (,$(findstring NDEBUG,$(CPPFLAGS) $(CFLAGS)))
$(error assertions are part of this program: NDEBUG is refused)
endif

# say NAME: one short line per step, or with V=1 the command itself.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $@)

B := build/$(notdir $(firstword $(CC)))$(if $(SAN),-$(SAN))

# --- flags -----------------------------------------------------------------

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 \
	-Werror
# Needs an optimizer; sanitizers see less through fortified calls.
fortify := $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),\
	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

san_ := $(fortify)
san_asan := -fsanitize=address -fno-omit-frame-pointer
san_ubsan := -fsanitize=undefined -fno-sanitize-recover=all
san_tsan := -fsanitize=thread
san_fuzz := -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all
ifeq ($(origin san_$(SAN)),undefined)
$(error SAN is asan, ubsan, tsan or empty, not "$(SAN)")
endif
sanitizer := $(san_$(SAN))

# Expanded at the first use and then kept, so that `make run` can install
# pkg-config and the libraries before anybody asks for them.
lazy = $(eval $(1) := $$(shell $(2)))$($(1))
packages := libevent libsasl2 libcrypt libssl libcrypto
package_cflags = $(call lazy,package_cflags,pkg-config --cflags $(packages))
package_libs = $(call lazy,package_libs,pkg-config --libs $(packages))
check_libs = $(call lazy,check_libs,pkg-config --libs check)
# Berkeley DB ships no .pc file.
db_libs = $(if $(wildcard $(shell $(CC) -print-file-name=libdb-5.3.so)),\
	-ldb-5.3,-ldb)

compile = $(CC) -std=c11 -D_DEFAULT_SOURCE -I. $(CPPFLAGS) $(warnings) \
	-fstack-protector-strong -fPIE $(sanitizer) -pthread $(CFLAGS)
link = $(CC) $(sanitizer) -pthread -pie -Wl,-z,relro,-z,now $(CFLAGS) $(LDFLAGS)
libs = $(package_libs) $(db_libs) -lm

# --- files -----------------------------------------------------------------

program := $(B)/memcachedb
loadgen := $(B)/bench/loadgen
archive := $(B)/libmemcachedb.a
bench_archive := $(B)/libbench.a
unit_archive := $(B)/libunit.a
man_page := $(B)/memcachedb.8
faultinject := $(B)/faultinject.so

objects_of = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))
programs_of = $(patsubst %.c,$(B)/%,$(wildcard $(1)))

main_object := $(call objects_of,server/main.c)
house_objects := $(filter-out $(main_object),\
	$(call objects_of,protocol/*.c storage/*.c server/*.c))
bench_main := $(call objects_of,bench/loadgen.c)
bench_objects := $(filter-out $(bench_main),$(call objects_of,bench/*.c))
unit_programs := $(call programs_of,tests/unit/test_*.c)
unit_helpers := $(filter-out $(unit_programs:%=%.o),\
	$(call objects_of,tests/unit/*.c))
fuzz_programs := $(call programs_of,tests/fuzz/fuzz_*.c)
fault_sources := $(wildcard tests/fault/*.c)
sources := $(wildcard $(foreach d,protocol storage server bench tests/*,\
	$(d)/*.c $(d)/*.h))

built := $(program) $(loadgen) $(man_page)

# --- what people ask for ---------------------------------------------------

.PHONY: all run tests check check-long check-fast check-reference lint \
	format fuzz bench install uninstall clean FORCE

all: $(built)
	@ln -sfn $(program) memcachedb

# The server refuses to run as root unless told so.
run:
	@tools/install-packages build
	@$(parallel_make) all
	@exec $(program) -l 127.0.0.1 -p 21201 -H data \
		$$(test "$$(id -u)" -ne 0 || echo -u root) $(ARGS)

tests: $(built) $(unit_programs) $(fuzz_programs) $(faultinject)

run_tests = @tests/run --build $(B) --san "$(SAN)"

check check-long:
	@tools/install-packages check
	@$(parallel_make) tests
	$(run_tests) $(if $(filter %-long,$@),--long) lint unit fuzz e2e \
		bench differential storm crash fault clients

check-fast: tests
	$(run_tests) lint unit fuzz e2e bench

# Our expectations are memcached's, but for differences that are marked.
check-reference:
	@tools/install-packages check
	$(run_tests) --program /usr/bin/memcached e2e clients

lint: $(built) $(archive)
	$(run_tests) lint

format:
	clang-format -i $(sources)

# New inputs and crashes stay in the build folder; good ones are copied into
# tests/fuzz/corpus/$(T) by hand.
fuzz:
	@test -f "tests/fuzz/fuzz_$(T).c" || { echo "make fuzz T=<one of:" \
		"$(patsubst $(B)/tests/fuzz/fuzz_%,%,$(fuzz_programs))>"; exit 2; }
	@tools/install-packages check
	@$(parallel_make) CC=clang SAN=fuzz \
		build/clang-fuzz/tests/fuzz/fuzz_$(T)
	@mkdir -p build/fuzz/$(T)
	build/clang-fuzz/tests/fuzz/fuzz_$(T) -max_total_time=$(SECONDS) \
		-timeout=10 -artifact_prefix=build/fuzz/$(T)- \
		build/fuzz/$(T) tests/fuzz/corpus/$(T)

bench:
	@tools/install-packages bench
	@$(parallel_make) all
	@bench/compare --short $(ARGS)

# --- install ---------------------------------------------------------------

bin_dir = $(DESTDIR)$(prefix)/bin
man_dir = $(DESTDIR)$(prefix)/share/man/man8
sample_dir = $(DESTDIR)$(prefix)/share/doc/memcachedb
samples := $(filter-out %.md,$(wildcard conf/*))

install: all
	install -d $(bin_dir) $(man_dir) $(sample_dir)
	install -m 755 $(program) $(bin_dir)/memcachedb
	install -m 644 $(man_page) $(man_dir)/memcachedb.8
	install -m 644 README.md LICENSE $(samples) $(sample_dir)
	sed -i 's|/usr/local/bin|$(prefix)/bin|' $(sample_dir)/*.service

uninstall:
	rm -f $(bin_dir)/memcachedb $(man_dir)/memcachedb.8
	rm -rf $(sample_dir)

clean:
	rm -rf build memcachedb

# --- how it is built -------------------------------------------------------

# Changed flags rebuild the variant.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(compile) / $(link)' | cmp -s - $@ || \
		echo '$(compile) / $(link)' >$@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile) $(package_cflags) -MMD -MP -c -o $@ $<

$(archive): $(house_objects)
$(bench_archive): $(bench_objects)
$(unit_archive): $(unit_helpers)
$(archive) $(bench_archive) $(unit_archive):
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $^

$(program): $(main_object) $(archive)
$(loadgen): $(bench_main) $(bench_archive)
$(program) $(loadgen):
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(libs)

# The list of options in the manual comes from the table the program parses by.
$(man_page): server/memcachedb.8.in $(program)
	$(call say,MAN)
	$(Q)$(program) --help-mdoc >$@.options
	$(Q)sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' $< >$@

$(unit_programs): %: %.o $(unit_archive) $(archive) $(bench_archive)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(libs) $(check_libs)

# One source is the fuzz target (SAN=fuzz) and the replayer of its corpus.
fuzz_flags := $(if $(filter fuzz,$(SAN)),-fsanitize=fuzzer,-DFUZZ_REPLAY)
$(fuzz_programs): $(B)/%: %.c $(archive) $(B)/flags
	@mkdir -p $(@D)
	$(call say,FUZZ)
	$(Q)$(compile) $(package_cflags) $(fuzz_flags) -MMD -MP -MF $@.d -o $@ \
		$< $(archive) $(libs)

# Preloaded before any sanitizer's library: built without.
$(faultinject): $(fault_sources) $(B)/flags
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(warnings) -O2 -g -fPIC -shared \
		-pthread -MMD -MP -MF $@.d -o $@ $(fault_sources) -ldl

-include $(shell find $(B) -name '*.d' 2>/dev/null)
