"""The names of the package mbirjax 0.7.3 that tomoprof has, for programs that were written for it.

    import tomoprof.mbirjax as mj                     # in place of: import mbirjax as mj"""

from enum import Enum

from tomoprof._files import *  # noqa: F403
from tomoprof._functions import *  # noqa: F403
from tomoprof._geometries import ConeBeamModel, MultiAxisParallelModel, ParallelBeamModel, QGGMRFDenoiser, TranslationModel  # noqa: F401
from tomoprof._model import TomographyModel  # noqa: F401
from tomoprof._models import *  # noqa: F403
from tomoprof._parameters import ParameterHandler  # noqa: F401
from tomoprof._partitions import *  # noqa: F403
from tomoprof._phantoms import *  # noqa: F403
from tomoprof._records import ReconParams  # noqa: F401
from tomoprof.mbirjax import _utils, preprocess  # noqa: F401
from tomoprof.mbirjax._downloads import *  # noqa: F403
from tomoprof.mbirjax._mace4d import MACE4DModel  # noqa: F401
from tomoprof.mbirjax._machine import *  # noqa: F403
from tomoprof.mbirjax._objects import *  # noqa: F403
from tomoprof.mbirjax._plots import *  # noqa: F403
from tomoprof.mbirjax._prior import *  # noqa: F403
from tomoprof.mbirjax._utils import is_oom  # noqa: F401
from tomoprof.mbirjax._viewer import SliceViewer, slice_viewer  # noqa: F401
from tomoprof.mbirjax._views import *  # noqa: F403
from tomoprof.mbirjax.hsnt import *  # noqa: F403

MultiAxisParallelBeamModel = MultiAxisParallelModel


class ObjectType(str, Enum):
    """Phantoms of `generate_demo_data`."""
    SHEPP_LOGAN = "shepp-logan"
    CUBE = "cube"


class ModelType(str, Enum):
    """Geometries of `generate_demo_data`."""
    PARALLEL = "parallel"
    CONE = "cone"
    TRANSLATION = "translation"


def __getattr__(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: tomoprof has no operator of that name of MBIRJAX")
