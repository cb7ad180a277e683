#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What ranks prove with that they know the secret of their job. Pure; safe to call from any thread.
namespace ronde::comm::support {

using Sha256 = std::array<std::uint8_t, 32>;

// SHA-256 (FIPS 180-4).
Sha256 sha256(std::string_view message);

// HMAC-SHA-256 (RFC 2104).
Sha256 hmac_sha256(std::string_view key, std::string_view message);

// In a time that does not tell where they differ.
bool same_digest(const Sha256& a, const Sha256& b);

// Bytes that nobody can guess. FAILS WITH: System.
Sha256 random_bytes();
// The same as text.
std::string random_secret();

}  // namespace ronde::comm::support
