"""What `tomoprof try` does in the program: functions of other packages that replacements.json lists are replaced as they are imported.

TOMOPROF_TRY is "replace", or "check": then ours and the original compute the first TOMOPROF_TRY_CHECK calls from each line, and the
program gets the original's result. TOMOPROF_TRY_ONLY names the functions that are replaced (all where it is empty). Each process
leaves TOMOPROF_TRY_OUT/PID.json with its calls. Nothing is changed on disk.

table.py has the rows, calls.py counts and compares calls, loaders.py replaces functions, package.py a package as a whole."""

from tomoprof._replace.calls import report
from tomoprof._replace.loaders import LateLoader, ReplacingLoader, late_parent, unchanged_spec
from tomoprof._replace.package import WholePackage
from tomoprof._replace.table import CHECKS, PARENTS, ROWS, WHOLE, original_spec, suspended, wanted

DISTRIBUTIONS = {"skimage": "scikit-image", "astra": "astra-toolbox"}  # of packages that are installed by another name
whole: dict = {}


def number(text):
    return [int(part) for part in text.split(".") if part.isdigit()]


def version_fits(row):
    """Whether the installed package is of a version that the row was compared with; a note where it is not."""
    import importlib.metadata
    top = row["module"].partition(".")[0]
    package = DISTRIBUTIONS.get(top, top)
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = None
    if version and number(row["from"]) <= number(version) < number(row["below"]):
        return True
    report.note(f"{package} {version or 'of unknown version'} is not replaced: tomoprof knows versions from {row['from']} up to {row['below']}")
    return False


def find_spec(name, path=None, target=None):
    """Called by the finder for each module of the table."""
    if getattr(suspended, "on", False):
        return None
    top = name.partition(".")[0]
    if top in WHOLE:
        rows = [row for row in ROWS if row["module"] == top]
        if top not in whole:
            whole[top] = WholePackage(WHOLE[top]) if any(map(wanted, rows)) and version_fits(WHOLE[top]) else None
        return whole[top] and whole[top].spec(name)
    rows = [row for row in ROWS if row["hook"] == name and wanted(row)]
    if name in PARENTS and not CHECKS:
        return late_parent(name, path, target)
    if not rows or not version_fits(rows[0]):
        return unchanged_spec(name)
    spec = original_spec(name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = ReplacingLoader(spec.loader, rows)
        if not CHECKS:
            return LateLoader(spec, rows).spec
    return spec
