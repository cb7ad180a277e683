"""`ronde report` on real trainings, some with faults that were put in on purpose. What it finds in times is tested on
generated traces (src/report/rules/detectors_test.cc); here stands what holds however busy the machine is."""

import json
import pathlib
import re
import subprocess

import pytest


@pytest.fixture
def ronde(build_dir, clean_env, tmp_path):
    def run(*words: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(build_dir / "ronde"), *words],
            env=clean_env | variables, cwd=tmp_path, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    return run


@pytest.fixture
def faulty(ronde, build_dir, tmp_path):
    """Trains with a fault on two ranks and reports."""

    def run(kind: str) -> dict:
        trace = tmp_path / "trace"
        job = ronde("run", "-n", "2", str(build_dir / "report_fault"), kind, RONDE_TRACE_DIR=str(trace))
        assert job.returncode == 0, job.stderr
        report = ronde("report", str(trace), "--json")
        assert report.returncode == 0, report.stderr
        return json.loads(report.stdout)

    return run


def factors(node: dict) -> dict[str, float]:
    found = {node["key"]: node["value"]}
    for child in node["children"]:
        found |= factors(child)
    return found


def check_products(node: dict) -> None:
    if not node["children"]:
        return
    product = 1.0
    for child in node["children"]:
        check_products(child)
        product *= child["value"]
    assert product == pytest.approx(node["value"], abs=1e-6), node["key"]


def rules(document: dict) -> list[str]:
    return [advice["rule"] for advice in document["advice"]]


def test_a_rank_slower_by_a_factor_is_named(faulty):
    document = faulty("slow-rank")
    check_products(document["efficiency"]["tree"])
    assert factors(document["efficiency"]["tree"])["load_balance"] < 0.95, "1 + 4 of 4 + 4, if nothing else disturbs"
    assert document["steps"]["slow"]["rank"] == 1
    assert document["steps"]["slow"]["always"]
    assert "rank 1" in document["advice"][0]["evidence"], document["advice"]
    assert "rank 1" in document["verdict"]


def test_slow_input_is_named_with_its_stage(faulty):
    document = faulty("slow-input")
    check_products(document["efficiency"]["tree"])
    assert document["input"]["limit"] == "augment", "it sleeps nearly all the time"
    assert [stage["name"] for stage in document["input"]["stages"]].count("augment") == 1


@pytest.mark.parametrize(("kind", "least_ms"), [("slow-link", 5), ("late-bucket", 0)])
def test_exchanges_are_in_the_table_of_collectives(faulty, kind, least_ms):
    document = faulty(kind)
    check_products(document["efficiency"]["tree"])
    assert factors(document["efficiency"]["tree"])["transfer"] < 1, "the last bucket cannot be hidden"
    allreduce = document["collectives"]["kinds"][0]
    assert allreduce["name"] == "allreduce" and allreduce["count"] >= 40, document["collectives"]
    assert allreduce["seconds"] >= 40 * least_ms / 1e3, document["collectives"]


def test_evaluation_on_one_rank_is_a_sequential_part(faulty):
    document = faulty("rank0-eval")
    parts = {(part["name"], part["rank"]) for part in document["sequential"]["parts"]}
    assert ("evaluate", 0) in parts, document["sequential"]
    assert "evaluation" in rules(document), document["advice"]
    advice = next(one for one in document["advice"] if one["rule"] == "evaluation")
    assert "rank 0" in advice["evidence"]


def test_a_healthy_run_gets_no_advice(ronde, build_dir, clean_env, tmp_path):
    program = build_dir / "report_generate"
    subprocess.run([program, "8", "30", tmp_path / "trace"], env=clean_env, check=True, capture_output=True)
    document = json.loads(ronde("report", "trace", "--json").stdout)
    assert document["advice"] == [] and document["problems"] == [] and document["state"] == "good"
    check_products(document["efficiency"]["tree"])


def test_the_page_and_the_text_say_the_same(ronde, faulty, tmp_path):
    document = faulty("slow-rank")
    text = ronde("report", "trace")
    assert text.returncode == 0, text.stderr
    flat = " ".join(text.stdout.split())
    assert document["verdict"] in flat
    page = (tmp_path / "trace" / "report.html").read_text()
    assert "<html" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_a_training_by_recipe_gets_a_command_to_go_on_with(ronde, build_dir):
    program = str(build_dir / "ronde")
    words = "--train-steps 12 --data-samples 1024 --data-test-samples 64 --trace-dir trace --trace-modules true"
    again = ("--checkpoint-resume", "none")
    job = ronde("run", "-n", "2", program, "train", "demo", *words.split(), *again)
    assert job.returncode == 0, job.stderr
    guide = ronde("report", "trace", "--guide")
    assert guide.returncode == 0 and "<- here" in guide.stdout, guide.stdout
    document = json.loads(ronde("report", "trace", "--json").stdout)
    if not document["advice"]:  # the next experiment, on as many ranks or on fewer to compare with
        assert re.search(r"\$ ronde run -n \d ronde train demo", guide.stdout), guide.stdout
    assert document["job"]["recipe"] == "demo"
    assert document["job"]["batch"] > 0
    assert any(path["name"] == "training" for path in document["profile"]["tree"])
    assert document["operators"], "modules of the network, since they were asked for"


def test_the_machine_is_measured_once_and_the_report_knows_it(ronde, build_dir, tmp_path):
    def train(name: str, *more: str, **variables: str) -> tuple[str, dict]:
        words = f"--train-steps 6 --data-samples 512 --data-test-samples 64 --trace-dir {name} --output-dir out-{name}"
        program = str(build_dir / "ronde")
        job = ronde("run", "-n", "2", program, "train", "demo", *words.split(), *more, **variables)
        assert job.returncode == 0, job.stderr
        report = ronde("report", name, "--json", XDG_CACHE_HOME=str(tmp_path / "none"))
        assert report.returncode == 0, report.stderr
        return job.stderr, json.loads(report.stdout)

    said, first = train("first")
    assert said.count("measured for the report") == 1, said
    (kept,) = (tmp_path / "cache" / "ronde").glob("rates-*.json")
    assert f"saved in {kept}" in said
    known = {row["name"]: row["known"] for row in first["bottlenecks"]}
    assert known["compute"] and known["memory bandwidth"], first["bottlenecks"]
    assert first["roofline"]["flops_ceiling"] > 1e8 and first["roofline"]["bytes_ceiling"] > 1e8

    said, second = train("second")
    assert "measured" not in said, said
    assert second["roofline"]["flops_ceiling"] == first["roofline"]["flops_ceiling"]

    (tmp_path / "file").write_text("no folder")
    said, third = train("third", XDG_CACHE_HOME=str(tmp_path / "file"))
    assert "not saved: cannot write" in said, said
    assert third["roofline"]["flops_ceiling"] > 1e8

    said, _ = train("fourth", "--trace-roofline", "off", XDG_CACHE_HOME=str(tmp_path / "empty"))
    assert "measured" not in said and not (tmp_path / "empty" / "ronde").exists(), said


def test_a_long_trace_is_reported_in_little_memory(ronde, build_dir, tmp_path):
    made = subprocess.run([build_dir / "report_generate", "2", "600", tmp_path / "trace", "4"], check=False)
    assert made.returncode == 0
    report = ronde("report", "trace", "--memory", "1MiB")
    assert report.returncode == 0, report.stderr
    assert "the trace is too long to be analysed in 1 MiB" in " ".join(report.stdout.split())
    document = json.loads(ronde("report", "trace", "--memory", "1MiB", "--json").stdout)
    assert document["window"]["steps"] < 300
    assert document["window"]["first_step"] > 100
    whole = json.loads(ronde("report", "trace", "--json").stdout)
    assert whole["window"]["steps"] == 600 and not whole["problems"]
    wrong = ronde("report", "trace", "--memory", "lots")
    assert wrong.returncode == 2 and "--memory" in wrong.stderr, wrong.stderr


def test_what_is_cut_off_is_reported_as_far_as_it_goes(ronde, faulty, tmp_path):
    faulty("healthy")
    file = tmp_path / "trace" / "trace-00001.perfetto-trace"
    begun = b"\x0a\x40"  # a packet of 64 bytes that are not there, should half of the file be whole packets
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] + begun)
    report = ronde("report", "trace", "--json")
    assert report.returncode == 0, report.stderr
    problems = json.loads(report.stdout)["problems"]
    assert any("trace-00001" in text and "byte" in text for text in problems), problems


def test_a_rank_whose_recording_breaks_off_is_not_blamed(ronde, build_dir, clean_env, tmp_path):
    program = build_dir / "report_generate"
    subprocess.run([program, "4", "30", tmp_path / "trace"], env=clean_env, check=True, capture_output=True)
    file = tmp_path / "trace" / "trace-00001.perfetto-trace"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])
    document = json.loads(ronde("report", "trace", "--json").stdout)
    assert document["advice"] == [] and document["state"] == "unknown", document["verdict"]
    assert document["verdict"].startswith("The recording of rank 1 breaks off"), document["verdict"]
    assert "nothing needs to be changed" not in document["verdict"], document["verdict"]
    assert document["efficiency"]["tree"]["value"] > 0.9, "its numbers are told all the same"
    assert any("rank 1 is left out" in text for text in document["problems"]), document["problems"]
    check_products(document["efficiency"]["tree"])


def test_a_training_that_fails_gets_no_grade(ronde, build_dir, tmp_path):
    (tmp_path / "empty").mkdir()
    words = ["--data-name", "images", "--data-path", "empty", "--trace-dir", "trace", "--checkpoint-resume", "none"]
    job = ronde("run", "-n", "2", str(build_dir / "ronde"), "train", "demo", *words)
    assert job.returncode != 0
    report = ronde("report", "trace", "--text")
    said = " ".join((report.stdout + report.stderr).split())
    assert "The run failed " in said and "empty" in said, said
    assert "GOOD" not in said and "nothing needs to be changed" not in said and "Nothing: no rule" not in said, said


def test_a_program_that_ends_by_an_exception_gets_no_grade(ronde, build_dir, tmp_path):
    job = ronde("run", "-n", "2", str(build_dir / "report_fault"), "fails", RONDE_TRACE_DIR=str(tmp_path / "trace"))
    assert job.returncode != 0
    document = json.loads(ronde("report", "trace", "--json").stdout)
    assert document["state"] == "unknown", document["verdict"]
    assert document["verdict"].startswith("The run failed after "), document["verdict"]
    assert "In the" in document["verdict"] and "steps that were recorded as a whole" in document["verdict"]


def test_two_runs_are_set_side_by_side(ronde, faulty, tmp_path):
    faulty("healthy")
    pathlib.Path(tmp_path / "trace").rename(tmp_path / "first")
    faulty("slow-rank")
    report = ronde("report", "first", "trace", "--json")
    assert report.returncode == 0, report.stderr
    document = json.loads(report.stdout)
    assert document["source"] == "trace"
    assert document["compare"]["paths"], "the same paths in both"


def test_runs_on_one_and_two_ranks_show_how_they_scale(ronde, build_dir):
    program = str(build_dir / "ronde")
    words = "--train-steps 6 --data-samples 512 --data-test-samples 64 --checkpoint-resume none"
    for ranks in ("1", "2"):
        folders = ("--trace-dir", f"trace{ranks}", "--output-dir", f"out{ranks}")
        job = ronde("run", "-n", ranks, program, "train", "demo", *words.split(), *folders)
        assert job.returncode == 0, job.stderr
    document = json.loads(ronde("report", "trace2", "trace1", "--json").stdout)
    assert [run["ranks"] for run in document["scaling"]["runs"]] == [1, 2]
    assert document["scaling"]["kind"] == "strong"
    tree = document["efficiency"]["tree"]
    check_products(tree)
    assert tree["key"] == "global", "of the larger run, by what a sample costs in the smaller one"
    assert factors(tree)["computation_scaling"] == pytest.approx(document["scaling"]["runs"][1]["computation_scaling"])
    assert "trace2: recipe demo" in ronde("report", "trace1", "trace2", "--text").stdout


@pytest.mark.parametrize(
    "words, says",
    [
        ((), "missing trace folder"),
        (("nowhere",), "there is no 'nowhere'"),
        (("--json", "--text", "x"), "cannot be used together"),
        ((".",), "holds no trace"),
        (("--steps", "a..b", "x"), "a..b"),
    ],
)
def test_wrong_use_is_explained(ronde, words, says):
    report = ronde("report", *words)
    assert report.returncode == 2
    assert says in report.stderr and len(report.stderr.strip().splitlines()) == 1
