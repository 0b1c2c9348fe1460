#include <halyard/ops/npy.h>
#include <filesystem>
#include <fstream>
#include <string>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

/// A version 1.0 file with the given header dictionary and data.
std::vector<std::byte> file_of(const std::string& header, const std::string& data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header + data;
  auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

ErrorCode refusal_of(const std::string& header, const std::string& data = std::string(64, '\0')) {
  auto result = parse_npy(file_of(header, data));
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

}  // namespace

TEST_CASE("a tensor of every element type survives being written and read") {
  for (std::size_t type = 0; type < element_type_facts.size(); ++type) {
    HostTensor tensor = numbers_of(static_cast<ElementType>(type), Shape{2, 3}, {0, 1, 1, 0, 1, 0});
    auto again = parse_npy(format_npy(tensor));
    REQUIRE(again.has_value());
    CHECK(same_bits(tensor, *again));
  }
}

TEST_CASE("scalars, vectors and empty tensors survive being written and read") {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{0}, Shape{3, 0, 2}, Shape{1, 1, 1, 1}}) {
    HostTensor tensor = HostTensor::allocate(ElementType::f32, shape).value();
    auto again = parse_npy(format_npy(tensor));
    REQUIRE(again.has_value());
    CHECK(again->shape() == shape);
  }
}

TEST_CASE("the data of a written file begins at a multiple of 64 bytes") {
  HostTensor tensor = vector_of<float>({1, 2, 3});
  CHECK((format_npy(tensor).size() - tensor.byte_count()) % 64 == 0);
}

TEST_CASE("Fortran order is turned into row-major") {
  std::string data("\0\1\2\3\4\5", 6);
  auto tensor = parse_npy(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  REQUIRE(tensor.has_value());
  CHECK(values_of<std::uint8_t>(*tensor) == std::vector<std::uint8_t>{0, 2, 4, 1, 3, 5});
}

TEST_CASE("big-endian data is swapped") {
  std::string data("\0\0\1\2", 4);
  auto tensor = parse_npy(file_of("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }\n", data));
  REQUIRE(tensor.has_value());
  CHECK(values_of<std::int32_t>(*tensor) == std::vector<std::int32_t>{258});
}

TEST_CASE("booleans other than 0 and 1 are read as true") {
  auto tensor =
      parse_npy(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\7\0", 2)));
  REQUIRE(tensor.has_value());
  CHECK(doubles_of(*tensor) == std::vector<double>{1, 0});
}

TEST_CASE("damaged or hostile files are refused") {
  CHECK(parse_npy({}).error().code == ErrorCode::corrupt_data);
  CHECK(refusal_of("") == ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }") ==
        ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }") == ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }") ==
        ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }") ==
        ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }") == ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False}") == ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}") ==
        ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } import os") ==
        ErrorCode::corrupt_data);
  CHECK(refusal_of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }") == ErrorCode::unsupported);
  CHECK(refusal_of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") == ErrorCode::unsupported);
  CHECK(refusal_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }") ==
        ErrorCode::unsupported);
}

TEST_CASE("every truncation of a file is refused") {
  std::vector<std::byte> whole = format_npy(vector_of<float>({1, 2, 3}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(parse_npy(std::span(whole).first(length)).has_value());
}

TEST_CASE("files are written whole or not at all, and a missing one is named") {
  auto folder = std::filesystem::temp_directory_path() / "halyard_npy_tests";
  std::filesystem::create_directories(folder);
  auto path = folder / "tensor.npy";
  HostTensor tensor = vector_of<float>({1, 2, 3});
  REQUIRE(write_npy(path, tensor).has_value());
  CHECK(same_bits(read_npy(path).value(), tensor));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  CHECK(files == 1);
  CHECK(read_npy(folder).error().message.find("it is a folder") != std::string::npos);
  std::ofstream(folder / "empty.npy").close();
  CHECK(read_npy(folder / "empty.npy").error().message.find("empty.npy' is empty") != std::string::npos);
  const float one = 1;
  HostTensor deep =
      HostTensor::from_values<float>(Shape(std::vector<std::int64_t>(65, 1)), std::span(&one, 1)).value();
  CHECK(write_npy(folder / "deep.npy", deep).error().message.find("65 axes") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "deep.npy"));
  std::filesystem::remove_all(folder);
  CHECK(read_npy(path).error().message.find("tensor.npy': there is no such file") != std::string::npos);
  CHECK(write_npy(path, tensor).error().code == ErrorCode::io_error);
}

}  // namespace halyard::ops::testing
