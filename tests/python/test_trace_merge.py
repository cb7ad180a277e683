"""`ronde trace merge`: one file of all ranks in three formats, each read by what its owners publish."""

import json
import re
import shutil
import subprocess
from collections import Counter

import pytest
from test_cli import refused
from test_trace_file import REFERENCE, TRACE, Trace, file_in

RANKS, STEPS, BUCKETS, LAYERS = 4, 20, 8, 3
HEALTHY_STEP_NS = 65_000_000  # about: 62 ms of work and an exchange at its end


@pytest.fixture(scope="session")
def generate(build_dir):
    def run(folder, ranks=RANKS, steps=STEPS, layers=LAYERS, *faults):
        words = [str(word) for word in (ranks, steps, folder, layers, *faults)]
        subprocess.run([build_dir / "report_generate", *words], check=True, capture_output=True, timeout=60)
        return folder

    return run


@pytest.fixture(scope="session")
def recorded(generate, tmp_path_factory):
    """Not to be written to."""
    return generate(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def merge(ronde, tmp_path):
    def run(folder, *flags, name="all"):
        done = ronde("trace", "merge", str(folder), "-o", str(tmp_path / name), *flags)
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / f"{name}.partial").exists()
        return tmp_path / name, done

    return run


def test_perfetto_has_all_ranks_on_one_clock(generate, merge, tmp_path):
    folder = generate(tmp_path / "run", 12, 40)  # two hosts, whose clocks are 5 ms apart and drift by 20 ppm
    file, done = merge(folder)
    assert done.stderr == ""
    trace = Trace(file.read_bytes())
    assert len(trace.sequences) == 12 and not any(trace.open.values())
    processes = {uuid: track.process.process_name for uuid, track in trace.tracks.items() if track.HasField("process")}
    assert sorted(processes.values()) == sorted(f"rank {rank} (node{rank // 8})" for rank in range(12))
    begins = {}
    for entry in trace.named("allreduce"):
        begins.setdefault(entry["args"]["sequence"], set()).add(entry["begin"])
    assert sorted(begins) == list(range(40 * BUCKETS))
    apart = Trace(file_in(folder, 11).read_bytes()).named("allreduce")[-1]["begin"] - max(begins[40 * BUCKETS - 1])
    assert abs(apart) > 5_000_000, "the files themselves are not corrected"
    assert max(max(times) - min(times) for times in begins.values()) < 25_000, "of 5 ms and a drift of 50 us"
    # A reader that corrects the times again changes nothing.
    shifts = {snapshot[REFERENCE] - snapshot[TRACE] for snapshot in trace.snapshots if REFERENCE in snapshot}
    assert max(shifts) - min(shifts) < 25_000


def test_perfetto_keeps_every_event(recorded, merge):
    file, _ = merge(recorded)
    merged, parts = Trace(file.read_bytes()), [Trace(file_in(recorded, rank).read_bytes()) for rank in range(RANKS)]
    assert len(merged.slices) == sum(len(part.slices) for part in parts)
    count = Counter((entry["name"], str(entry["args"]), str(entry["categories"])) for entry in merged.slices)
    assert count == sum(
        (Counter((e["name"], str(e["args"]), str(e["categories"])) for e in part.slices) for part in parts), Counter()
    )
    assert sorted(map(len, merged.counters.values())) == sorted(len(c) for p in parts for c in p.counters.values())
    assert merged.metadata()["host"] == "node0"


def test_chosen_steps(recorded, merge):
    file, _ = merge(recorded, "--steps", "5..7")
    trace = Trace(file.read_bytes())
    assert sorted({entry["args"]["step"] for entry in trace.named("step")}) == [5, 6, 7]
    assert len(trace.named("forward")) == 3 * RANKS
    assert {e["args"]["sequence"] for e in trace.named("allreduce")} == set(range(5 * BUCKETS, 8 * BUCKETS))
    first, last = min(e["begin"] for e in trace.slices), max(e["end"] for e in trace.slices)
    assert last - first < 3.5 * HEALTHY_STEP_NS


def chrome_events(file):
    events = json.loads(file.read_text())
    for event in events:
        assert event["ph"] in "MXBiC" and isinstance(event["pid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["name"]
    return events


def spans(events, name, rank):
    return sorted(
        (e for e in events if e["ph"] == "X" and e["name"] == name and e["pid"] == rank), key=lambda e: e["ts"]
    )


def test_chrome_has_the_names_of_horovods_timeline(recorded, merge):
    file, _ = merge(recorded, "--format", "chrome")
    events = chrome_events(file)
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert names == {f"rank {rank} (node0)" for rank in range(RANKS)}
    for rank in range(RANKS):
        rounds, moves = spans(events, "NEGOTIATE_ALLREDUCE", rank), spans(events, "ALLREDUCE", rank)
        assert len(rounds) == len(moves) == STEPS * BUCKETS
        for agreed, moved in zip(rounds, moves, strict=True):
            assert agreed["ts"] + agreed["dur"] <= moved["ts"] + 0.002
        cycles = [e["ts"] for e in events if e["ph"] == "i" and e["name"] == "CYCLE_START" and e["pid"] == rank]
        assert sorted(cycles) == [e["ts"] for e in rounds]
        assert spans(events, "WAIT_FOR_OTHER_TENSOR_DATA", rank)
        assert len(spans(events, "forward", rank)) == STEPS and len(spans(events, "wait for peers", rank)) == len(moves)
        assert moves[3]["args"]["bytes"] == 4 << 20 and moves[3]["args"]["sequence"] == 3
        assert moves[0]["dur"] == pytest.approx(3000, abs=0.01)
    counters = {e["name"] for e in events if e["ph"] == "C"}
    assert counters == {"decode ready", "memory in use"}


def test_chrome_shows_what_waits_in_the_queue(generate, merge, tmp_path):
    """With exchanges that take longer than their gradients take to come, each waits for the one before."""
    file, _ = merge(generate(tmp_path / "run", 2, 3, 0, "slow-link"), "--format", "chrome")
    queue = spans(chrome_events(file), "QUEUE", 0)
    assert queue
    for before, after in zip(queue, queue[1:], strict=False):
        assert before["ts"] + before["dur"] <= after["ts"] + 0.002


def test_chrome_rows_nest(recorded, merge):
    file, _ = merge(recorded, "--format", "chrome")
    rows = {}
    for event in chrome_events(file):
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"]))
    slack = 0.0021  # two roundings of a nanosecond
    for row in rows.values():
        ends = []
        for begin, minus in sorted(row):
            end = begin - minus
            while ends and ends[-1] <= begin + slack:
                ends.pop()
            assert not ends or end <= ends[-1] + slack
            ends.append(end)


needs_otf2 = pytest.mark.skipif(not shutil.which("otf2-print"), reason="needs otf2-print (Debian: otf2-tools)")


def otf2_print(folder, *flags):
    command = ["otf2-print", "-Werror", *flags, folder / "traces.otf2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr + done.stdout[-500:]
    return done.stdout


@pytest.fixture
def archive(ronde, recorded, tmp_path):
    done = ronde("trace", "merge", str(recorded), "-o", str(tmp_path / "all"), "--format", "otf2")
    if "without libotf2" in done.stderr:
        pytest.skip("Ronde was built without libotf2")
    assert done.returncode == 0, done.stderr
    return tmp_path / "all"


@needs_otf2
def test_otf2_is_a_sound_archive(archive):
    otf2_print(archive, "--silent")
    lines = otf2_print(archive).splitlines()
    kinds = Counter(line.split()[0] for line in lines if re.match(r"[A-Z][A-Z_]+ +\d+ +\d+", line))
    assert kinds["MPI_COLLECTIVE_BEGIN"] == kinds["MPI_COLLECTIVE_END"] == RANKS * STEPS * BUCKETS
    assert kinds["ENTER"] == kinds["LEAVE"] > RANKS * STEPS * (2 + 4 * LAYERS)
    assert kinds["METRIC"] == RANKS * STEPS * 2
    ends = [line for line in lines if line.startswith("MPI_COLLECTIVE_END")]
    assert "ALLREDUCE" in ends[0] and str(4 << 20) in ends[0] and '"world"' in ends[0]
    last, stacks = {}, {}
    for line in lines:
        found = re.match(r'(ENTER|LEAVE) +(\d+) +(\d+) +Region: "([^"]*)"', line)
        if not found:
            continue
        kind, location, time, region = found[1], found[2], int(found[3]), found[4]
        assert time >= last.get(location, 0)
        last[location] = time
        stack = stacks.setdefault(location, [])
        if kind == "ENTER":
            stack.append(region)
        else:
            assert stack.pop() == region
    assert not any(stacks.values())


@needs_otf2
def test_otf2_defines_hosts_ranks_rows_and_groups(archive):
    text = otf2_print(archive, "-G")
    assert re.search(r"CLOCK_PROPERTIES.*Ticks per Seconds: 1000000000", text)
    assert len(re.findall(r"^LOCATION_GROUP +\d", text, re.M)) == RANKS
    assert '"rank 3 (node0)"' in text and '"node0"' in text
    assert len(re.findall(r'^LOCATION +\d.*"training"', text, re.M)) == RANKS
    assert len(re.findall(r"^METRIC_INSTANCE +\d", text, re.M)) == RANKS * 2
    assert re.search(r'^COMM +\d+ .*"world"', text, re.M)
    assert re.search(r"^GROUP +\d+ .*COMM_GROUP.*\b0.*\b1.*\b2.*\b3", text, re.M)


@needs_otf2
def test_rows_without_events_are_files_too(build_dir, ronde, tmp_path):
    """What a recorder wrote, cut down to a step in which most rows are empty."""
    for rank in ("0", "1"):
        subprocess.run([build_dir / "trace_example", "plain", tmp_path / "run", rank], check=True, timeout=60)
    done = ronde("trace", "merge", str(tmp_path / "run"), "-o", "all", "--format", "otf2", "--steps", "1..1")
    if "without libotf2" in done.stderr:
        pytest.skip("Ronde was built without libotf2")
    assert done.returncode == 0, done.stderr
    lines = otf2_print(tmp_path / "all").splitlines()
    assert sum('"forward"' in line and line.startswith("ENTER") for line in lines) == 2


def test_what_is_readable_is_merged_and_the_rest_is_named(recorded, ronde, tmp_path):
    folder = shutil.copytree(recorded, tmp_path / "run")
    cut, nonsense = file_in(folder, 1), file_in(folder, 2)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    nonsense.write_text("no trace")
    file_in(folder, 3).unlink()
    shutil.copy(file_in(folder, 0), file_in(folder, 7))
    for format, name in (("perfetto", "merged.perfetto-trace"), ("chrome", "merged.json")):
        done = ronde("trace", "merge", str(folder), "--format", format)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"'{cut}' is damaged at byte \d+", done.stderr)
        assert f"'{nonsense}' is not a trace file" in done.stderr
        assert "of 4 ranks, these have no readable trace: 2, 3" in done.stderr
        assert "rank 0 was recorded in two files" in done.stderr
        assert done.stdout.startswith(f"{folder / name}: 2 ranks")
        if format == "perfetto":
            trace = Trace((folder / name).read_bytes())
            assert len(trace.sequences) == 2 and 0 < len(trace.named("forward")) < 2 * STEPS
        else:
            assert any(event["ph"] == "B" for event in chrome_events(folder / name)), "spans without an end"


def test_a_merged_file_is_not_merged_again(recorded, ronde, tmp_path):
    folder = shutil.copytree(recorded, tmp_path / "run")
    sizes = []
    for _ in range(2):
        done = ronde("trace", "merge", str(folder))
        assert done.returncode == 0 and done.stderr == ""
        sizes.append((folder / "merged.perfetto-trace").stat().st_size)
    assert sizes[0] == sizes[1]


def test_wrong_input_is_refused_in_a_sentence(recorded, ronde, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(ronde("trace", "merge", "empty"), "holds no trace")
    refused(ronde("trace", "merge", "nowhere"), "there is no 'nowhere'")
    refused(ronde("trace", "merge", str(recorded), "--format", "pdf"), "perfetto, chrome, otf2")
    refused(ronde("trace", "merge"), "missing trace folder")
    refused(ronde("trace", "merge", str(recorded), "-o", "x", "--steps", "900.."), "none of the requested steps")
    own = str(file_in(recorded, 1))
    refused(ronde("trace", "merge", str(recorded), "-o", own), "would be overwritten")
    refused(ronde("trace", "merge", str(recorded), "-o", "empty"), "is a folder")
    (tmp_path / "empty" / "trace-00000.perfetto-trace").write_text("hello")
    refused(ronde("trace", "merge", "empty"), "is not a trace file")
    assert not (tmp_path / "x").exists() and not (tmp_path / "x.partial").exists()


def test_trace_alone_explains_itself(ronde):
    done = ronde("trace")
    assert done.returncode == 0 and "merge" in done.stdout
