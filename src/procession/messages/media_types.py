"""
Media types: of files that come without one, as far as their first bytes tell.
"""

from __future__ import annotations

import binascii

__all__ = ["media_type_of"]

_SIGNATURES = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_LONGEST = 12


def media_type_of(data: str | bytes, default: str) -> str:
    """
    Return the media type of a file: bytes, base64 text, a ``data:`` URI that names one, or a URL.

    *default* is returned for a URL, which is not fetched, and for what begins like none of PNG, JPEG, GIF, WebP, PDF.

    >>> media_type_of(b"%PDF-1.7", "application/octet-stream")
    'application/pdf'
    """
    if isinstance(data, str):
        scheme, colon, rest = data.partition(":")
        if colon:
            named = rest.partition(",")[0].partition(";")[0] if scheme == "data" else ""
            return named or default
        try:
            data = binascii.a2b_base64(data[: 2 * _LONGEST])
        except ValueError:
            return default
    if data[:4] == b"RIFF" and data[8:_LONGEST] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), default)
