"""Rows as a network of PyTorch takes them, and the features that it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from mercer.exceptions import DataError

__all__ = ["TensorRows", "asked", "features_of", "torch_library"]

#: rows that a network is asked for at once
ASKED_ROWS = 1000


def torch_library() -> ModuleType:
    """Return PyTorch, or say which extra brings it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError('mercer.interop.torch needs PyTorch: pip install "mercer[torch]"') from error
    return torch


@dataclass(frozen=True, eq=False)
class TensorRows:
    """Rows as tensors on a device, and their targets.

    Parameters
    ----------
    take : callable
        Returns the inputs of some rows.
    targets : array of shape (n, ...) or None
        Of all rows.
    n_rows : int
        n.
    weight : torch.Tensor
        Of the network: inputs go to its device, and floating ones get its dtype.
    """

    take: Callable[[np.ndarray], Any]
    targets: Any
    n_rows: int
    weight: Any

    @classmethod
    def of_arrays(cls, X: np.ndarray, y: Any, weight: Any) -> TensorRows:
        """Return the rows of arrays."""
        torch = torch_library()
        return cls(lambda rows: torch.from_numpy(np.ascontiguousarray(X[rows])), y, len(X), weight)

    @classmethod
    def of_dataset(cls, dataset: Any, collate: Callable[[list[Any]], Any], weight: Any) -> TensorRows:
        """Return the rows of a dataset of pairs; targets are read at once."""
        blocks = np.array_split(np.arange(len(dataset)), -(-len(dataset) // ASKED_ROWS))
        pairs = [collate([dataset[int(row)] for row in block]) for block in blocks]
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise DataError("DeepKernel: a DataLoader has to bring pairs of inputs and targets.")
        targets = np.concatenate([np.asarray(target) for _, target in pairs])
        return cls(lambda rows: collate([dataset[int(row)] for row in rows])[0], targets, len(dataset), weight)

    def __len__(self) -> int:
        return self.n_rows

    def inputs(self, rows: np.ndarray) -> Any:
        """Return the inputs of some rows, as the network takes them."""
        found = self.take(rows)
        if not isinstance(found, torch_library().Tensor):
            raise DataError(
                f"DeepKernel: inputs must be one tensor; got {type(found).__name__}. A collate_fn of the DataLoader "
                "can make one of them, which the module takes apart."
            )
        found = found.to(self.weight.device)
        return found.to(self.weight.dtype) if found.is_floating_point() else found


def asked(network: Any, inputs: Any) -> tuple[Any, np.ndarray]:
    """Return what a network makes of inputs, and the same as an array; refuse what are no features."""
    try:
        features = network(inputs)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"DeepKernel: the module failed on inputs of shape {tuple(inputs.shape)}, {inputs.dtype}: {error}. Arrays "
            "become floating tensors; only tensors of integers (torch.int64) stay such."
        ) from error
    shape = tuple(getattr(features, "shape", ()))
    Z = features.detach().cpu().numpy().astype(float) if len(shape) == 2 else None
    if Z is None or not np.all(np.isfinite(Z)):
        raise DataError(
            f"DeepKernel: the module must make finite features of shape (n, p); their shape is {shape}. nn.Flatten() "
            "at its end makes vectors of maps; a smaller learning_rate keeps numbers finite."
        )
    return features, Z


def features_of(network: Any, rows: TensorRows, index: np.ndarray) -> np.ndarray:
    """Return what a network that learns nothing makes of some rows, shape (n, p)."""
    network.eval()
    blocks = np.array_split(index, max(1, -(-len(index) // ASKED_ROWS)))
    with torch_library().no_grad():
        return np.concatenate([asked(network, rows.inputs(block))[1] for block in blocks])
