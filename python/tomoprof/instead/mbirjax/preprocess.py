"""tomoprof.mbirjax.preprocess, and the rest of mbirjax.preprocess."""

from tomoprof.instead import rest_of
from tomoprof.mbirjax.preprocess import *  # noqa: F403

__getattr__ = rest_of("mbirjax.preprocess")
