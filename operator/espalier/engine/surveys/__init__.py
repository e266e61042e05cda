"""
Reading all objects and reporting on them; validation and its annotations.
"""
