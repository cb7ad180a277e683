# Builds and runs, with the presets of CMakePresets.json.

# Clones in other folders share what the compiler cache has.
use_compiler_cache() {
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
}

# configure PRESET: writes build/PRESET/build.ninja, unless it is there and still right.
configure() {
  local preset=$1
  case $preset in
    release | dev | debug | asan | tsan) ;;
    *) wrong_use "there is no preset '$preset'; there are release, dev, debug, asan and tsan" ;;
  esac
  use_compiler_cache
  local log=build/$preset.log
  mkdir -p build
  # Which libtorch and which folder CMake was configured for; when either changes, everything is found anew.
  local configured="$PWD with $torch_prefix and .venv's Python" stamp=build/$preset/.configured
  if [ ! -e "build/$preset/build.ninja" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$configured" ]; then
    step "Configuring build/$preset" "CMake finds compilers and libraries; the log is $log"
    if ! cmake --preset "$preset" --fresh "-DCMAKE_PREFIX_PATH=$torch_prefix" \
      "-DPython_EXECUTABLE=$PWD/.venv/bin/python" >"$log" 2>&1; then
      # The first sentence of CMake's first error is the cause; the rest follows from it.
      local reason
      reason=$(sed -n '/CMake Error/,/Call Stack/p' "$log" | sed '1d; /Call Stack/,$d' | tr -s ' \n' ' ')
      rm -f "$stamp"
      refuse "CMake stopped:${reason:- see $log}"
    fi
    echo "$configured" >"$stamp"
    grep -- '-- ronde: ' "$log" | sed 's/-- ronde: /    /'
  fi
}

# build PRESET [TARGET...]: everything, or some of ninja's targets.
build() {
  local preset=$1
  shift
  configure "$preset"
  step "Building build/$preset" "$(building_takes "build/$preset" "$@")"
  ninja -C "build/$preset" "$@" || refuse "the build failed, see above"
  case $preset in release | dev) link_python_package "$preset" ;; esac
}

# How many steps, and how long they take without a compiler cache: a step costs about five seconds of one core. First the
# build's own files are brought up to date, or ninja would count the steps to that and no more.
building_takes() {
  local steps
  ninja -C "$1" build.ninja >/dev/null || true  # the build itself says what is wrong
  steps=$(ninja -C "$1" -n "${@:2}" | sed -n 's|^\[[0-9]*/\([0-9]*\)\].*|\1|p' | tail -n 1)
  case ${steps:-0} in
    0) echo "nothing has changed" ;;
    *) echo "$steps steps, at most about $((steps * 5 / $(nproc) / 60 + 1)) min on $(nproc) cores" ;;
  esac
}

# .venv's Python finds the package `ronde` of the last release or dev build.
link_python_package() {
  local folder=$PWD/build/$1/python target
  [ -d "$folder/ronde" ] || return 0
  target=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/ronde-build.pth
  [ "$(cat "$target" 2>/dev/null)" = "$folder" ] || echo "$folder" >"$target"
}

# Programs find the build and the Python environment first.
run_with_paths() {
  PATH="$PWD/build/${preset:-release}:$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv" "$@"
}

# The same for a command of the user's, in the folder where it was given.
run_for_user() {
  local root=$PWD preset=release
  [ -x build/release/ronde ] || preset=dev
  [ -x build/$preset/ronde ] || refuse "nothing is built yet: './ronde-dev build' first"
  cd "$caller"
  PATH="$root/build/$preset:$root/.venv/bin:$PATH" VIRTUAL_ENV="$root/.venv" exec "$@"
}

demo() {
  local output=build/demo
  rm -rf "$output"
  step "Running 'ronde run -n 2 ronde train demo'" \
    "two ranks train a small ResNet to classify generated glyphs; about a minute"
  run_with_paths ronde run -n 2 ronde train demo --output-dir "$output" --trace-dir "$output/trace"
  step "Running 'ronde report $output/trace'" "where the time went"
  run_with_paths ronde report "$output/trace" >"$output/report.txt"
  sed -n '/./p' "$output/report.txt" | head -n 3
  echo "The whole report: $output/trace/report.html (and $output/report.txt)"
}

# All parsers share the time; each has a folder of seeds. The same numbers are drawn every time, so that a run can be repeated.
fuzz() {
  local seconds=$1 clang
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || wrong_use "fuzz takes seconds, not '$seconds'"
  clang=$(command -v clang++-14 || command -v clang++) || true
  if [ -z "$clang" ] || ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    "$clang" -x c++ -fsanitize=fuzzer - -o /dev/null 2>/dev/null; then
    note "Not fuzzing: there is no clang with libFuzzer (Debian: clang-14 libclang-rt-14-dev)."
    return
  fi
  use_compiler_cache
  step "Building build/fuzz" "the parsers of files, by $clang with libFuzzer and sanitizers; the log is build/fuzz.log"
  mkdir -p build
  { cmake --preset fuzz "-DCMAKE_CXX_COMPILER=$clang" "-DCMAKE_C_COMPILER=${clang/clang++/clang}" &&
    cmake --build build/fuzz --target ronde_fuzz; } >build/fuzz.log 2>&1 || refuse "the build failed, see build/fuzz.log"
  local targets=(tests/fuzz/seeds/*) target each
  each=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
  for target in "${targets[@]##*/}"; do
    step "Fuzzing '$target'" "$each s"
    mkdir -p "build/fuzz/corpus/$target"
    build/fuzz/ronde_fuzz "--target=$target" -seed=1 -max_total_time="$each" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
      -verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" "build/fuzz/corpus/$target" \
      "tests/fuzz/seeds/$target" >build/fuzz/run.log 2>&1 || {
      tail -n 40 build/fuzz/run.log >&2
      refuse "'$target' failed: the bytes that do it are named above"
    }
    sed -n 's/^stat::number_of_executed_units: */    inputs: /p' build/fuzz/run.log
  done
}

# Clang alone knows the annotations of src/base/system/mutex.h; it reads sources with the flags of the release build.
locks() {
  local clang
  clang=$(command -v clang++-14 || command -v clang++) || true
  if [ -z "$clang" ]; then
    note "Not checking locks: there is no clang (Debian: clang-14)."
    return
  fi
  step "Checking locks" "what a mutex guards is touched with it held; by $clang, some minutes"
  .venv/bin/python tools/check_locks.py "$clang" build/release || refuse "locks: see the errors above"
}

run_benchmarks() {
  local names=("$@")
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(run_with_paths ronde bench --list)
  local name
  for name in "${names[@]}"; do
    step "Benchmark '$name'" "ronde bench $name"
    run_with_paths ronde bench "$name"
  done
}

cxx_files() { git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.cu'; }

format() {
  step "Formatting" "clang-format for C++, ruff for Python"
  cxx_files | xargs .venv/bin/clang-format -i
  .venv/bin/ruff format --quiet .
}

check() {
  step "Checking the format" "clang-format and ruff; './ronde-dev format' mends it"
  cxx_files | xargs .venv/bin/clang-format --dry-run -Werror
  .venv/bin/ruff format --check --quiet . || refuse "some Python files are not formatted: run './ronde-dev format'"
  .venv/bin/ruff check --quiet .
  step "Checking the tree" "includes against the arrows, lengths, getenv: tools/check_tree.py"
  .venv/bin/python tools/check_tree.py
}

tidy() {
  .venv/bin/python -m pip install -qq --disable-pip-version-check clang-tidy==18.1.8
  step "Running clang-tidy" "the rules of .clang-tidy over all sources but tests; some minutes"
  git ls-files 'src/*.cc' ':!*_test.cc' | xargs -P "$(nproc)" -n 2 .venv/bin/clang-tidy --quiet -p build/release
}
