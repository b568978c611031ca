"""
The versions of the tables.  One that was released is never changed: what comes next is a module of its own.
"""
