"""Records what a model computes, compares two records, and says whether a conversion computes the same.

``records`` and ``store`` are the capture on disk, ``comparison`` is the result of comparing two: by these
the parts know each other. ``capture`` records, ``compare`` compares, ``operators`` tells what a target
makes of the operators, ``report`` shows a comparison, ``selftest`` plants faults, and ``verification`` puts
it all together. Torch is imported here, the rewriter never.
"""
