"""
What the commands for clusters do; loaded when one of them runs, not for its help or for TAB.
"""
