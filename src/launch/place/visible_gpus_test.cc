#include "ronde/launch/place/visible_gpus.h"

#include <gtest/gtest.h>

namespace ronde::launch {
namespace {

// The bus ids, which end in the number by which the whole machine counts its four GPUs.
std::string seen_with(std::initializer_list<Environment::Variables::value_type> variables) {
  topology::Machine machine = topology::from_synthetic("core:4 pu:1");
  for (const char* bus : {"0", "1", "2", "3"}) machine.gpus.push_back({"gpu", bus, 0, std::string("GPU-") + bus});
  std::string seen;
  for (const topology::Gpu& gpu : with_visible_gpus(machine, Environment(variables)).gpus) seen += gpu.bus_id;
  return seen;
}

TEST(VisibleGpus, AllUnlessSomethingIsSaid) {
  EXPECT_EQ(seen_with({}), "0123");
  EXPECT_EQ(seen_with({{"CUDA_VISIBLE_DEVICES", ""}}), "");
  EXPECT_EQ(seen_with({{"CUDA_VISIBLE_DEVICES", "3,1"}}), "31");
  EXPECT_EQ(seen_with({{"HIP_VISIBLE_DEVICES", "2"}}), "2");
  EXPECT_EQ(seen_with({{"CUDA_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "2"}}), "0");
}

TEST(VisibleGpus, SlurmMayHideTheOthersAltogether) {
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2,3"}}), "23");
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), "23") << "counted anew from 0";
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2-3"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "3");
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "0-3"}, {"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}}), "1");
}

TEST(VisibleGpus, OrLeaveThemThereAndNameTheGranted) {
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}), "23");
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "3"}}), "3");
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "0,1"}, {"CUDA_VISIBLE_DEVICES", "1,0"}}), "10");
}

TEST(VisibleGpus, NamesMeanWhatTheyMean) {
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "GPU-3"}}), "3");
  EXPECT_EQ(seen_with({{"SLURM_JOB_GPUS", "gpu:a"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "1");
}

}  // namespace
}  // namespace ronde::launch
