"""tools/check_locks.py, which ./ronde-dev locks runs: which sources it finds, and what clang finds in them."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

spec = importlib.util.spec_from_file_location("check_locks", ROOT / "tools" / "check_locks.py")
check_locks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_locks)

MAILBOX = """
#include "ronde/base/system/mutex.h"
class Mailbox {
 public:
  void put() { const ronde::Lock lock(mutex_); ++letters_; filled_.notify_one(); }
  int take() {
    ronde::Lock lock(mutex_);
    filled_.wait(lock, [this]() RONDE_REQUIRES(mutex_) { return ready(); });
    return --letters_;
  }
  bool try_take() { if (!mutex_.try_lock()) return false; --letters_; mutex_.unlock(); return true; }
  int size() { return SIZE; }
 private:
  bool ready() const RONDE_REQUIRES(mutex_) { return letters_ > 0; }
  int sum() {
    const auto add = [this] { mutex_.assert_held(); return letters_ + 1; };
    const ronde::Lock lock(mutex_);
    return add();
  }
  ronde::Mutex mutex_;
  ronde::Condition filled_;
  int letters_ RONDE_GUARDED_BY(mutex_) = 0;
};
"""


@pytest.mark.parametrize(
    ("size", "error"),
    [
        ("sum()", None),
        ("letters_", "reading variable 'letters_' requires holding mutex 'mutex_'"),
        ("ready()", "calling function 'ready' requires holding mutex 'mutex_'"),
        ("(mutex_.lock(), letters_)", "mutex 'mutex_' is still held at the end of function"),
        ("(mutex_.unlock(), 0)", "releasing mutex 'mutex_' that was not held"),
    ],
)
def test_clang_sees_what_is_touched_without_its_mutex(tmp_path, size, error):
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if not clang:
        pytest.skip("there is no clang (Debian: clang-14)")
    (tmp_path / "ronde").symlink_to(ROOT / "src")
    source = tmp_path / "mailbox.cc"
    source.write_text(MAILBOX)
    said = check_locks.complaints(clang, source, ["-std=c++20", f"-I{tmp_path}", f"-DSIZE={size}"])
    assert (said == "") if error is None else error in said


def test_sources_that_see_the_mutex_through_other_headers(tmp_path):
    for name, text in {
        "src/base/system/mutex.h": "",
        "src/a/box.h": '#include "ronde/base/system/mutex.h"\n',
        "src/a/box.cc": '#include "ronde/a/box.h"\n',
        "src/a/plain.cc": "#include <mutex>\n",
        "src/a/box_test.cc": '#include "ronde/a/box.h"\n',
        "src/a/tests/hard_test.cc": '#include "ronde/a/box.h"\n',
        "python/src/near.h": '#include "ronde/a/box.h"\n',
        "python/src/door.cc": '#include "near.h"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [path.relative_to(tmp_path).as_posix() for path in check_locks.sources_with_mutexes(tmp_path)]
    assert found == ["python/src/door.cc", "src/a/box.cc"]


def test_flags_of_sources_that_are_compiled_together(tmp_path):
    together = tmp_path / "Unity" / "unity_0_cxx.cxx"
    together.parent.mkdir()
    together.write_text(f'#include "{tmp_path}/a.cc"\n#include "{tmp_path}/b.cc"\n')
    command = "c++ -DX='a b' -I/i -isystem /s -O3 -Werror -Wno-restrict -std=c++20 -include pch.hxx -o x.o -c x.cc"
    entries = [{"file": str(together), "command": command}, {"file": f"{tmp_path}/c.cc", "command": "c++ -DC -c c.cc"}]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    both = ["-DX=a b", "-I/i", "-isystem", "/s", "-std=c++20"]
    found = check_locks.flags_by_source(tmp_path)
    assert found[tmp_path / "a.cc"] == found[tmp_path / "b.cc"] == both
    assert found[tmp_path / "c.cc"] == ["-DC"]


@pytest.mark.parametrize("clang_says", ["", "a.cc:1: error: requires holding mutex"])
def test_the_program(tmp_path, clang_says):
    """With a compiler of our own making, that is content with all sources or with none."""
    compiler = tmp_path / "clang"
    compiler.write_text(f'#!/bin/sh\n[ -z "{clang_says}" ] || {{ echo "{clang_says}" >&2; exit 1; }}\n')
    compiler.chmod(0o755)
    known = pathlib.Path("src/trace/recorder.cc")
    entries = [{"file": str(ROOT / known), "command": "c++ -c x.cc"}]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    command = [sys.executable, ROOT / "tools" / "check_locks.py", compiler, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    if clang_says:
        assert done.returncode == 1
        assert done.stdout == f"{clang_says}\n1 of 1 sources have errors\n"
    else:
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(
            "1 sources touch what a mutex guards only with that mutex held (not in this build: "
        )
        assert "src/data/pipeline/stage.cc" in done.stdout and str(known) not in done.stdout
        assert done.stdout.count("\n") == 1
