#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include "operations_page.h"

TEST_CASE(
    "docs/operations.md is what the table of primitives says (else run halyard_write_operations_page)") {
  std::ifstream file(HALYARD_SOURCE_FOLDER "/docs/operations.md", std::ios::binary);
  REQUIRE(file.good());
  std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page == halyard::ops::operations_page());
}
