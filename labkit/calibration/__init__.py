"""How right the clock is: published measurements (cases), how far it is off (accuracy),
how its constants were found (fit).
"""
