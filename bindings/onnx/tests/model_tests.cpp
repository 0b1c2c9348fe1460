#include <doctest/doctest.h>
#include <halyard/onnx/model.h>
#include <onnx/onnx_pb.h>
