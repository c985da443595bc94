"""Other libraries: modules that know them, but import them only when they are needed.

Data are opened when one of their objects arrives, bars are drawn when a long fit is to tell of itself.
"""

from mercer.estimators.progress import draw_bars_by
from mercer.interop import skfda
from mercer.interop.progress_bars import open_bar
from mercer.preprocessing.providers import register

register("skfda", skfda)
draw_bars_by(open_bar)
