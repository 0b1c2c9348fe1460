// doctest's own code, for programs that have no test runner of their own. An object of its own, so that a
// program that has one does not link a second.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
