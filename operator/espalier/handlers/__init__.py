"""
Kopf handlers: they translate, call and report; nothing is decided here.
"""
