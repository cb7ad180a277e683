#pragma once

// What spans, counters and metadata are called of which everybody agrees on the meaning: those who record them and
// those who read a trace use the same constants. They stay: traces of earlier versions are read too. Literals, so that
// a Name can be made of each.
namespace ronde::trace {

namespace span_names {
inline constexpr char kWaitForInput[] = "wait for input";                  // of the training thread
inline constexpr char kWaitForCommunication[] = "wait for communication";  // of any thread
inline constexpr char kWaitForDevice[] = "wait for device";                // of any thread, for its GPU
inline constexpr char kWaitForRoom[] = "wait for room";                    // of a thread of the input
inline constexpr char kWaitForPeers[] = "wait for peers";                  // inside a Move lane
inline constexpr char kWaitForReady[] = "wait for ready";                  // of an Agree lane, as are the next two
inline constexpr char kVote[] = "vote";
inline constexpr char kNegotiate[] = "negotiate";
inline constexpr char kForward[] = "forward";
inline constexpr char kBackward[] = "backward";
inline constexpr char kSynchronize[] = "synchronize";  // from the end of backward until gradients are there
inline constexpr char kOptimizer[] = "optimizer";
// A whole step handed to a device at once; and what was done so that it could be, of which nothing has run.
inline constexpr char kLaunchStep[] = "launch step";
inline constexpr char kRecordStep[] = "record step";
inline constexpr char kEvaluate[] = "evaluate";
inline constexpr char kLoad[] = "load";
inline constexpr char kSave[] = "checkpoint copy";
inline constexpr char kWaitForSaving[] = "checkpoint wait";  // until the checkpoint before is written
}  // namespace span_names

namespace counter_names {
inline constexpr char kMemory[] = "memory in use";               // bytes of the host
inline constexpr char kDeviceMemory[] = "device memory in use";  // of a GPU
}  // namespace counter_names

// Metadata of a rank whose work ended by an error: one sentence.
inline constexpr char kFailure[] = "failure";

}  // namespace ronde::trace
