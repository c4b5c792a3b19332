"""tomoprof.mbirjax with all names of MBIRJAX: those that tomoprof lacks, as preprocess.nsi, are the installed package's, which is loaded then.

    import tomoprof.instead.mbirjax as mj  # in place of: import mbirjax as mj"""

import importlib

from tomoprof.instead import rest_of
from tomoprof.mbirjax import *  # noqa: F403

importlib.import_module("tomoprof.instead.mbirjax.preprocess")  # which becomes `preprocess` here, in place of tomoprof.mbirjax's
__getattr__ = rest_of("mbirjax")
