#include <cstdio>
#include <fstream>
#include <string>
#include "operations_page.h"

/// halyard_write_operations_page FILE: writes docs/operations.md.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s docs/operations.md\n", argv[0]);
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  std::string page = halyard::ops::operations_page();
  file.write(page.data(), static_cast<std::streamsize>(page.size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "%s: cannot write '%s'\n", argv[0], argv[1]);
  return 1;
}
