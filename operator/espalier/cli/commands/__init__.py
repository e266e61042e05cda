"""
The commands, each module named as users type it. They read, call and render.
"""
