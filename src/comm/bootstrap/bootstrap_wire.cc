#include "ronde/comm/bootstrap/bootstrap_wire.h"

#include <cstring>

namespace ronde::comm::detail {
namespace {

constexpr std::uint32_t kMagic = 0x52'4f'4e'31;  // "RON1": the version of this page goes with it

Error nonsense(std::string_view what) {
  return {Error::Kind::System, fmt::format("the bootstrap's socket received {}", what)};
}

void put(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void put(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

// Takes values off the front of a content.
class Content {
 public:
  explicit Content(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes(std::size_t count) {
    if (bytes_.size() < count) throw nonsense("a message that ends too early");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::uint32_t number() {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes(sizeof(number)).data(), sizeof(number));
    return number;
  }
  std::string text() {
    const std::uint32_t length = number();
    return std::string(bytes(length));
  }
  // Every item takes at least four bytes: a count beyond that is a lie, and must not make us reserve memory.
  std::uint32_t count() {
    const std::uint32_t items = number();
    if (items > bytes_.size() / sizeof(std::uint32_t)) throw nonsense("a message that ends too early");
    return items;
  }
  void end() const {
    if (!bytes_.empty()) throw nonsense("a message that is too long");
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string pack(const Message& message) {
  std::string bytes;
  bytes.reserve(sizeof(std::uint32_t) + 1 + message.content.size());
  put(bytes, static_cast<std::uint32_t>(message.content.size()));
  bytes += static_cast<char>(message.type);
  bytes += message.content;
  return bytes;
}

std::string write_hello(const Hello& hello) {
  std::string content;
  put(content, kMagic);
  put(content, static_cast<std::uint32_t>(hello.rank));
  put(content, static_cast<std::uint32_t>(hello.size));
  return content;
}

Hello read_hello(std::string_view bytes) {
  Content content(bytes);
  if (content.number() != kMagic) throw nonsense("a greeting of another version of Ronde");
  Hello hello;
  hello.rank = static_cast<std::int32_t>(content.number());
  hello.size = static_cast<std::int32_t>(content.number());
  content.end();
  return hello;
}

std::string write_blobs(const std::vector<std::string>& blobs) {
  std::string content;
  put(content, static_cast<std::uint32_t>(blobs.size()));
  for (const std::string& blob : blobs) put(content, blob);
  return content;
}

std::vector<std::string> read_blobs(std::string_view bytes) {
  Content content(bytes);
  std::vector<std::string> blobs(content.count());
  for (std::string& blob : blobs) blob = content.text();
  content.end();
  return blobs;
}

std::string write_failure(const Failure& failure) {
  std::string content;
  put(content, static_cast<std::uint32_t>(failure.kind));
  put(content, static_cast<std::uint32_t>(failure.ranks.size()));
  for (const int rank : failure.ranks) put(content, static_cast<std::uint32_t>(rank));
  put(content, failure.text);
  return content;
}

Failure read_failure(std::string_view bytes) {
  Content content(bytes);
  Failure failure;
  const std::uint32_t kind = content.number();
  if (kind > static_cast<std::uint32_t>(Error::Kind::Bug)) throw nonsense("an error of unknown kind");
  failure.kind = static_cast<Error::Kind>(kind);
  failure.ranks.resize(content.count());
  for (int& rank : failure.ranks) rank = static_cast<int>(content.number());
  failure.text = content.text();
  content.end();
  return failure;
}

std::optional<Message> MessageReader::next() {
  constexpr std::size_t kHead = sizeof(std::uint32_t) + 1;
  if (bytes_.size() < kHead) return {};
  const std::size_t length = Content(bytes_).number();
  const auto type = static_cast<unsigned char>(bytes_[kHead - 1]);
  if (length > most_bytes_) throw nonsense(fmt::format("a message of {} bytes, too large", length));
  if (type > static_cast<unsigned char>(MessageType::Failed)) throw nonsense("a message of unknown type");
  if (bytes_.size() < kHead + length) return {};
  Message message{static_cast<MessageType>(type), bytes_.substr(kHead, length)};
  bytes_.erase(0, kHead + length);
  return message;
}

}  // namespace ronde::comm::detail
