"""Small functions of mbirjax._utils."""

import re

from tomoprof._parameters import parameter_names_match

_OUT_OF_MEMORY = re.compile(r"\b(RESOURCE_EXHAUSTED|out of memory|OOM|bad_alloc|failed to allocate|work area|scratch allocator|failed to create cuFFT)\b", re.I)


def is_oom(text: str) -> bool:
    """Whether the text of an error, or of a traceback, says that memory ran out."""
    return _OUT_OF_MEMORY.search(text) is not None


def update_param_literal(verify_match_and_exit: bool = False) -> bool:
    """Whether the names of parameters that editors complete, `ParamNames`, are those of the parameters. Nothing is updated."""
    return parameter_names_match()
