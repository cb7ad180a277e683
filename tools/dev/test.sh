# Runs the tests of a build, and says in its last lines what failed and what was skipped.

# The targets of modules and their tests.
module_targets() {
  local module
  for module in "$@"; do echo "src/$module/all"; done
}

check_modules() {
  local module
  for module in "$@"; do
    [ -e "src/$module/CMakeLists.txt" ] || wrong_use "there is no module '$module' in src/"
  done
}

# tests_that FAILED|SKIPPED LOG: MODULE.SUITE.TEST of each, from what the programs printed, as ctest logs it.
tests_that() {
  [ -e "$2" ] || return 0
  awk -v wanted="$1" '
    function found(test) { if (!seen[module, test]++) printf "%s%s.%s", (count++ ? " " : ""), module, test }
    / Testing: / { module = $3; sub(/\..*/, "", module) }
    $1 == "[" && $2 == "RUN" { running = $4 }
    $1 == "[" && $2 ~ /^(OK|FAILED|SKIPPED)$/ && $4 ~ /\./ { sub(/,$/, "", $4); running = ""; if ($2 == wanted) found($4) }
    $0 == "<end of output>" { if (running && wanted == "FAILED") found(running); running = "" }' "$2"
}

# "comm.Nccl.Sums comm.Nccl.Ends" -> "comm.Nccl (2)": whole suites are skipped where a machine lacks something.
by_suite() {
  tr ' ' '\n' | awk -F/ '{ name = $1 == $0 ? $0 : $1 "/" $2; sub(/\.[^.]*$/, "", name); if (!count[name]++) order[n++] = name }
    END { for (i = 0; i < n; i++) if (order[i]) printf "%s%s (%d)", (i ? ", " : ""), order[i], count[order[i]] }'
}

# What one runs while working: units of the modules without torch, and the files of tests/python that take seconds and train
# nothing. test_NAME.py belongs here if it takes less than ten seconds.
fast_modules=(base trace device topology comm launch data report)
fast_programs=(ronde ronde-train)
fast_files=(cli data_formats programs run run_ends run_hosts run_launchers run_node run_output run_restart run_script
  run_slurm run_stage trace_file trace_merge tree)
slow_units='AgreementExhaustive|comm\..*Engine'  # every order of events, and whole engines: minutes

# test_all [PRESET [MODULE...]]
test_all() {
  [ $# -gt 0 ] || set -- release
  check_modules "${@:2}"
  set_up
  set_up_tests
  build "$1" $(module_targets "${@:2}")
  trap name_skipped EXIT
  if [ $# -gt 1 ]; then
    run_cxx_tests "$1" --tests-regex "$(of_modules "${@:2}")"
  else
    run_cxx_tests "$1"
    run_python_tests "$1" tests/python
  fi
}

# test_fast [PRESET]
test_fast() {
  [ $# -le 1 ] || wrong_use "'test fast' takes one preset"
  local preset=${1:-release}
  set_up
  build "$preset" $(module_targets "${fast_modules[@]}") "${fast_programs[@]}"
  trap name_skipped EXIT
  run_cxx_tests "$preset" --tests-regex "$(of_modules "${fast_modules[@]}")" --exclude-regex "$slow_units"
  run_python_tests "$preset" $(printf 'tests/python/test_%s.py ' "${fast_files[@]}")
}

of_modules() { echo "^($(IFS='|'; echo "$*"))\\."; }

# run_cxx_tests PRESET [OPTION...]: options of ctest.
run_cxx_tests() {
  local preset=$1 code=0 names log=build/$1/Testing/Temporary/LastTest.log
  step "Running the C++ tests of build/$preset" "ctest; one a core"
  rm -f "$log"
  run_with_paths ctest --preset "$preset" --parallel "$(nproc)" "${@:2}" || code=$?
  names=$(tests_that SKIPPED "$log" | by_suite)
  [ -z "$names" ] || skipped_groups+=("C++ tests: $names")
  [ "$code" -ne 0 ] || return 0
  names=$(tests_that FAILED "$log")
  [ -z "$names" ] || printf 'Failed:\n    C++ tests: %s\n' "$names"
  return "$code"
}

# run_python_tests PRESET FILE...
run_python_tests() {
  local preset=$1
  # Sanitizer builds have no torch, and Python cannot load a sanitized library: their tests are the C++ ones.
  case $preset in asan | tsan) return ;; esac
  step "Running the Python tests" "pytest: whole programs, the installed package, the tree itself"
  RONDE__BUILD_DIR="$PWD/build/$preset" run_with_paths python -m pytest -q -rs "${@:2}"
}

# The last lines of a run, whether or not it passed. Python tests: pytest lists what it skipped, with reasons (-rs).
name_skipped() {
  [ ${#skipped_groups[@]} -gt 0 ] || return 0
  echo "Skipped:"
  note "${skipped_groups[@]}"
}
