"""Event files are what TensorBoard expects: read with protobuf and a checksum written here, never with code of ours,
and by TensorBoard itself where it is installed."""

import struct
import subprocess

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def event_type():
    """tensorflow.Event, as far as we use it: event.proto and summary.proto of TensorFlow."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tensorflow", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    messages = {
        "Value": [("tag", 1, kinds.TYPE_STRING), ("simple_value", 2, kinds.TYPE_FLOAT)],
        "Summary": [("value", 1, "Value")],
        "SessionLog": [("status", 1, kinds.TYPE_INT32)],
        "Event": [
            ("wall_time", 1, kinds.TYPE_DOUBLE),
            ("step", 2, kinds.TYPE_INT64),
            ("file_version", 3, kinds.TYPE_STRING),
            ("summary", 5, "Summary"),
            ("session_log", 7, "SessionLog"),
        ],
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            nested = isinstance(kind, str)
            message.field.add(
                name=field,
                number=number,
                type=kinds.TYPE_MESSAGE if nested else kind,
                type_name=f".tensorflow.{kind}" if nested else None,
                label=kinds.LABEL_REPEATED if field == "value" else kinds.LABEL_OPTIONAL,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Event"))


def events_of(content: bytes) -> list:
    events, kind = [], event_type()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        payload, rest = content[12 : 12 + length], content[12 + length :]
        assert struct.unpack("<I", content[8:12])[0] == masked(content[:8])
        assert struct.unpack("<I", rest[:4])[0] == masked(payload)
        events.append(kind.FromString(payload))
        content = rest[4:]
    return events


@pytest.fixture
def folder(build_dir, tmp_path):
    subprocess.run([build_dir / "tensorboard_example", tmp_path / "board"], check=True, timeout=60)
    return tmp_path / "board"


def test_the_checksum_written_here_is_right():
    assert crc32c(b"123456789") == 0xE3069283


def test_events_are_protobuf_in_records_with_checksums(folder):
    first, second = (events_of(file.read_bytes()) for file in sorted(folder.iterdir()))
    assert [event.file_version for event in first] == ["brain.Event:2", "", "", "", ""]
    assert [event.step for event in first[1:]] == [0, 1, 2, 3]
    assert [(value.tag, value.simple_value) for value in first[2].summary.value] == [
        ("loss/train", 3.0),
        ("accuracy/train", 0.25),
    ]
    assert second[1].session_log.status == 1 and second[1].step == 3
    assert second[2].step == 3 and second[2].summary.value[0].simple_value == 0.5


def test_tensorboard_shows_the_curve_without_what_was_done_again(folder):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
    )
    board = accumulator.EventAccumulator(str(folder)).Reload()
    assert [(event.step, event.value) for event in board.Scalars("loss/train")] == [
        (0, 4.0),
        (1, 3.0),
        (2, 2.0),
        (3, 0.5),
    ]
