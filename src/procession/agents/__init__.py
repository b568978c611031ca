"""
The loop, as a workflow.
"""
