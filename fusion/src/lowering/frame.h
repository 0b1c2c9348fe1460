#pragma once

#include <halyard/fusion/tile_program.h>
#include <halyard/program/builder.h>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace halyard::fusion::lowering {

using program::ValueId;

/// Where values are evaluated along one axis.
struct Coordinate {
  enum class Kind : std::uint8_t {
    absent,       ///< not chosen: values that depend on the axis cannot be evaluated
    uniform,      ///< one position for all lanes of the vector
    consecutive,  ///< lane i is at `value` + i
    vector,       ///< lane i is at lane i of `value`
  };
  Kind kind = Kind::absent;
  ValueId value = program::no_value;  ///< of the index type; a scalar but for `vector`
  std::uint32_t multiple = 1;         ///< `consecutive`: a power of two known to divide the base
  friend bool operator==(const Coordinate&, const Coordinate&) = default;
};

/// A point (or a vector of points) of the iteration space at one place in the thread program, with the values
/// already computed there. Frames nest as blocks do: what an outer frame knows holds in an inner one as long
/// as the coordinates it depends on are the same. An outer frame must outlive its inner ones.
class Frame {
 public:
  explicit Frame(std::size_t axis_count) : coordinates_(axis_count) {}

  /// A frame for a block nested in (or following) the place of this one, with the same coordinates.
  Frame inner() const {
    Frame frame(coordinates_.size());
    frame.outer_ = this;
    frame.coordinates_ = coordinates_;
    frame.lanes_ = lanes_;
    frame.mask_ = mask_;
    return frame;
  }

  Frame& at(Axis axis, ValueId scalar) {
    coordinates_[index(axis)] = {Coordinate::Kind::uniform, scalar, 1};
    return *this;
  }
  Frame& consecutive(Axis axis, ValueId base, std::uint32_t multiple = 1) {
    coordinates_[index(axis)] = {Coordinate::Kind::consecutive, base, multiple};
    return *this;
  }
  Frame& indices(Axis axis, ValueId vector) {
    coordinates_[index(axis)] = {Coordinate::Kind::vector, vector, 1};
    return *this;
  }
  /// Lanes of every value that is not uniform.
  Frame& width(std::uint16_t lanes) {
    lanes_ = lanes;
    return *this;
  }
  /// Which lanes exist (boolean, `lanes` wide); the others are neither loaded nor stored.
  Frame& masked(ValueId mask) {
    mask_ = mask;
    return *this;
  }
  /// States a value computed elsewhere: a row's scalar, a staged element, an accumulator. One lane or
  /// `lanes`.
  Frame& know(TileId tile, ValueId value) {
    values_[index(tile)] = value;
    return *this;
  }

  const Coordinate& coordinate(Axis axis) const { return coordinates_[index(axis)]; }
  std::uint16_t lanes() const { return lanes_; }
  ValueId mask() const { return mask_; }

  /// The value of `tile`, which depends on `axes`, if it is known here.
  std::optional<ValueId> find(TileId tile, AxisSet axes) const {
    for (const Frame* frame = this; frame; frame = frame->outer_) {
      auto found = frame->values_.find(index(tile));
      if (found != frame->values_.end() && agrees(*frame, axes)) return found->second;
    }
    return std::nullopt;
  }

 private:
  bool agrees(const Frame& other, AxisSet axes) const {
    if (&other == this) return true;
    bool varies = false;
    for (std::size_t a = 0; a < coordinates_.size(); ++a) {
      if (!axes.contains(static_cast<Axis>(a))) continue;
      if (!(coordinates_[a] == other.coordinates_[a])) return false;
      varies = varies || coordinates_[a].kind > Coordinate::Kind::uniform;
    }
    if (!varies) return true;
    return lanes_ == other.lanes_ && (other.mask_ == program::no_value || other.mask_ == mask_);
  }

  const Frame* outer_ = nullptr;
  std::vector<Coordinate> coordinates_;
  std::uint16_t lanes_ = 1;
  ValueId mask_ = program::no_value;
  std::unordered_map<std::uint32_t, ValueId> values_;
};

}  // namespace halyard::fusion::lowering
