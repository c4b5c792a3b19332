"""mbirjax.preprocess.utilities: all of tomoprof.mbirjax.preprocess."""

from tomoprof.mbirjax.preprocess import *  # noqa: F403
from tomoprof.mbirjax.preprocess import __getattr__, _auto_crop_sino  # noqa: F401
