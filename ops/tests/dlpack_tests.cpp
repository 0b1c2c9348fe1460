#include <halyard/ops/dlpack.h>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

/// A tensor such as another library hands out; counts how often it is deleted.
struct Producer {
  std::vector<float> data{0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  int deletions = 0;
  dlpack::ManagedTensor managed{};

  Producer() {
    managed.version = {1, 0};
    managed.manager_context = this;
    managed.deleter = [](dlpack::ManagedTensor* self) {
      ++static_cast<Producer*>(self->manager_context)->deletions;
    };
    managed.tensor = {data.data(),  {dlpack::device_cpu, 0}, 2, {dlpack::code_float, 32, 1},
                      shape.data(), strides.data(),          0};
  }
};

}  // namespace

TEST_CASE("a tensor goes out and comes back through DLPack without copying") {
  for (std::size_t type = 0; type < element_type_facts.size(); ++type) {
    HostTensor tensor = numbers_of(static_cast<ElementType>(type), Shape{2, 3}, {0, 1, 0, 1, 1, 1});
    auto again = dlpack::from_dlpack(dlpack::to_dlpack(tensor));
    REQUIRE(again.has_value());
    CHECK(again->data() == tensor.data());
    CHECK(same_bits(tensor, *again));
  }
}

TEST_CASE("an exported tensor outlives the one it was made from") {
  dlpack::ManagedTensor* managed = dlpack::to_dlpack(vector_of<float>({1, 2, 3}));
  CHECK(managed->version.major == 1);
  CHECK((managed->flags & dlpack::flag_read_only) != 0);
  CHECK(static_cast<float*>(managed->tensor.data)[2] == 3);
  managed->deleter(managed);
}

TEST_CASE("an imported tensor is deleted once, with its last holder") {
  Producer producer;
  {
    HostTensor tensor = dlpack::from_dlpack(&producer.managed).value();
    const std::vector<HostTensor> holders(2, tensor);
    CHECK(tensor.data() == reinterpret_cast<const std::byte*>(producer.data.data()));
    CHECK(producer.deletions == 0);
  }
  CHECK(producer.deletions == 1);
}

TEST_CASE("strides may be absent, and a byte offset is kept") {
  Producer producer;
  producer.shape = {2, 2};
  producer.managed.tensor.strides = nullptr;
  producer.managed.tensor.byte_offset = 8;
  HostTensor tensor = dlpack::from_dlpack(&producer.managed).value();
  CHECK(values_of<float>(tensor) == std::vector<float>{2, 3, 4, 5});
}

TEST_CASE("a strided tensor is gathered into a copy") {
  Producer producer;
  producer.shape = {3, 2};
  producer.strides = {1, 3};
  HostTensor tensor = dlpack::from_dlpack(&producer.managed).value();
  CHECK(values_of<float>(tensor) == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(producer.deletions == 1);
}

TEST_CASE("a tensor that cannot be taken is given back to its producer") {
  auto refused = [](auto&& damage) {
    Producer producer;
    damage(producer.managed);
    auto result = dlpack::from_dlpack(&producer.managed);
    CHECK_FALSE(result.has_value());
    CHECK(producer.deletions == 1);
    return result.has_value() ? ErrorCode::internal : result.error().code;
  };
  CHECK(refused([](auto& managed) { managed.version.major = 2; }) == ErrorCode::unsupported);
  CHECK(refused([](auto& managed) { managed.tensor.device.device_type = dlpack::device_cuda; }) ==
        ErrorCode::unsupported);
  CHECK(refused([](auto& managed) { managed.tensor.dtype = {5, 64, 1}; }) == ErrorCode::unsupported);
  CHECK(refused([](auto& managed) { managed.tensor.dtype.lanes = 4; }) == ErrorCode::unsupported);
  CHECK(refused([](auto& managed) { managed.tensor.shape[0] = -1; }) == ErrorCode::invalid_argument);
  CHECK(refused([](auto& managed) { managed.tensor.ndim = -1; }) == ErrorCode::invalid_argument);
  CHECK(refused([](auto& managed) { managed.tensor.data = nullptr; }) == ErrorCode::invalid_argument);
  CHECK_FALSE(dlpack::from_dlpack(nullptr).has_value());
}

}  // namespace halyard::ops::testing
