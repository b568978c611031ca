"""
Transport: what a call meets between us and a server.
"""
