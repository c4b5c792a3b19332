"""tomoprof.mbirjax with all names of MBIRJAX: those that tomoprof lacks, as recon_plastic_metal, are the installed package's, which is loaded then.

    import tomoprof.instead.mbirjax as mj  # in place of: import mbirjax as mj"""

from tomoprof.instead import rest_of
from tomoprof.instead.mbirjax import preprocess  # noqa: F401
from tomoprof.mbirjax import *  # noqa: F403

__getattr__ = rest_of("mbirjax")
