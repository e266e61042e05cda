"""
One huge definition in parts: each part is rewritten by itself, and a last step proves and trims.
"""
