#pragma once

#include "ronde/bench/bench.h"

// One function a benchmark, each in the file of its name.
namespace ronde::bench {

Report run_allreduce(const Options& options);
Report run_control(const Options& options);
Report run_decode(const Options& options);
Report run_nodes(const Options& options);
Report run_records(const Options& options);
Report run_report(const Options& options);
Report run_roofline(const Options& options);
Report run_span(const Options& options);
Report run_step(const Options& options);
Report run_trace(const Options& options);
Report run_python(const Options& options);
Report run_train(const Options& options);
Report run_train_gpu(const Options& options);       // a part of the one before: train_gpu.cc
Report run_step_autotuned(const Options& options);  // a part of the one before: autotune.cc

}  // namespace ronde::bench
