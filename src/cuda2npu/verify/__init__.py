"""Records what a model computes, compares two records, and says whether a conversion computes the same.

``records`` and ``store`` are the capture on disk, ``comparison`` is the result of comparing two; what
makes and shows them stands around these. Torch is imported here, the rewriter never.
"""
