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

# run_tests PRESET [MODULE...]
run_tests() {
  local preset=$1 chosen=()
  shift
  [ $# -eq 0 ] || chosen=(--tests-regex "^($(IFS='|'; echo "$*"))\\.")
  step "Running the C++ tests of build/$preset" "ctest; one a core"
  trap name_skipped EXIT
  local code=0 names log=build/$preset/Testing/Temporary/LastTest.log
  rm -f "$log"
  run_with_paths ctest --preset "$preset" --parallel "$(nproc)" "${chosen[@]}" || code=$?
  names=$(tests_that SKIPPED "$log")
  [ -z "$names" ] || skipped_groups+=("C++ tests: $names")
  if [ "$code" -ne 0 ]; then
    names=$(tests_that FAILED "$log")
    [ -z "$names" ] || printf 'Failed:\n    C++ tests: %s\n' "$names"
    return "$code"
  fi
  [ $# -eq 0 ] || return 0
  # Sanitizer builds have no torch, and Python cannot load a sanitized library: their tests are the C++ ones.
  case $preset in asan | tsan) return ;; esac
  step "Running the Python tests" "pytest: whole programs, the installed package, the tree itself"
  RONDE__BUILD_DIR="$PWD/build/$preset" run_with_paths python -m pytest -q -rs tests/python
}

# The last lines of a run, whether or not it passed. Python tests: pytest lists what it skipped, with reasons (-rs).
name_skipped() {
  [ ${#skipped_groups[@]} -gt 0 ] || return 0
  echo "Skipped:"
  note "${skipped_groups[@]}"
}
