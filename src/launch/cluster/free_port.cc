#include "ronde/launch/cluster/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ronde/launch/process/descriptor.h"

namespace ronde::launch::detail {

int free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // port 0: the kernel picks one
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  if (!socket || bind(socket.get(), name, length) != 0 || getsockname(socket.get(), name, &length) != 0)
    throw Error::system(errno, "cannot find a free TCP port for MASTER_PORT");
  return ntohs(address.sin_port);
}

}  // namespace ronde::launch::detail
