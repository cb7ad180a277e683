# Sets up a machine: Debian packages, a Python environment in .venv, a libtorch. Each part is skipped when it is there.

torch_version=2.13.0
torch_minimum=2.6
torch_cpu_size="190 MB to download, 1 GB on disk"
torch_cuda_size="3 GB to download, 8 GB on disk, most of it CUDA libraries"

apt_packages=(
  g++ cmake ninja-build ccache mold git ca-certificates python3-dev python3-venv
  libhwloc-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev zlib1g-dev
  libjpeg62-turbo-dev libpng-dev libtiff-dev liblmdb-dev libhdf5-dev libotf2-trace-dev
  libgtest-dev libopenmpi-dev openmpi-bin libmpich-dev
)
# What only tests start. Without it they are skipped.
test_packages=(mpich slurm-wlm munge iproute2 otf2-tools clang-14 libclang-rt-14-dev chromium)

set_up() {
  set_up_system
  set_up_python
  set_up_torch
}

# --- Debian packages -------------------------------------------------------------------------------------------------

missing_packages() {  # of those named
  local installed
  # dpkg-query fails as soon as it does not know one of the names: that is an answer too.
  installed=$({ dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true; } |
    sed -n 's/ installed$//p')
  printf '%s\n' "$@" | grep -vxF "$installed" || true
}

# What the packages are for, so that other systems, where dpkg does not know them, can be used as they are.
build_tools_work() {
  local tool
  for tool in g++ cmake ninja python3; do command -v "$tool" >/dev/null || return 1; done
}

set_up_system() {
  if ! command -v dpkg-query >/dev/null; then
    build_tools_work || refuse "this is no Debian or Ubuntu: install g++ (>= 12), CMake (>= 3.25), ninja, python3 and the" \
      "libraries hwloc, CLI11, spdlog, fmt, nlohmann-json, toml++, zlib and GoogleTest by your system's own means"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "${apt_packages[@]}")
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    packages_refused "you are not root and there is no sudo" "${missing[@]}"
    return
  fi
  step "Installing ${#missing[@]} Debian packages" "compiler, libraries: ${missing[*]}"
  apt_install "${missing[@]}" || packages_refused "apt-get failed, see above" "${missing[@]}"
}

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

apt_timeout=900 apt_pause=5  # seconds to wait for another apt or dpkg in all, and between attempts

# A machine that has just started often updates itself: apt-get waits for dpkg's lock at most, and not for that of its lists.
apt_is_locked() { grep -qE 'Could not get lock|Unable to (acquire|lock)|is another process using it' "$1"; }

apt_install() {
  local log code waited=0
  log=$(mktemp)
  while :; do
    code=0
    { as_root apt-get update &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
      >"$log" 2>&1 || code=$?
    if [ $code -eq 0 ] || [ $waited -ge $apt_timeout ] || ! apt_is_locked "$log"; then break; fi
    [ $waited -gt 0 ] || note "Another process uses apt: waiting for it, up to $apt_timeout s."
    sleep $apt_pause
    waited=$((waited + apt_pause))
  done
  [ $code -eq 0 ] || tail -n 5 "$log" >&2
  rm -f "$log"
  return $code
}

# Slurm comes with services, so it is never put on a machine by sudo: root's are containers and test machines.
set_up_tests() {
  command -v dpkg-query >/dev/null || return 0
  local missing
  mapfile -t missing < <(missing_packages "${test_packages[@]}")
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    skip_group "Some tests are skipped without root's: apt-get install --no-install-recommends ${missing[*]}"
    return
  fi
  step "Installing ${#missing[@]} Debian packages" "for tests alone: ${missing[*]}"
  apt_install "${missing[@]}" || skip_group "apt-get failed, see above: some tests are skipped without ${missing[*]}"
}

# Said at once, and again by name_skipped() where nobody overlooks it.
skipped_groups=()
skip_group() {
  note "$1"
  skipped_groups+=("$1")
}

packages_refused() {
  local reason=$1
  shift
  # Libraries may come from elsewhere (a module system, a prefix): CMake finds out and names what is missing.
  if build_tools_work; then
    note "Not installed ($reason): $*" "Going on with what CMAKE_PREFIX_PATH and the system have."
    return
  fi
  refuse "these Debian packages are missing and cannot be installed ($reason): $*" \
    "ask an administrator for: apt-get install $*"
}

# --- Python ----------------------------------------------------------------------------------------------------------

set_up_python() {
  local stamp=.venv/.ronde-requirements
  if [ -x .venv/bin/python ] && cmp -s tools/requirements.txt "$stamp"; then return; fi
  if [ ! -x .venv/bin/python ]; then
    step "Making the Python environment .venv" "tests and formatters run in it, your own Python stays as it is"
    if ! python3 -m venv .venv; then
      rm -rf .venv  # half of one would be taken for a whole one the next time
      refuse "python3 -m venv failed, see above: install python3-venv (Debian), or put another Python (>= 3.10) first"
    fi
  fi
  step "Installing Python packages into .venv" "$(grep -v '^#' tools/requirements.txt | tr '\n' ' ')"
  .venv/bin/python -m pip install -qq --disable-pip-version-check -r tools/requirements.txt ||
    refuse "pip could not install what tools/requirements.txt lists; without a network, put those packages into" \
      ".venv by hand (.venv/bin/python -m pip install --no-index --find-links FOLDER -r tools/requirements.txt)"
  cp tools/requirements.txt "$stamp"
}

# --- libtorch --------------------------------------------------------------------------------------------------------
# In this order: one that the user names, or has named before; the one of the active Python; the one in .venv; one that
# pip brings. Sets torch_prefix for CMake.
named_torch=.venv/.ronde-torch

set_up_torch() {
  if user_names_torch; then
    echo "$torch_prefix" >"$named_torch"
    return
  fi
  if torch_prefix=$(cat "$named_torch" 2>/dev/null) && [ -d "$torch_prefix" ]; then
    note "Using the libtorch that was named before, $torch_prefix (remove $named_torch to choose anew)."
    return
  fi
  if torch_of python3; then
    link_active_torch
    return
  fi
  [ -z "$torch_problem" ] || note "Not taking the torch of the active Python: $torch_problem."
  torch_of .venv/bin/python || install_torch
}

user_names_torch() {
  local folder IFS=':;'
  for folder in ${CMAKE_PREFIX_PATH:-} ${Torch_DIR:+"$Torch_DIR/.."}; do
    if [ -e "$folder/Torch/TorchConfig.cmake" ] || [ -e "$folder/share/cmake/Torch/TorchConfig.cmake" ]; then
      torch_prefix=$(cd "$folder" && pwd)
      return 0
    fi
  done
  return 1
}

# Finding torch without importing it takes milliseconds instead of seconds.
torch_of() {
  local answer
  torch_problem=""
  answer=$("$1" - "$torch_minimum" 2>/dev/null <<'PYTHON'
import importlib.metadata, importlib.util, pathlib, sys
spec = importlib.util.find_spec("torch")
if spec is None:
    sys.exit(1)
version = importlib.metadata.version("torch").split("+")[0].split(".")[:2]
if tuple(map(int, version)) < tuple(map(int, sys.argv[1].split("."))):
    print(f"too old: torch {'.'.join(version)}, and {sys.argv[1]} is needed")
else:
    print(pathlib.Path(spec.origin).parent / "share" / "cmake")
PYTHON
  ) || return 1
  case $answer in
    "too old"*) torch_problem=$answer && return 1 ;;
    *) torch_prefix=$answer ;;
  esac
}

# The active Python's packages become visible in .venv, so that both see the same torch.
link_active_torch() {
  local site target
  site=$(cd "$torch_prefix/../../.." && pwd)
  target=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  [ "$site" = "$target" ] && return
  [ "$(cat "$target/ronde-active.pth" 2>/dev/null)" = "$site" ] && return
  step "Taking the torch of the active Python" "$site"
  echo "$site" >"$target/ronde-active.pth"
}

# The build for CUDA where there is a GPU, or no other is to be had.
install_torch() {
  local wanted="torch==$torch_version" size=$torch_cuda_size
  if ! has_gpu && pip_has_cpu_build; then wanted="torch==$torch_version+cpu" size=$torch_cpu_size; fi
  step "Installing $wanted into .venv" "libtorch, $size"
  if [ "$wanted" = "torch==$torch_version" ] && [ "$(uname -m)" = x86_64 ] && ! has_gpu; then
    note "For the CPU build (190 MB) stop here and give pip an index that has it in PIP_EXTRA_INDEX_URL," \
      "or name a libtorch of yours in CMAKE_PREFIX_PATH."
  fi
  .venv/bin/python -m pip install -qq --disable-pip-version-check "$wanted" ||
    refuse "pip could not install $wanted; unpack a libtorch (>= $torch_minimum) anywhere and name it:" \
      "CMAKE_PREFIX_PATH=/path/to/libtorch ./ronde-dev build"
  torch_of .venv/bin/python || refuse "torch was installed into .venv but cannot be found there"
}

has_gpu() { [ -e /dev/nvidiactl ]; }

pip_has_cpu_build() {
  .venv/bin/python -m pip index versions torch --disable-pip-version-check 2>/dev/null | grep -qF "$torch_version+cpu"
}
