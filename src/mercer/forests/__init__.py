"""Trees that see inliers only: the split criterion, how a tree grows, and what a forest says of new rows."""

from mercer.forests.criterion import parent_impurity, split_impurity
from mercer.forests.growth import Columns, Tree, grow, ranked
from mercer.forests.trees import Trees, average_path_length

__all__ = ["Columns", "Tree", "Trees", "average_path_length", "grow", "parent_impurity", "ranked", "split_impurity"]
