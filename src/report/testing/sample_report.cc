#include "ronde/report/testing/sample_report.h"

#include <cmath>
#include <utility>

namespace ronde::report::testing {
namespace {

constexpr double kSlower = 1.3;  // rank 2 computes so many times as long

std::string host_of(int rank) {
  return rank < 2 ? "b1" : "b2";
}

Factor host_tree() {
  const Factor communication{"communication",
                             "communication",
                             0.875,
                             "Waiting for other ranks beside what the load makes them wait.",
                             {{"serialisation", "serialisation", 0.9655172413793105,
                               "Ranks wait for one another in turns, even on a network that costs nothing."},
                              {"transfer", "transfer", 0.9062499999999999, "Data is on its way."}}};
  const Factor parallel{"parallel",
                        "parallel efficiency",
                        0.705,
                        "The share of the ranks' time that is useful work.",
                        {{"load_balance", "load balance", 0.8392857142857143,
                          "Ranks that have less work wait for the one that has most."},
                         communication,
                         {"input", "input", 0.96, "Training waits for its next batch."}}};
  return {"global",
          "global efficiency",
          0.6627,
          "Of the speed that these ranks would have without any loss, this share is left.",
          {parallel,
           {"computation_scaling", "computation scaling", 0.94, "The same work takes more time than on one rank."}}};
}

Factor device_tree() {
  return {"device",
          "device efficiency",
          0.6782999999999999,
          "The share of the time in which devices compute.",
          {{"device_load_balance", "load balance", 0.84, "Devices that have less to compute."},
           {"device_communication", "communication", 0.95, "Copies and collectives."},
           {"device_orchestration", "orchestration", 0.85, "Devices have nothing to do."}}};
}

std::vector<DeviceUse> devices() {
  std::vector<DeviceUse> devices;
  for (int rank = 0; rank < 4; ++rank)
    devices.push_back({.rank = rank,
                       .host = host_of(rank),
                       .seconds = 0.8,
                       .busy = 0.68,
                       .computing = 0.528,
                       .collectives = 0.16,
                       .copies = 0.04});
  devices[2].busy = 0.707;
  devices[2].computing = 0.646;
  devices[2].collectives = 0.064;
  return devices;
}

StepTable steps() {
  constexpr std::size_t kSteps = 8;
  StepTable table{.slowest = std::vector<int>(kSteps, 2),
                  .seconds = std::vector<double>(kSteps, 0.1),
                  .median_seconds = 0.1,
                  .slow = {.rank = 2,
                           .host = "b2",
                           .share_of_steps = 1,
                           .excess = 0.191489362,
                           .always = true,
                           .text = "Rank 2 (b2) is the slowest in all of 8 steps, with 19 % more work than the mean: a "
                                   "slow node rather than noise."}};
  for (std::size_t i = 0; i < kSteps; ++i) table.numbers.push_back(static_cast<std::int64_t>(100 + i));
  for (int rank = 0; rank < 4; ++rank) {
    Shares step{.total = 0.1, .compute = 0.06, .optimizer = 0.006, .exposed = 0.0295, .input = 0.004, .idle = 0.0005};
    step.hidden = 0.014;
    step.moving = 0.026;
    if (rank == 2) {
      step.compute = 0.078;
      step.exposed = 0.0115;
    }
    RankSteps row{.rank = rank, .host = host_of(rank), .steps = std::vector<Shares>(kSteps, step)};
    for (const Shares& one : row.steps) row.all += one;
    table.ranks.push_back(std::move(row));
  }
  return table;
}

Phases phases() {
  return {.seconds = 2.526,
          .phases = {{.kind = PhaseKind::StartUp, .seconds = 1.5, .share = 0.593824228, .ranks_busy = 4},
                     {.kind = PhaseKind::Training, .seconds = 0.8, .share = 0.316706255, .ranks_busy = 2.82},
                     {.kind = PhaseKind::Testing,
                      .seconds = 0.21,
                      .share = 0.083135392,
                      .ranks_busy = 1,
                      .sequential_seconds = 0.21},
                     {.kind = PhaseKind::Saving, .seconds = 0.016, .share = 0.006334125, .ranks_busy = 3.1}},
          .sequential = {.share = 0.083135392,
                         .limit = 12.028571429,
                         .text = "One rank works while the others wait in 8 % of the time: no number of ranks makes "
                                 "this run more than 12 times as fast.",
                         .parts = {{.name = "testing", .seconds = 0.21, .rank = 0, .phase = PhaseKind::Testing}}}};
}

PathTime path(std::string name, std::uint64_t visits, std::vector<double> per_rank,
              std::vector<PathTime> children = {}) {
  PathTime path{.name = std::move(name), .visits = visits};
  for (const double seconds : per_rank) path.inclusive += seconds;
  double below = 0;
  for (const PathTime& child : children) below += child.inclusive;
  path.exclusive = std::round((path.inclusive - below) * 1e9) / 1e9;
  path.per_rank = std::move(per_rank);
  path.children = std::move(children);
  return path;
}

PathTime computing(std::string name, double seconds, std::vector<PathTime> children = {}) {
  return path(std::move(name), 32, {seconds, seconds, kSlower * seconds, seconds}, std::move(children));
}

// A pass through the network of which the forward pass takes one `scale`.
std::vector<PathTime> modules(double scale) {
  return {computing("stem", 0.0192 * scale),
          computing("layer1", 0.0608 * scale,
                    {computing("layer1.0.conv1", 0.032 * scale), computing("layer1.0.conv2", 0.0272 * scale)}),
          computing("layer2", 0.0656 * scale,
                    {computing("layer2.0.conv1", 0.0288 * scale), computing("layer2.0.conv2", 0.0336 * scale)}),
          computing("head", 0.008 * scale)};
}

Profile profile() {
  return {.source = "runs/r4",
          .steps = 8,
          .ranks = {0, 1, 2, 3},
          .tree = {path("step", 32, {0.796, 0.796, 0.796, 0.796},
                        {path("wait for input", 32, {0.032, 0.032, 0.032, 0.032}),
                         computing("forward", 0.16, modules(1)), computing("backward", 0.32, modules(2)),
                         path("wait for communication", 32, {0.236, 0.236, 0.092, 0.236}),
                         path("optimizer", 32, {0.048, 0.048, 0.048, 0.048})}),
                   path("evaluate", 1, {0.21, 0, 0, 0}), path("checkpoint copy", 1, {0.012, 0.011, 0.013, 0.011})}};
}

std::vector<OperatorTime> operators() {
  return {
      {.name = "aten::convolution_backward", .category = "operator", .visits = 256, .seconds = 0.84, .share = 0.543},
      {.name = "aten::conv2d", .category = "operator", .visits = 256, .seconds = 0.41, .share = 0.26503},
      {.name = "aten::batch_norm", .category = "operator", .visits = 256, .seconds = 0.17, .share = 0.11},
      {.name = "allreduce", .category = "collective", .visits = 16, .seconds = 0.096, .share = 0.062},
      {.name = "Memcpy HtoD", .category = "copy", .visits = 32, .seconds = 0.031, .share = 0.02}};
}

Comparison comparison() {
  return {.first = "runs/r2",
          .second = "runs/r4",
          .paths = {{"step > wait for communication", 0.0046, 0.025, 0.0046, 0.025},
                    {"step > backward", 0.0401, 0.043, 0.0016, 0.0017},
                    {"step > wait for input", 0.0017, 0.004, 0.0017, 0.004},
                    {"step > optimizer", 0.0061, 0.006, 0.0061, 0.006}}};
}

InputLimit input() {
  const auto stage = [](std::string name, int threads, double busy, double waiting, double room, double items,
                        double ready) {
    return InputStage{.name = std::move(name),
                      .busy = busy,
                      .waiting_input = waiting,
                      .waiting_room = room,
                      .items_per_second = items,
                      .threads = threads,
                      .occupancy = ready};
  };
  return {
      .limit = "decode",
      .text = "The stage decode limits: its threads are at work 94 % of the time and nothing is ready after it.",
      .waiting_share = 0.04,
      .samples_per_second = 2560,
      .ceiling_samples_per_second = 2666.666666667,
      .stages = {stage("read", 1, 0.11, 0.02, 0.66, 4210, 0.97), stage("decode", 2, 0.74, 0.03, 0.02, 2590, 0.12),
                 stage("augment", 2, 0.35, 0.4, 0.04, 4900, 0.08), stage("batch", 1, 0.05, 0.71, 0.03, 20100, 0.05)}};
}

Collectives collectives() {
  return {.kinds = {{.name = "allreduce",
                     .group = "world",
                     .count = 16,
                     .bytes = 357812544,
                     .seconds = 0.208,
                     .bandwidth_gb_s = 1.72,
                     .measured_gb_s = 3.4},
                    {.name = "broadcast",
                     .group = "world",
                     .count = 2,
                     .bytes = 8192,
                     .seconds = 0.00012,
                     .bandwidth_gb_s = 0.068}},
          .fit = CollectiveFit{.latency_us = 40,
                               .bandwidth_gb_s = 3.2,
                               .crossover_bytes = 128000,
                               .points = {{4096, 41},
                                          {65536, 62},
                                          {262144, 120},
                                          {1048576, 370},
                                          {4194304, 1390},
                                          {16777216, 5300},
                                          {67108864, 21200}}},
          .text = "From the last arrival, allreduces reach 1.72 GB/s, 51 % of what was measured on these ranks."};
}

std::vector<Bottleneck> bottlenecks() {
  return {
      {.name = "compute",
       .samples_per_second = 3050,
       .known = true,
       .binds = true,
       .text = "Kernels alone take 84 ms of a step on rank 2."},
      {.name = "memory bandwidth", .samples_per_second = 5200, .known = true, .text = "Layers move 38 GB in a step."},
      {.name = "memory size", .text = "No counter of memory was recorded."},
      {.name = "input",
       .samples_per_second = 3367,
       .known = true,
       .text = "The stage decode makes 3367 samples a second."},
      {.name = "communication",
       .samples_per_second = 9846,
       .known = true,
       .text = "Allreduces take 26 ms of a step, 14 of them hidden."}};
}

LayerRoofline roofline() {
  const auto layer = [](std::string name, std::string operation, double intensity, double gflops, double share,
                        std::string bound) {
    return LayerPoint{.name = std::move(name),
                      .operation = std::move(operation),
                      .flops = gflops * 1e9,
                      .bytes = gflops * 1e9 / intensity,
                      .seconds = 1,
                      .share = share,
                      .bound = std::move(bound)};
  };
  return {.rates = {.name = "b1", .arithmetic = "f32", .flops = 14e12, .bytes = 120e9},
          .layers = {layer("stem.conv", "conv2d", 31, 2678.4, 0.12, "memory"),
                     layer("layer1.0.conv1", "conv2d", 74, 7192.8, 0.2, "memory"),
                     layer("layer1.0.conv2", "conv2d", 74, 7548, 0.17, "memory"),
                     layer("layer1.0.bn1", "batch_norm", 1.3, 96.72, 0.05, "memory"),
                     layer("layer2.0.conv1", "conv2d", 141, 9240, 0.18, "compute"),
                     layer("layer2.0.conv2", "conv2d", 160, 10360, 0.21, "compute"),
                     layer("head", "linear", 22, 818.4, 0.05, "memory")},
          .text = "2 of 7 layers are bound by compute; with the rest they reach 73 % of what the machine can do."};
}

Scaling scaling() {
  const auto run = [](int ranks, double speed, double speedup, double share, std::vector<double> phases) {
    ScaledRun scaled{.speedup = speedup, .efficiency = speedup / ranks, .computation_scaling = share};
    scaled.run = {.source = "runs/r" + std::to_string(ranks),
                  .ranks = ranks,
                  .batch = 64 * ranks,
                  .samples_per_second = speed,
                  .phases = {{.kind = PhaseKind::StartUp, .seconds = phases[0]},
                             {.kind = PhaseKind::Training, .seconds = phases[1]},
                             {.kind = PhaseKind::Testing, .seconds = phases[2]},
                             {.kind = PhaseKind::Saving, .seconds = phases[3]}}};
    return scaled;
  };
  const auto factor = [](std::string key, double value, std::vector<Factor> children = {}) {
    return Factor{.key = std::move(key), .value = value, .children = std::move(children)};
  };
  const auto tree = [&](double global, double parallel, double balance, double serialisation, double transfer,
                        double input, double computation) {
    return factor("global", global,
                  {factor("parallel", parallel,
                          {factor("load_balance", balance),
                           factor("communication", serialisation * transfer,
                                  {factor("serialisation", serialisation), factor("transfer", transfer)}),
                           factor("input", input)}),
                   factor("computation_scaling", computation)});
  };
  Scaling scaling{.kind = ScalingKind::Weak,
                  .text = "4 ranks are 2.65 times as fast as one; load balance loses most.",
                  .runs = {run(1, 965.746189829, 1, 1, {1.2, 0.53016, 0.21, 0.013}),
                           run(2, 1711.490701608, 1.772195137, 0.97, {1.3, 0.59830883, 0.21, 0.014}),
                           run(4, 2560, 2.6508, 0.94, {1.5, 0.8, 0.21, 0.016})},
                  .lost = "load_balance",
                  .amdahl = AmdahlFit{.serial_fraction = 0.083135392, .limit = 12.028571429}};
  scaling.runs[0].global = tree(1, 1, 1, 1, 1, 1, 1);
  scaling.runs[1].global = tree(0.886097569, 0.913502648, 0.985, 0.992, 0.953, 0.981, 0.97);
  scaling.runs[2].global = tree(0.6627, 0.705, 0.839285714, 0.965517241, 0.90625, 0.96, 0.94);
  return scaling;
}

std::vector<GuideStage> guide() {
  return {{.stage = "compute",
           .state = GuideStage::State::Done,
           .text = "On synthetic input one rank does 966 samples a second."},
          {.stage = "input", .state = GuideStage::State::Done, .text = "Input from local storage costs 4 %."},
          {.stage = "communication",
           .state = GuideStage::State::Here,
           .text = "Communication and load cost 27 %: find out why rank 2 is slower.",
           .command = "ronde bench roofline --hosts b1,b2"},
          {.stage = "scale",
           .text = "More ranks once four are above 80 %.",
           .command = "ronde run -n 8 -- ronde train cifar-resnet"}};
}

std::vector<Advice> advice() {
  return {{.rule = "slow_node",
           .title = "Rank 2 (b2) is slower than all others",
           .evidence = "In 8 of 8 steps it has most work, 84 ms where the others have 66 ms, with the same number of "
                       "samples.",
           .change = "Compare the clock of b2 with that of b1, or leave b2 out.",
           .gain = 0.18,
           .at = AdvicePlace{.rank = 2, .step = 102, .begin = 0.204, .end = 0.282}},
          {.rule = "communication",
           .title = "Gradients take half of the network's speed",
           .evidence = "Allreduces reach 1.72 of 3.4 GB/s; 12 ms of each step are exposed.",
           .change = "Let more of them go together.",
           .setting = "comm.fusion_bytes=128MiB",
           .gain = 0.09,
           .at = AdvicePlace{.rank = 0, .step = 103, .begin = 0.382, .end = 0.394}},
          {.rule = "evaluation",
           .title = "Testing runs on rank 0 alone",
           .evidence = "0.21 s on rank 0 while 3 ranks wait.",
           .change = "Test on all ranks.",
           .gain = 0.0624}};
}

// --- The timeline: two steps of 100 ms ---

enum Name : std::size_t {
  kInput = 1,
  kForward,
  kBackward,
  kComm,
  kOptimizer,
  kLayer1,
  kLayer2,
  kMove,
  kPeers,
  kDecode,
  kRoom,
  kStem
};

std::int64_t us(double microseconds) {
  return std::llround(1000 * microseconds);
}

TimelineSpan span(std::size_t name, double begin_us, double length_us, int depth = 0) {
  return {.name = name, .time = {us(begin_us), us(begin_us + length_us)}, .depth = depth};
}

void add_training(std::vector<TimelineSpan>& spans, double at, double slower) {
  const auto inner = [&](std::size_t name, double begin, double after, double length) {
    return span(name, begin + after * slower, length * slower, 1);
  };
  const double forward = at + 4'000, backward = forward + 20'000 * slower, wait = backward + 40'000 * slower;
  spans.insert(spans.end(),
               {span(kInput, at, 4'000), span(kForward, forward, 20'000 * slower), inner(kStem, forward, 0, 2'400),
                inner(kLayer1, forward, 2'600, 7'600), inner(kLayer2, forward, 10'400, 8'200),
                span(kBackward, backward, 40'000 * slower), inner(kLayer2, backward, 2'000, 16'400),
                inner(kLayer1, backward, 18'800, 15'200), inner(kStem, backward, 34'400, 4'800),
                span(kComm, wait, at + 93'500 - wait), span(kOptimizer, at + 94'000, 6'000)});
}

void add_moves(std::vector<TimelineSpan>& spans, double at, bool last) {
  if (last)
    spans.push_back(span(kMove, at + 58'600, 14'000));
  else
    spans.insert(spans.end(), {span(kMove, at + 46'000, 32'000), span(kPeers, at + 46'000, 18'000, 1)});
  spans.push_back(span(kMove, at + 82'000, 12'000));
}

Timeline timeline() {
  Timeline timeline{.pieces = {{.title = "step 102, a typical one", .number = 102, .time = {us(200'000), us(300'000)}},
                               {.title = "step 103", .number = 103, .time = {us(300'000), us(400'000)}}},
                    .names = {"step", "wait for input", "forward", "backward", "wait for communication", "optimizer",
                              "layer1", "layer2", "allreduce", "wait for peers", "decode", "wait for room", "stem"}};
  for (int rank = 0; rank < 4; ++rank) {
    const auto lane = [&](std::string name, trace::Lane::Kind kind) {
      return TimelineLane{.rank = rank, .host = host_of(rank), .name = std::move(name), .kind = kind};
    };
    TimelineLane training = lane("training", trace::Lane::Kind::Training);
    TimelineLane moves = lane("move: world", trace::Lane::Kind::Move);
    TimelineLane decode = lane("input decode", trace::Lane::Kind::Input);
    for (const double at : {200'000.0, 300'000.0}) {
      add_training(training.spans, at, rank == 2 ? kSlower : 1);
      add_moves(moves.spans, at, rank == 2);
      for (int i = 0; i < 4; ++i) decode.spans.push_back(span(kDecode, at + 1'000 + 24'500 * i, 22'500));
      decode.spans.push_back(span(kRoom, at + 96'500, 3'000));
    }
    timeline.lanes.insert(timeline.lanes.end(), {std::move(training), std::move(moves), std::move(decode)});
  }
  return timeline;
}

}  // namespace

Report sample_report() {
  return {
      .source = "runs/r4",
      .verdict = {.state = Verdict::State::Poor,
                  .text = "Of what these 4 ranks could do, 66 % is left: most is lost to load balance, as rank 2 (b2) "
                          "has 27 % more work than the others in every step."},
      .problems =
          {"runs/r4/rank3.pftrace ends in the middle of a packet at byte 91824: what is before it is reported."},
      .job = {.recipe = "cifar-resnet",
              .network = "resnet18",
              .data = "cifar10",
              .precision = "f32",
              .device = "cuda",
              .processor = "Example EPX 7000",
              .batch = 256,
              .parameters = 11181642,
              .threads = 4,
              .nodes = 2},
      .ranks = 4,
      .window = {.time = {0, 800'000'000}, .first_step = 100, .last_step = 107, .steps = 8},
      .efficiency = {.seconds = 0.8,
                     .no_input_seconds = 0.768,
                     .ideal_seconds = 0.696,
                     .useful_seconds = {0.528, 0.528, 0.672, 0.528}},
      .tree = host_tree(),
      .device_tree = device_tree(),
      .devices = devices(),
      .steps = steps(),
      .phases = phases(),
      .profile = profile(),
      .operators = operators(),
      .compare = comparison(),
      .input = input(),
      .collectives = collectives(),
      .bottlenecks = bottlenecks(),
      .roofline = roofline(),
      .scaling = scaling(),
      .guide = guide(),
      .advice = advice(),
      .timeline = timeline()};
}

}  // namespace ronde::report::testing
