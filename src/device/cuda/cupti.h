#pragma once

#include <string_view>

#include <cupti.h>

// For sources that are built with CUPTI only.
namespace ronde::device {

// What we use of CUPTI, NVIDIA's library for looking on. It is loaded at run time, since a machine may lack it.
//
// Records are read as the oldest of the structures that have what we need (CUpti_ActivityKernel4, CUpti_ActivityMemcpy,
// CUpti_ActivityMemset). Newer ones only add fields behind it, so one source does for headers and libraries of CUDA 12
// and 13, and of different ones.
struct Cupti {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiActivityRegisterTimestampCallback) register_clock;
  decltype(&cuptiActivityRegisterCallbacks) register_buffers;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) count_dropped;
  decltype(&cuptiGetResultString) result_string;

  // FAILS WITH: System when there is no such library, or one that is too old.
  static Cupti load();

  // FAILS WITH: System in CUPTI's words, unless `result` is CUPTI_SUCCESS.
  void check(CUptiResult result, std::string_view doing) const;
};

}  // namespace ronde::device
