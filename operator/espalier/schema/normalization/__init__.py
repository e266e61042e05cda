"""
Bring a value to its normal form: prune, drop nulls, default, in one compiled pass.
"""
