"""The trace file is what Perfetto expects: read with Perfetto's published schema alone, never with code of ours."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from google.protobuf.message import DecodeError
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LOCAL, TRACE, REFERENCE = 64, 65, 66  # the clocks of a ClockSnapshot
BEGIN, END, INSTANT, COUNTER = (
    schema.TrackEvent.TYPE_SLICE_BEGIN,
    schema.TrackEvent.TYPE_SLICE_END,
    schema.TrackEvent.TYPE_INSTANT,
    schema.TrackEvent.TYPE_COUNTER,
)


class Sequence:
    """What the packets of one writer have told so far."""

    def __init__(self):
        self.names, self.categories, self.arg_names, self.arg_texts = {}, {}, {}, {}

    def learn(self, data):
        self.names.update((entry.iid, entry.name) for entry in data.event_names)
        self.categories.update((entry.iid, entry.name) for entry in data.event_categories)
        self.arg_names.update((entry.iid, entry.name) for entry in data.debug_annotation_names)
        self.arg_texts.update((entry.iid, entry.str.decode()) for entry in data.debug_annotation_string_values)

    def args(self, event):
        values = {}
        for arg in event.debug_annotations:
            value = getattr(arg, arg.WhichOneof("value"))
            name = self.arg_names[arg.name_iid] if arg.name_iid else arg.name
            values[name] = self.arg_texts[value] if arg.WhichOneof("value") == "string_value_iid" else value
        return values


class Trace:
    """Events by track, with names and arguments filled in, as a viewer would do it."""

    def __init__(self, data):
        self.packets = schema.Trace.FromString(data).packet
        self.tracks, self.slices, self.open, self.instants, self.counters = {}, [], {}, [], {}
        self.times, self.sequences, self.snapshots = {}, {}, []
        for packet in self.packets:
            self._read(packet)

    def _read(self, packet):
        number = packet.trusted_packet_sequence_id
        assert number > 0
        if packet.sequence_flags & schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            assert number not in self.sequences and packet.first_packet_on_sequence
            self.sequences[number] = Sequence()
        self.sequences[number].learn(packet.interned_data)
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in self.tracks
            self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("clock_snapshot"):
            self.snapshots.append({clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks})
        if packet.HasField("track_event"):
            self._read_event(packet.timestamp, packet.track_event, self.sequences[number])

    def _read_event(self, at, event, sequence):
        track = event.track_uuid
        assert track in self.tracks, "a track is described before its first event"
        self.times.setdefault(track, []).append(at)
        name = sequence.names[event.name_iid] if event.name_iid else event.name
        categories = [sequence.categories[iid] for iid in event.category_iids]
        entry = dict(track=track, name=name, categories=categories, args=sequence.args(event), begin=at)
        entry["flows"] = list(event.flow_ids)
        stack = self.open.setdefault(track, [])
        if event.type == BEGIN:
            entry["parent"] = stack[-1]["name"] if stack else None
            stack.append(entry)
        elif event.type == END:
            ended = stack.pop()  # fails on an end without a begin
            ended["args"].update(entry["args"])
            self.slices.append(dict(ended, end=at))
        elif event.type == INSTANT:
            self.instants.append(entry)
        elif event.type == COUNTER:
            assert self.tracks[track].HasField("counter")
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            self.counters.setdefault(track, []).append(value)

    def named(self, name):
        return [entry for entry in self.slices if entry["name"] == name]

    def counter(self, name):
        return [values for uuid, values in self.counters.items() if self.tracks[uuid].name == name]

    def metadata(self):
        return {k: v for entry in self.instants if entry["name"] == "metadata" for k, v in entry["args"].items()}

    def thread_of(self, entry):
        return self.tracks[entry["track"]].thread.thread_name


@pytest.fixture(scope="session")
def program():
    folder = pathlib.Path(os.environ.get("RONDE__BUILD_DIR", REPOSITORY / "build" / "release"))
    path = folder / "trace_example"
    assert path.exists(), f"{path} is missing: build it first, or name the build folder in RONDE__BUILD_DIR"
    return path


def file_in(folder, rank=0):
    return folder / f"trace-{rank:05}.perfetto-trace"


def record(program, mode, folder, *words):
    return subprocess.run(
        [program, mode, folder, *words], check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.fixture(scope="session")
def plain(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    before = time.time_ns()
    record(program, "plain", folder)
    trace = Trace(file_in(folder).read_bytes())
    trace.wall = before, time.time_ns()
    return trace


def test_the_process_is_the_rank_and_threads_belong_to_it(plain):
    processes = [track for track in plain.tracks.values() if track.HasField("process")]
    assert [track.process.process_name for track in processes] == ["rank 0 (node7)"]
    threads = [track for track in plain.tracks.values() if track.HasField("thread")]
    assert sorted(track.thread.thread_name for track in threads) == ["loader", "loader", "loader", "training"]
    assert all(track.thread.tid > 0 and track.thread.pid == processes[0].process.pid for track in threads)
    assert all(track.parent_uuid == processes[0].uuid for track in plain.tracks.values() if track not in processes)


def test_spans_nest_and_all_of_them_end(plain):
    assert not any(plain.open.values())
    assert [entry["parent"] for entry in plain.named("layer")] == ["forward"] * 3
    assert [entry["parent"] for entry in plain.named("forward")] == [None] * 3
    for inner, outer in zip(plain.named("layer"), plain.named("forward"), strict=True):
        assert plain.thread_of(inner) == plain.thread_of(outer) == "training"
        assert outer["begin"] <= inner["begin"] <= inner["end"] <= outer["end"]
    assert [plain.thread_of(entry) for entry in plain.named("load")] == ["loader"] * 3


def test_times_only_grow_and_last_as_long_as_the_work(plain):
    for uuid, times in plain.times.items():
        if plain.tracks[uuid].HasField("thread"):
            assert times == sorted(times)
    for entry in plain.named("layer"):  # sleeps 5 ms
        assert 5e6 <= entry["end"] - entry["begin"] < 500e6
    slack = 50e6  # the wall clock may be adjusted while we run
    assert all(plain.wall[0] - slack <= entry["begin"] <= plain.wall[1] + slack for entry in plain.slices)


def test_arguments_categories_and_names_made_at_run_time(plain):
    assert [entry["args"] for entry in plain.named("forward")] == [{"step": i, "loss": 0.25} for i in range(3)]
    assert {tuple(entry["categories"]) for entry in plain.named("forward")} == {("compute",)}
    for step in range(3):
        (tensor,) = plain.named(f"grad.{step}")
        assert tensor["args"] == {"bytes": 1 << 40, "phase": "vote"}
        assert tensor["categories"] == ["comm"] and tensor["flows"] == [77]
    checkpoints = [entry for entry in plain.instants if entry["name"] == "checkpoint"]
    assert [entry["args"] for entry in checkpoints] == [{"delta": -3}] * 3


def test_counters(plain):
    assert plain.counter("queue") == [[3, -1] * 3]
    assert plain.counter("loss") == [[0.0, 0.5, 1.0]]
    assert plain.counter("watts") == [[250.5]]


def test_spans_with_times_of_their_own_on_extra_tracks(plain):
    (kernel,), (copy,) = plain.named("kernel"), plain.named("copy")
    assert plain.tracks[kernel["track"]].name == "gpu 0 stream 7" and copy["track"] == kernel["track"]
    assert kernel["end"] - kernel["begin"] == 12345 and copy["begin"] - kernel["begin"] == 20000
    assert kernel["args"] == {"grid": 8}


def test_steps_have_a_track(plain):
    steps = plain.named("step")
    assert [entry["args"]["step"] for entry in steps] == [0, 1, 2]
    assert {plain.tracks[entry["track"]].name for entry in steps} == {"steps"}
    for step, forward in zip(steps, plain.named("forward"), strict=True):
        assert step["begin"] - 2000 <= forward["begin"] and forward["end"] <= step["end"] + 2000


def test_metadata_and_clocks(plain):
    data = plain.metadata()
    assert data["flops"] == '{"conv1": 118013952}'
    assert (data["rank"], data["world_size"], data["host"], data["dropped_events"]) == ("0", "2", "node7", "0")
    assert data["clock"] in ("tsc", "clock_monotonic")
    measured = [snapshot for snapshot in plain.snapshots if REFERENCE in snapshot]
    assert [snapshot[REFERENCE] - snapshot[LOCAL] for snapshot in measured] == [-1500, -1400]
    assert len({snapshot[TRACE] - snapshot[LOCAL] for snapshot in plain.snapshots}) == 1
    offsets = [entry["args"] for entry in plain.instants if entry["name"] == "clock offset"]
    assert offsets == [{"local_ns": s[LOCAL], "offset_ns": s[REFERENCE] - s[LOCAL]} for s in measured]


def test_files_of_two_ranks_may_be_joined_end_to_end(program, tmp_path):
    for rank in ("0", "1"):
        record(program, "plain", tmp_path, rank)
    joined = Trace(file_in(tmp_path, 0).read_bytes() + file_in(tmp_path, 1).read_bytes())
    assert len(joined.sequences) == 2 and not any(joined.open.values())
    processes = {uuid: t.process for uuid, t in joined.tracks.items() if t.HasField("process")}
    assert {p.process_name for p in processes.values()} == {"rank 0 (node7)", "rank 1 (node7)"}
    assert len({p.pid for p in processes.values()}) == 2  # Perfetto tells processes apart by this alone
    for uuid in processes:
        mine = [e for e in joined.named("forward") if joined.tracks[e["track"]].parent_uuid == uuid]
        assert [entry["args"]["step"] for entry in mine] == [0, 1, 2]


def test_only_the_steps_of_the_window_are_recorded(program, tmp_path):
    record(program, "window", tmp_path)
    trace = Trace(file_in(tmp_path).read_bytes())
    assert [entry["args"]["step"] for entry in trace.named("step")] == [3, 4, 5]
    assert [entry["args"]["step"] for entry in trace.named("forward")] == [3, 4, 5]


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ("forward,grad.*", {"forward", "grad.0", "grad.1", "grad.2"}),
        ("-forward,-*load*,-copy", {"layer", "grad.0", "grad.1", "grad.2", "kernel"}),
        ("step*", set()),
    ],
)
def test_only_spans_that_the_filter_keeps_are_written(program, plain, tmp_path, patterns, kept):
    record(program, "filter", tmp_path, patterns)
    trace = Trace(file_in(tmp_path).read_bytes())
    assert {entry["name"] for entry in trace.slices} == kept | {"step"}
    assert not any(trace.open.values())
    for name in kept:
        assert [entry["args"] for entry in trace.named(name)] == [entry["args"] for entry in plain.named(name)]
    layers = trace.named("layer")  # what lay inside a span that is left out stays
    assert {entry["parent"] for entry in layers} <= {None} and len(layers) in (0, 3)
    for entry in layers:
        assert 5e6 <= entry["end"] - entry["begin"] < 500e6
    assert [entry["args"]["step"] for entry in trace.named("step")] == [0, 1, 2]
    assert trace.counter("queue") == plain.counter("queue") and trace.metadata()["flops"] == plain.metadata()["flops"]
    assert len([entry for entry in trace.instants if entry["name"] == "checkpoint"]) == 3


def test_what_is_dropped_is_counted_and_the_rest_still_nests(program, tmp_path):
    record(program, "flood", tmp_path)
    trace = Trace(file_in(tmp_path).read_bytes())
    (counts,) = trace.counter("dropped events")
    inner = trace.named("inner")
    assert counts == sorted(counts) and counts[-1] > 0
    assert len(inner) + counts[-1] == 200_000
    assert trace.metadata()["dropped_events"] == str(counts[-1])
    assert {entry["parent"] for entry in inner} == {"outer"} and len(trace.named("outer")) == 1
    (track,) = [t for t in trace.tracks.values() if t.name == "dropped events"]
    assert trace.tracks[track.parent_uuid].thread.thread_name == "flood"


def whole_packets(data):
    """The longest beginning of `data` that is whole packets: field 1, a varint length, that many bytes."""
    at = 0
    while at < len(data):
        assert data[at] == 0x0A
        end, length, shift = at + 1, 0, 0
        while end < len(data):
            byte, end = data[end], end + 1
            length, shift = length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        if end == len(data) or end + length > len(data):  # no packet is empty, so the length is never the last byte
            break
        at = end + length
    return data[:at]


def test_a_killed_program_leaves_a_file_that_misses_only_the_last_moments(program, tmp_path):
    running = subprocess.Popen([program, "endless", tmp_path], stdout=subprocess.PIPE, text=True)
    recorded = -1
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        recorded = int(running.stdout.readline())
    killed_at = time.time_ns()
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=10)
    data = file_in(tmp_path).read_bytes()
    assert len(data) - len(whole_packets(data)) < 256 * 1024
    trace = Trace(whole_packets(data))
    ticks = trace.named("tick")
    assert [entry["args"]["i"] for entry in ticks] == list(range(len(ticks)))
    assert killed_at - ticks[-1]["end"] < 4 * 200e6, "the writer is at most 200 ms behind"
    assert len(ticks) > recorded / 2
    stacks = [[entry["name"] for entry in stack] for stack in trace.open.values() if stack]
    assert len(stacks) == 1 and stacks[0][0] == "all of it"  # what was going on is in the file too


def test_a_file_cut_anywhere_is_readable_up_to_there(program, tmp_path):
    record(program, "plain", tmp_path)
    data = file_in(tmp_path).read_bytes()
    whole = len(Trace(data).packets)
    for size in range(1, len(data), 37):
        assert len(Trace(whole_packets(data[:size])).packets) < whole
    with pytest.raises(DecodeError):  # so the schema would have noticed a broken packet
        schema.Trace.FromString(data[:-1])


def test_a_full_disk_stops_the_recording_and_not_the_program(program, tmp_path):
    error, state = record(program, "full", tmp_path).splitlines()
    assert error == "cannot write the trace /dev/full: No space left on device"
    assert state == "stopped"
