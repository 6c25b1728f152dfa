"""Compares two captures: matches records, measures how far they are apart, judges, finds who is to blame."""
