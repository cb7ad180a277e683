#include "data_values.h"

#include <array>
#include <string>
#include <utility>

#include <pybind11/numpy.h>
#include <torch/csrc/autograd/python_variable.h>

#include "ronde/base/error.h"

namespace ronde::python {
namespace {

using data::Array;
using data::Sample;
using data::Type;

constexpr auto kTypes = std::to_array<std::pair<Type, at::ScalarType>>({{Type::U8, at::kByte},
                                                                        {Type::I8, at::kChar},
                                                                        {Type::U16, at::kUInt16},
                                                                        {Type::I16, at::kShort},
                                                                        {Type::I32, at::kInt},
                                                                        {Type::I64, at::kLong},
                                                                        {Type::BF16, at::kBFloat16},
                                                                        {Type::F32, at::kFloat},
                                                                        {Type::F64, at::kDouble}});

at::ScalarType scalar_type(Type type) {
  return kTypes[static_cast<std::size_t>(type)].second;
}

Type array_type(at::ScalarType type) {
  if (type == at::kBool) return Type::U8;
  for (const auto& [ours, torchs] : kTypes)
    if (torchs == type) return ours;
  throw Error::bad_input("has type {}, which batches cannot hold: convert it, for example to float32 or bfloat16",
                         c10::toString(type));
}

at::Tensor to_tensor(const Array& array) {
  const auto options = at::TensorOptions(scalar_type(array.type()));
  const at::Device device =
      array.device() < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(array.device()));
  if (array.empty()) return at::empty(array.shape(), options.device(device));
  return at::from_blob(
      const_cast<void*>(array.data()), array.shape(), [array](void*) {}, options.device(device), device);
}

Array of_tensor(const at::Tensor& tensor) {
  if (!tensor.is_cpu() || tensor.layout() != at::kStrided)
    throw Error::bad_input("is not a plain CPU tensor: prepare samples on the CPU, to_device() moves batches");
  const auto owner = std::make_shared<const at::Tensor>(tensor.detach().contiguous());
  return Array::view(array_type(owner->scalar_type()), owner->sizes().vec(), owner->const_data_ptr(), owner);
}

// NumPy's own arrays, which torch would not take where they are read-only, or warn.
Array of_numpy(const py::array& given) {
  const py::array array = py::array::ensure(given, py::array::c_style);
  if (!array) throw py::error_already_set();
  const at::ScalarType type = [&] {
    const char kind = array.dtype().kind();
    const auto bytes = array.itemsize();
    if (array.dtype().byteorder() == '>') throw Error::bad_input("is a NumPy array with a non-native byte order");
    if (kind == 'b') return at::kByte;
    if (kind == 'u') return bytes == 1 ? at::kByte : bytes == 2 ? at::kUInt16 : at::kUInt64;
    if (kind == 'i') return bytes == 1 ? at::kChar : bytes == 2 ? at::kShort : bytes == 4 ? at::kInt : at::kLong;
    if (kind == 'f') return bytes == 2 ? at::kHalf : bytes == 4 ? at::kFloat : at::kDouble;
    throw Error::bad_input("is a NumPy array of {}, which batches cannot hold",
                           py::str(static_cast<const py::object&>(array.dtype())).cast<std::string>());
  }();
  data::Shape shape(array.shape(), array.shape() + array.ndim());
  const void* const memory = array.data();
  return Array::view(array_type(type), std::move(shape), memory, keep(array));
}

Array of_value(py::handle value) {
  PyObject* const object = value.ptr();
  if (THPVariable_Check(object)) return of_tensor(THPVariable_Unpack(object));
  if (py::isinstance<py::array>(value)) return of_numpy(py::reinterpret_borrow<py::array>(value));
  if (PyLong_Check(object)) {  // True and False too
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    return Array::scalar(static_cast<std::int64_t>(number));
  }
  if (PyFloat_Check(object)) return Array::scalar(static_cast<float>(PyFloat_AS_DOUBLE(object)));
  if (PyBytes_Check(object))
    return Array::view(Type::U8, {PyBytes_GET_SIZE(object)}, PyBytes_AS_STRING(object),
                       keep(py::reinterpret_borrow<py::object>(value)));
  if (PyUnicode_Check(object)) return Array::bytes_of(value.cast<std::string>());
  const py::object tensor = py::module_::import("torch").attr("as_tensor")(value);
  return of_tensor(THPVariable_Unpack(tensor.ptr()));
}

void put(Sample& sample, const std::string& name, py::handle value) {
  try {
    sample.set(name, of_value(value));
  } catch (const Error& error) {
    throw Error::bad_input("'{}' {}", name, error.message());
  }
}

}  // namespace

py::dict to_python(const Sample& sample) {
  py::dict values;
  for (const Sample::Named& named : sample.arrays())
    values[py::str(named.name)] = py::reinterpret_steal<py::object>(THPVariable_Wrap(to_tensor(named.array)));
  return values;
}

Sample to_sample(py::handle value) {
  Sample sample;
  if (PyDict_Check(value.ptr())) {
    for (const auto& [name, array] : py::reinterpret_borrow<py::dict>(value)) {
      if (!PyUnicode_Check(name.ptr())) throw Error::bad_input("the keys of a sample must be strings");
      put(sample, name.cast<std::string>(), array);
    }
    return sample;
  }
  if (PyTuple_Check(value.ptr()) && PyTuple_GET_SIZE(value.ptr()) == 2) {
    put(sample, "image", PyTuple_GET_ITEM(value.ptr(), 0));
    put(sample, "class", PyTuple_GET_ITEM(value.ptr(), 1));
    return sample;
  }
  throw Error::bad_input(
      "returned a value of type '{}', but a sample must be a dict of arrays by name, or (image, class)",
      Py_TYPE(value.ptr())->tp_name);
}

}  // namespace ronde::python
