"""A small llama-architecture model with random weights, written as GGUF, for whoever has no model at hand.

It speaks nonsense at the speed of a real model of its size: some 200 tokens per second on one core, in 62 MiB.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

import gguf
import numpy as np

LAYERS: Final = 4
DIM: Final = 512
HEADS: Final = 8
KV_HEADS: Final = 4
FEED_FORWARD: Final = 2048
CONTEXT: Final = 131_072  # of all requests together
_KV_DIM: Final = DIM // HEADS * KV_HEADS
_SPECIAL: Final = (("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL))
_CHAT: Final = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def build(path: Path) -> Path:
    """Write the model to `path` unless it is there; it appears at once, so that two processes may ask for it."""
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".gguf")
        os.close(handle)
        _write(draft)
        Path(draft).replace(path)
    return path


def _write(draft: str) -> None:
    writer = gguf.GGUFWriter(draft, "llama")
    writer.add_name("random-llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(DIM // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    words = _add_vocabulary(writer)
    random = np.random.default_rng(1)  # the same model on every machine
    for name, shape in _shapes(words).items():
        spread = {"token_embd": 8.0, "output": 1.0}.get(name, 0.5)
        values = random.standard_normal(shape, dtype=np.float32) * np.float32(spread / shape[-1] ** 0.5)
        writer.add_tensor(f"{name}.weight", values if len(shape) > 1 else np.ones(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Write a SentencePiece vocabulary of bytes and letters and give its length, a multiple of 32."""
    tokens = [*_SPECIAL, *((f"<0x{byte:02X}>", gguf.TokenType.BYTE) for byte in range(256))]
    tokens += [(letter, gguf.TokenType.NORMAL) for letter in ("\u2581", *map(chr, range(33, 127)))]
    tokens += [(f"<pad{number}>", gguf.TokenType.UNUSED) for number in range(-len(tokens) % 32)]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(_CHAT)
    return len(tokens)


def _shapes(words: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (words, DIM), "output_norm": (DIM,), "output": (words, DIM)}
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        shapes |= {f"{block}.{name}_norm": (DIM,) for name in ("attn", "ffn")}
        shapes |= {f"{block}.attn_{name}": (DIM, DIM) for name in ("q", "output")}
        shapes |= {f"{block}.attn_{name}": (_KV_DIM, DIM) for name in ("k", "v")}
        shapes |= {f"{block}.ffn_{name}": (FEED_FORWARD, DIM) for name in ("gate", "up")}
        shapes[f"{block}.ffn_down"] = (DIM, FEED_FORWARD)
    return shapes
