"""A tiny llama-architecture model with random weights in Hugging Face's format: work for a real vLLM server.

A token is a byte. Nothing is downloaded, and the format is written by hand: the libraries that could are gigabytes.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np

LAYERS: Final = 2
DIM: Final = 128
HEADS: Final = 2
FEED_FORWARD: Final = 256
CONTEXT: Final = 65_536
_SPECIAL: Final = ("<s>", "</s>", "<pad>")
_WORDS: Final = 320  # of the weights: the special tokens, 256 bytes, and the rest to a multiple of 64
_CHAT_TEMPLATE: Final = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
_CONFIGURATION: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "float32",
    "vocab_size": _WORDS,
    "hidden_size": DIM,
    "intermediate_size": FEED_FORWARD,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "max_position_embeddings": CONTEXT,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
_TOKENIZER: Final = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": _SPECIAL[0],
    "eos_token": _SPECIAL[1],
    "pad_token": _SPECIAL[2],
    "model_max_length": CONTEXT,
    "chat_template": _CHAT_TEMPLATE,
}


def build(folder: Path) -> None:
    """Write the model's four files."""
    folder.mkdir(parents=True)
    texts = {"config": _CONFIGURATION, "tokenizer_config": _TOKENIZER, "tokenizer": _vocabulary()}
    for name, content in texts.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    _write(folder / "model.safetensors", _shapes())


def _vocabulary() -> dict[str, Any]:
    """Give a byte-level BPE without any merge."""
    words = [*_SPECIAL, *_letters()]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": word, **flags} for number, word in enumerate(_SPECIAL)],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": {word: number for number, word in enumerate(words)}, "merges": []},
    }


def _letters() -> list[str]:
    """Give the letter of each byte as byte-level BPE spells it: printable ones as they are, the rest from 256 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (_WORDS, DIM), "lm_head": (_WORDS, DIM)}
    shapes["model.norm"] = (DIM,)
    for layer in range(LAYERS):
        block = f"model.layers.{layer}"
        shapes |= {f"{block}.{name}_layernorm": (DIM,) for name in ("input", "post_attention")}
        shapes |= {f"{block}.self_attn.{name}_proj": (DIM, DIM) for name in "qkvo"}
        shapes |= {f"{block}.mlp.{name}_proj": (FEED_FORWARD, DIM) for name in ("gate", "up")}
        shapes[f"{block}.mlp.down_proj"] = (DIM, FEED_FORWARD)
    return shapes


def _write(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Write safetensors: the length of a header, the header, the numbers one tensor after the other."""
    random = np.random.default_rng(1)  # the same model on every machine
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    begin = 0
    for name, shape in shapes.items():
        matrix = random.standard_normal(shape, dtype=np.float32) / np.float32(DIM**0.5)
        parts.append((matrix if len(shape) > 1 else np.ones(shape, np.float32)).tobytes())
        end = begin + len(parts[-1])
        header[f"{name}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    path.write_bytes(b"".join([struct.pack("<Q", len(text)), text, *parts]))
