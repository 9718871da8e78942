"""Players that do not live in the package: they need more than numpy and numba, or take their time."""
