#pragma once

#include <string>
#include <string_view>
#include <vector>

/// hal's tests (folder hal/, written with doctest) as cases of the command. One thread at a time.
namespace halyard::conformance {

/// Their names: each a statement of fact.
std::vector<std::string> hal_facts();

/// Runs one on one device: every check that failed, with its place; empty if the fact holds.
std::string check_hal_fact(const std::string& fact, const std::string& uri);

}  // namespace halyard::conformance
