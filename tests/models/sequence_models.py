"""Own sequence models: taggers, and a decoder that is given its keys and values."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Tagger(nn.Module):
    """Embedding, a recurrent layer in both directions, a label for every token."""

    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM, words: int = 50, tags: int = 7):
        super().__init__()
        self.embedding = nn.Embedding(words, 16)
        self.layer = kind(16, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, tags)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(self.head(self.layer(self.embedding(tokens))[0]), -1)


class CachedDecoder(nn.Module):
    """One decoder layer that sees a new token and the keys and values of all before it."""

    def __init__(self, words: int = 50, heads: int = 4, size: int = 8):
        super().__init__()
        width = heads * size
        self.heads, self.size = heads, size
        self.embedding = nn.Embedding(words, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(
        self, token: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = self.embedding(token)
        batch, length, _ = x.shape
        shape = (batch, length, self.heads, self.size)
        query, key, value = (
            v.view(shape).transpose(1, 2) for v in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        mixed = F.scaled_dot_product_attention(query, keys, values)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        x = x + self.mlp(self.norm2(x))
        return x @ self.embedding.weight.T, keys, values


class UNet(nn.Module):
    """Two levels down, two up, with the skips."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.down1 = nn.Conv2d(3, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bottom = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = nn.Conv2d(2 * width, 2, 1)
        self.norm = nn.GroupNorm(2, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = F.relu(self.norm(self.down1(x)))
        second = F.relu(self.down2(F.max_pool2d(first, 2)))
        wide = F.interpolate(F.avg_pool2d(F.relu(self.bottom(second)), 2), scale_factor=2)
        return self.last(torch.cat([first, self.up(wide + second)], 1))
