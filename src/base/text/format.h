#pragma once

// The way to include fmt. libtorch ships fmt headers of its own, and a source file that uses both finds those first:
// then the library that we link has another version, and fmt must do without it. Versions before 11 have no base.h.
#if !defined(FMT_HEADER_ONLY) && (RONDE_FMT_MAJOR >= 11 || __has_include(<fmt/base.h>))
#define FMT_HEADER_ONLY
#endif

#include <fmt/format.h>
