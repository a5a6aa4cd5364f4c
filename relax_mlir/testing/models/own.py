"""Models written here: plain PyTorch modules by their papers."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from relax_mlir.testing.models.case import Input, Model, tokens


class VGG(nn.Module):
    """Stages of 3x3 convolutions, each ending in a pooling (Simonyan and Zisserman 2014)."""

    def __init__(self, stages: tuple[tuple[int, ...], ...] = ((8, 8), (16, 16), (24, 24, 24))):
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for stage in stages:
            for width in stage:
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            layers.append(nn.MaxPool2d(2))
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(4 * before, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


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


class Tagger(nn.Module):
    """Embedding, a recurrent layer in both directions, a label for every token."""

    def __init__(self, kind: type[nn.LSTM | nn.GRU] = nn.LSTM, words: int = 50, tags: int = 7):
        super().__init__()
        self.embedding = nn.Embedding(words, 16)
        self.layer = kind(16, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, tags)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(self.head(self.layer(self.embedding(text))[0]), -1)


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


class VoxelPooling(nn.Module):
    """Features of camera points summed into the cells of a grid (Philion and Fidler 2020).

    The sum runs along the points in the order of their cells, and differences at the last point of
    each cell give the cells' sums: "lift, splat, shoot" with its cumulative-sum trick.  Points are
    (batch, count, 3) coordinates, features (batch, count, channels); the result is
    (batch, channels * depth, width, height).
    """

    def __init__(self, cells: tuple[int, int, int] = (6, 5, 2)):
        super().__init__()
        self.cells = cells

    def forward(self, points: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        batch, count, channels = features.shape
        width, height, depth = self.cells
        limits = torch.tensor(self.cells)
        place = ((points + 2) * limits / 4).floor().long().view(batch * count, 3)
        image = torch.arange(batch).repeat_interleave(count).view(-1, 1)
        place = torch.cat([place, image], 1)
        inside = ((place[:, :3] >= 0) & (place[:, :3] < limits)).all(1)
        x, place = features.reshape(batch * count, channels)[inside], place[inside]
        ranks = ((place[:, 0] * height + place[:, 1]) * depth + place[:, 2]) * batch + place[:, 3]
        order = ranks.argsort()
        x, place, ranks = x[order].cumsum(0), place[order], ranks[order]
        last = torch.cat([ranks[1:] != ranks[:-1], torch.ones(1, dtype=torch.bool)])
        x, place = x[last], place[last]
        x = torch.cat([x[:1], x[1:] - x[:-1]])
        grid = torch.zeros(batch, channels, depth, width, height)
        grid[place[:, 3], :, place[:, 2], place[:, 0], place[:, 1]] = x
        return grid.flatten(1, 2)


_CACHE = Input((1, 4, "past", 8))
_TEXT = ({"batch": 2}, {"batch": 3})

MODELS = [
    Model("VGG", VGG, [Input(("batch", 3, 32, 32))]),
    Model("UNet", UNet, [Input(("batch", 3, 16, 16))]),
    Model("LSTM tagger", lambda: Tagger(nn.LSTM), [tokens("batch", 6, words=50)], _TEXT),
    Model("GRU tagger", lambda: Tagger(nn.GRU), [tokens("batch", 6, words=50)], _TEXT),
    Model(
        "decoder with cache",
        CachedDecoder,
        [tokens(1, 1, words=50), _CACHE, _CACHE],
        ({"past": 3}, {"past": 31}),
    ),
    Model(
        "voxel pooling",
        VoxelPooling,
        [Input(("batch", "points", 3)), Input(("batch", "points", 4))],
        ({"batch": 2, "points": 40}, {"batch": 1, "points": 53}),
        ranges={"points": (2, 64)},
    ),
]
