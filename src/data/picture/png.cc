#include "ronde/data/picture/png.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <malloc.h>
#include <png.h>

#include "ronde/base/error.h"

namespace ronde::data::picture {

struct PngReader::State {
  // The library's functions, which find this by the pointer that they were given.
  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    auto& state = *static_cast<State*>(png_get_error_ptr(png));
    std::strncpy(state.message.data(), message, state.message.size() - 1);
    std::longjmp(state.jump, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void give(png_structp png, png_bytep into, std::size_t count) {
    auto& state = *static_cast<State*>(png_get_io_ptr(png));
    if (count > state.bytes.size() - state.at) png_error(png, "the file ends");
    std::memcpy(into, state.bytes.data() + state.at, count);
    state.at += count;
  }
  static void* take(png_structp png, png_alloc_size_t size) {
    auto& state = *static_cast<State*>(png_get_mem_ptr(png));
    void* memory = std::malloc(size);
    if (memory) state.used = std::max(state.used, state.held += malloc_usable_size(memory));
    return memory;
  }
  static void give_back(png_structp png, void* memory) {
    static_cast<State*>(png_get_mem_ptr(png))->held -= memory ? malloc_usable_size(memory) : 0;
    std::free(memory);
  }

  // As JpegEscape::guarded().
  template <class Action>
  [[gnu::noinline]] bool guarded(Action&& action) {
    if (setjmp(jump) != 0) return false;
    action();
    return true;
  }
  [[noreturn]] void fail() {
    close();
    throw Error::bad_input("a damaged PNG, at byte {} of {}: {}", at, bytes.size(), message.data());
  }
  void close() {
    if (png) png_destroy_read_struct(&png, &info, nullptr);
    png = nullptr;
    info = nullptr;
  }
  void begin();

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump{};
  std::array<char, 200> message{};
  std::string_view bytes;
  std::size_t at = 0, held = 0, used = 0;
  int width = 0, channels = 3, left_column = 0, left = 0;
  std::vector<std::uint8_t> row;      // one, in four bytes a pixel; or, interlaced, all of the picture
  std::vector<png_bytep> row_starts;  // of an interlaced one
  std::size_t next = 0;
};

PngReader::PngReader() : state_(std::make_unique<State>()) {}

PngReader::~PngReader() {
  state_->close();
}

// Whatever the file holds, what comes are four bytes a pixel.
void PngReader::State::begin() {
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // no texts, no profiles: they may be bombs
  png_set_chunk_malloc_max(png, 64 << 10);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_filler(png, 255, PNG_FILLER_AFTER);
  if (!row_starts.empty()) png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != 4 * static_cast<std::size_t>(width)) png_error(png, "rows of an odd size");
}

void PngReader::start(std::string_view bytes, const Header& header, const Window& window, int channels) {
  State& state = *state_;
  state.close();
  state.bytes = bytes;
  state.at = state.held = state.used = 0;
  state.width = header.width;
  state.channels = channels;
  state.left_column = window.left;
  state.left = window.height;
  const std::size_t a_row = 4 * static_cast<std::size_t>(header.width);
  const std::size_t rows = header.whole ? static_cast<std::size_t>(header.height) : 1;
  state.row.resize(a_row * rows);
  state.row_starts.resize(header.whole ? rows : 0);
  for (std::size_t y = 0; y < state.row_starts.size(); ++y) state.row_starts[y] = state.row.data() + y * a_row;
  state.next = static_cast<std::size_t>(window.top);
  const bool ok = state.guarded([&] {
    state.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &state, State::leave, State::ignore, &state,
                                         State::take, State::give_back);
    if (!state.png || !(state.info = png_create_info_struct(state.png))) std::longjmp(state.jump, 1);
    png_set_read_fn(state.png, &state, State::give);
    state.begin();
    if (header.whole)
      png_read_image(state.png, state.row_starts.data());
    else
      for (int y = 0; y < window.top; ++y) png_read_row(state.png, state.row.data(), nullptr);
  });
  if (!ok) state.fail();
}

int PngReader::row_pixels() const {
  return state_->width - state_->left_column;
}

int PngReader::first() const {
  return 0;
}

int PngReader::read(std::uint8_t* into, std::size_t, int most) {
  State& state = *state_;
  std::uint8_t* row = state.row.data();
  if (!state.row_starts.empty())
    row = state.row_starts[state.next++];
  else if (!state.guarded([&] { png_read_row(state.png, row, nullptr); }))
    state.fail();
  const int count = row_pixels();
  std::uint8_t* begin = row + 4 * static_cast<std::size_t>(state.left_column);
  if (state.channels == 1) colours_to_grey(begin, count);
  std::memcpy(into, begin, static_cast<std::size_t>(count) * (state.channels == 1 ? 1 : 4));
  --state.left;
  return std::min(most, 1);
}

void PngReader::finish() {
  state_->close();
  if (state_->bytes.rfind("IEND") == std::string_view::npos)
    throw Error::bad_input("a PNG that is cut off after {} bytes", state_->bytes.size());
}

std::size_t PngReader::used() const {
  return state_->used;
}

}  // namespace ronde::data::picture
