"""Imports a large package and prints a number."""

from truth import phase

with phase("import"):
    import sklearn.ensemble  # truth: import
print(len(sklearn.ensemble.__all__))
