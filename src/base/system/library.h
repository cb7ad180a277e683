#pragma once

#include <string>

namespace ronde {

// A shared library loaded at run time, for parts that a machine may lack. It stays in memory to the end of the process,
// since threads and texts of it may still be in use.
class Library {
 public:
  // `file` is a path or a name that the loader finds.
  // FAILS WITH: System, in the loader's own words.
  explicit Library(std::string file);
  ~Library();
  Library(Library&& other) noexcept;
  Library& operator=(Library&&) = delete;

  // The function of that name. FAILS WITH: System when the library has none.
  template <class Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  const std::string& file() const { return file_; }

 private:
  void* symbol(const std::string& name) const;

  std::string file_;
  void* handle_;
};

}  // namespace ronde
