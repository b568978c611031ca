"""
The port of detectors, and the offline ones.
"""
