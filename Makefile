# The front door: what people type. The build itself is CMake + Ninja.
BUILD ?= build
CMAKE_FLAGS ?=

.PHONY: all deps install demo check check-full check-interop bench asan tsan fuzz format clean

all: deps
	@cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS) >$(BUILD).cmake.log 2>&1 || { cat $(BUILD).cmake.log; exit 1; }
	@rm -f $(BUILD).cmake.log
	@ninja -C $(BUILD)
	@ln -sf src/cli/cuzk $(BUILD)/cuzk

deps:
	@scripts/deps.sh

# Below PREFIX (/usr/local), in DESTDIR if it is set: the program, the unit for systemd, its account.
PREFIX ?= /usr/local
install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

# Proves a real Filecoin PoRep of a 2 KiB sector on the CPU and verifies it.
demo: all
	@scripts/demo.sh $(BUILD)

check: all
	@scripts/check.sh $(BUILD) check

# Also what takes long or much memory: the 32 GiB circuits.
check-full: all
	@scripts/check.sh $(BUILD) full

# gRPC clients that are not ours against a daemon; needs node and npm (and network, the first time).
check-interop: all
	@tests/interop/run.sh $(BUILD)

bench: all
	@scripts/bench.sh $(BUILD)

# All unit tests under AddressSanitizer and UndefinedBehaviorSanitizer.
asan:
	@$(MAKE) --no-print-directory all BUILD=build-asan CMAKE_FLAGS="-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUZK_SANITIZE=address,undefined"
	@ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 scripts/check.sh build-asan unit

# What has threads of its own under ThreadSanitizer, and a daemon with clients for SECONDS seconds (default 20).
tsan:
	@scripts/tsan.sh $${SECONDS:-20}

# Each decoder fuzzed for SECONDS seconds (default 60).
fuzz:
	@scripts/fuzz.sh $${SECONDS:-60}

format:
	@find $(wildcard src tests bench fuzz include) -name '*.[ch]' | xargs clang-format -i

clean:
	rm -rf build build-*
