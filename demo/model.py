"""A small llama-architecture model with random weights, written as GGUF: work for a real llama.cpp server.

It speaks nonsense at the speed of a real model of its size. No weights are downloaded.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

_SPECIAL = (("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL))
_BLANK = "\u2581"  # SentencePiece writes a blank so
_CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of the model: the default makes some 200 tokens per second on one core, in 62 MiB."""

    layers: int = 4
    dim: int = 512
    heads: int = 8
    kv_heads: int = 4
    feed_forward: int = 2048
    context: int = 131_072


def build(path: Path, shape: Shape | None = None) -> Path:
    """Write the model to `path` unless it is there already; two processes may ask at once."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".gguf")
    os.close(handle)
    _write(Path(draft), shape or Shape())
    Path(draft).replace(path)
    return path


def _write(path: Path, shape: Shape) -> None:
    writer = gguf.GGUFWriter(str(path), "llama")
    _describe(writer, shape)
    words = _add_vocabulary(writer)
    _add_weights(writer, shape, words)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_name("random-llama")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.dim // shape.heads)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _add_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Write a SentencePiece vocabulary with byte fallback and return its length, a multiple of 32."""
    tokens = [*_SPECIAL, *((f"<0x{byte:02X}>", gguf.TokenType.BYTE) for byte in range(256))]
    pieces = [_BLANK, *map(chr, range(33, 127))]
    tokens += [(piece, gguf.TokenType.NORMAL) for piece in pieces]
    tokens += [(f"<pad{n}>", gguf.TokenType.UNUSED) for n in range(-len(tokens) % 32)]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(n) for n in range(len(tokens))])
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(_CHAT_TEMPLATE)
    return len(tokens)


def _add_weights(writer: gguf.GGUFWriter, shape: Shape, words: int) -> None:
    random = np.random.default_rng(1)  # the same model on every machine
    kv_dim = shape.dim // shape.heads * shape.kv_heads

    def matrix(rows: int, columns: int, spread: float = 0.5) -> NDArray[np.float32]:
        scale = np.float32(spread / columns**0.5)
        return random.standard_normal((rows, columns), dtype=np.float32) * scale

    ones = np.ones(shape.dim, dtype=np.float32)
    writer.add_tensor("token_embd.weight", matrix(words, shape.dim, 8.0))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", matrix(words, shape.dim, 1.0))
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        writer.add_tensor(f"{block}.attn_norm.weight", ones)
        writer.add_tensor(f"{block}.attn_q.weight", matrix(shape.dim, shape.dim))
        writer.add_tensor(f"{block}.attn_k.weight", matrix(kv_dim, shape.dim))
        writer.add_tensor(f"{block}.attn_v.weight", matrix(kv_dim, shape.dim))
        writer.add_tensor(f"{block}.attn_output.weight", matrix(shape.dim, shape.dim))
        writer.add_tensor(f"{block}.ffn_norm.weight", ones)
        writer.add_tensor(f"{block}.ffn_gate.weight", matrix(shape.feed_forward, shape.dim))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(shape.feed_forward, shape.dim))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(shape.dim, shape.feed_forward))
