#pragma once

#include <string_view>

#include "ronde/comm/link/transport.h"

namespace ronde::comm::detail {

// A transport whose messages wake whom they are for, and which carries messages of unknown size, and notes that nobody
// has asked for: what ranks of different nodes agree over.
class Messenger : public Transport {
 public:
  // Has a message come, whole, that nobody has asked for yet?
  virtual bool waiting(int from, Tag tag) const = 0;
  // That message, of whatever size. REQUIRES: waiting().
  virtual SharedBuffer take(int from, Tag tag) = 0;
  // A word that nobody has to ask for.
  virtual void note(int to, std::string_view text) = 0;
};

}  // namespace ronde::comm::detail
