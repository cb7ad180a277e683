#include "ronde/data/formats/images/picture_set.h"

#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/naming.h"

namespace ronde::data::files {
namespace {

class PictureRecords : public Records {
 public:
  PictureRecords(std::string name, detail::PictureSet set, std::vector<std::string> classes)
      : name_(std::move(name)),
        set_(std::make_shared<const detail::PictureSet>(std::move(set))),
        classes_(std::move(classes)) {
    for (std::int64_t i = 0; i < size(); ++i) check_class(label(i), classes_.size(), where(i));
  }

  std::string name() const override { return name_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(set_->labels.size()); }
  std::vector<std::string> classes() const override { return classes_; }
  std::size_t bytes(std::int64_t) const override { return set_->kind.values() + 8; }

  std::string where(std::int64_t index) const override {
    const Place at = find(index);
    const detail::FileBytes& file = set_->files[at.run];
    return fmt::format("{} at byte {}", file.name(), at.first - file.bytes().data());
  }

  Sample read(std::int64_t index) const override {
    Sample sample;
    sample.set("image", picture(find(index).first));
    sample.set("class", Array::scalar<std::int64_t>(label(index)));
    return sample;
  }

 private:
  struct Place {
    std::size_t run = 0;  // a file has one
    const std::uint8_t* first = nullptr;
  };

  std::int64_t label(std::int64_t index) const { return set_->labels[static_cast<std::size_t>(index)]; }

  Place find(std::int64_t index) const {
    std::size_t run = 0;
    for (; index >= set_->runs[run].count; ++run) index -= set_->runs[run].count;
    return {run, set_->runs[run].first + static_cast<std::size_t>(index) * set_->runs[run].stride};
  }

  Array picture(const std::uint8_t* from) const {
    const SampleKind& kind = set_->kind;
    if (kind.channels == 1) return Array::view(Type::U8, {kind.height, kind.width, 1}, from, set_);
    Array pixels(Type::U8, {kind.height, kind.width, kind.channels});
    const auto to = pixels.values<std::uint8_t>();
    const auto channels = static_cast<std::size_t>(kind.channels), area = to.size() / channels;
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t i = 0; i < area; ++i) to[i * channels + c] = from[c * area + i];
    return pixels;
  }

  const std::string name_;
  const std::shared_ptr<const detail::PictureSet> set_;
  const std::vector<std::string> classes_;
};

}  // namespace

std::unique_ptr<Records> make_picture_records(std::string name, detail::PictureSet set,
                                              std::vector<std::string> classes) {
  return std::make_unique<PictureRecords>(std::move(name), std::move(set), std::move(classes));
}

}  // namespace ronde::data::files
