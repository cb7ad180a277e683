"""Pictures, as the whole program makes samples of them."""

import json


def test_decoding_is_measured_against_full_decoding(ronde):
    done = ronde("bench", "decode", "--turns", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (row,) = report["rows"]
    assert (row["pictures"], row["count"]) == ("generated 500x375", 100)
    assert 60_000 < row["mean_bytes"] < 90_000
    assert min(row["images_per_s"], row["full_decode_per_s"], row["ratio_full_decode"]) > 0


def test_a_folder_without_pictures_is_refused(ronde, tmp_path):
    (tmp_path / "empty").mkdir()
    done = ronde("bench", "decode", "--dir", "empty")
    assert done.returncode == 2
    assert "no JPEG files found" in done.stderr
