"""ONNX Runtime's answer for the sentence encoder, to compare Halyard's with.

    reference_embeddings.py write   [--model DIR] [--sentences FILE] [--output DIR]
    reference_embeddings.py compare [--output DIR] LAST_HIDDEN_STATE.npy

`write` tokenizes the sentences (one per line, padded alike), runs model.onnx on ONNX Runtime's CPU provider and writes
    input_ids.npy, attention_mask.npy, token_type_ids.npy   int64 [sentences, tokens], ready for `halyard run --input`
    last_hidden_state.npy                                   float [sentences, tokens, 384]
    embeddings.npy                                          float [sentences, 384], unit length
and prints each sentence's nearest neighbour. `compare` reads another program's last_hidden_state (or embeddings) for
those inputs, prints the lowest cosine and the largest difference of the embeddings, and fails when they are beyond
the project's bounds: cosine >= 0.99999, difference <= 2e-5.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

LOWEST_COSINE = 0.99999
LARGEST_DIFFERENCE = 2e-5
LONGEST_SEQUENCE = 256
ROOT = Path(__file__).resolve().parent.parent


def tokenize(model_folder: Path, sentences: list[str]) -> dict[str, np.ndarray]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST_SEQUENCE)
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(sentences)
    return {
        "input_ids": np.array([encoding.ids for encoding in encodings], np.int64),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings], np.int64),
        "token_type_ids": np.array([encoding.type_ids for encoding in encodings], np.int64),
    }


def embed(last_hidden_state: np.ndarray, attention_mask: np.ndarray) -> np.ndarray:
    """Mean over the unmasked tokens, scaled to unit length: [sentences, 384]."""
    weights = attention_mask[:, :, None].astype(np.float64)
    mean = (last_hidden_state * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def write(arguments: argparse.Namespace) -> int:
    import onnxruntime

    sentences = [line for line in arguments.sentences.read_text().splitlines() if line.strip()]
    inputs = tokenize(arguments.model, sentences)
    session = onnxruntime.InferenceSession(str(arguments.model / "model.onnx"), providers=["CPUExecutionProvider"])
    (last_hidden_state,) = session.run(["last_hidden_state"], inputs)
    embeddings = embed(last_hidden_state, inputs["attention_mask"])

    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "sentences.txt").write_text("\n".join(sentences) + "\n")
    for name, value in inputs.items():
        np.save(arguments.output / f"{name}.npy", value)
    np.save(arguments.output / "last_hidden_state.npy", last_hidden_state)
    np.save(arguments.output / "embeddings.npy", embeddings.astype(np.float32))

    similarity = embeddings @ embeddings.T - 2 * np.eye(len(sentences))
    for sentence, row in zip(sentences, similarity):
        print(f"{row.max():.3f}  {sentence}  ->  {sentences[row.argmax()]}")
    print(f"reference_embeddings: {len(sentences)} sentences of {inputs['input_ids'].shape[1]} tokens in {arguments.output}")
    return 0


def compare(arguments: argparse.Namespace) -> int:
    expected = np.load(arguments.output / "embeddings.npy")
    actual = np.load(arguments.file)
    if actual.ndim == 3:
        actual = embed(actual, np.load(arguments.output / "attention_mask.npy"))
    if actual.shape != expected.shape:
        print(f"reference_embeddings: {arguments.file} is for {actual.shape}, the reference for {expected.shape}")
        return 1
    actual = actual / np.linalg.norm(actual, axis=1, keepdims=True)
    cosine = float((actual * expected).sum(axis=1).min())
    difference = float(np.abs(actual - expected).max())
    agrees = cosine >= LOWEST_COSINE and difference <= LARGEST_DIFFERENCE
    print(f"reference_embeddings: lowest cosine {cosine:.8f} (bound {LOWEST_COSINE}), largest difference "
          f"{difference:.2e} (bound {LARGEST_DIFFERENCE:.0e}): {'agrees' if agrees else 'DISAGREES'}")
    return 0 if agrees else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="ONNX Runtime's answer for the sentence encoder.")
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write", help="write the inputs and ONNX Runtime's outputs")
    writer.add_argument("--model", type=Path, default=ROOT / "models/minilm")
    writer.add_argument("--sentences", type=Path, default=ROOT / "scripts/demo_sentences.txt")
    writer.set_defaults(action=write)
    comparer = commands.add_parser("compare", help="compare another program's output")
    comparer.add_argument("file", type=Path)
    comparer.set_defaults(action=compare)
    for command in (writer, comparer):
        command.add_argument("--output", type=Path, default=ROOT / "build/reference")
    arguments = parser.parse_args()
    return arguments.action(arguments)


if __name__ == "__main__":
    sys.exit(main())
