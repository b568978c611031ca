"""
The guard at the door: who may ask, from where, and for what.

A page in a browser can reach whatever listens on its machine.  What it cannot do is name another ``Host`` than the one
it was loaded from (but for a name that was bound anew to this machine), hide its ``Origin``, or send JSON or a header of
ours elsewhere without being asked for it first.  So each of these is checked, also on loopback and without a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from procession.errors import DefinitionError, RequestRefused

__all__ = ["CHANGES", "Guard", "header", "is_loopback"]

Headers = Mapping[bytes, bytes]
CHANGES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""The methods that change something."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
"""What a Host header may be: a name or an address, and a port; nothing that another reader could take for more."""
_FORWARDED: Final = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")


class Guard:
    """
    Says of each request whether it may go on; raises ``RequestRefused`` where not.
    """

    def __init__(
        self, *, token: str | None, hosts: Collection[str], origins: Collection[str], read_only: bool, trusted: bool
    ) -> None:
        if token is not None and not token.strip():
            raise DefinitionError("an App's token is empty", hint="give a long random text, or None for loopback alone")
        self._token = token.encode() if token is not None else None
        self.hosts = (_LOOPBACK | {host if _is_address(host) else _bare(host) for host in hosts}) - {""}
        self.origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self.read_only = read_only
        self.trusted = trusted

    @property
    def needs_token(self) -> bool:
        """
        Whether whoever asks must have the token.
        """
        return self._token is not None

    def changed(
        self,
        *,
        token: str | None = None,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        read_only: bool | None = None,
    ) -> Guard:
        """
        Return a guard that differs in what is given: hosts and origins are added.
        """
        return Guard(
            token=token if token is not None else self._token.decode() if self._token is not None else None,
            hosts={*self.hosts, *hosts},
            origins={*self.origins, *origins},
            read_only=self.read_only if read_only is None else read_only,
            trusted=self.trusted,
        )

    def admit(self, scope: Mapping[str, Any], headers: Headers) -> None:
        """
        Check where a request comes from: its host, its origin, and the address that it came in by.
        """
        self._check_address(scope, headers)
        self._check_host(scope, headers)
        self._check_origin(headers)

    def authorize(self, headers: Headers, *, open: bool = False) -> None:
        """
        Check the token, unless what is asked for is *open* to all.
        """
        if self._token is None or open:
            return
        kind, _, given = header(headers, b"authorization").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            raise RequestRefused(
                "the token is missing or wrong",
                status=401,
                reason="unauthorized",
                hint="send it as the header `Authorization: Bearer TOKEN`",
            )

    def refuse_read_only(self) -> None:
        """
        Refuse a change where the server is read-only.
        """
        if self.read_only:
            raise RequestRefused(
                "the server is read-only", status=403, reason="read-only", hint="App(read_only=False) takes changes"
            )

    def refuse_simple(self, method: str, headers: Headers) -> None:
        """
        Refuse a request that changes something and that a page of another site could have sent unasked.
        """
        kind = header(headers, b"content-type").partition(b";")[0].strip().lower()
        if kind != b"application/json" and header(headers, b"x-procession") != b"1":
            raise RequestRefused(
                f"a {method} must say what it sends",
                status=403,
                reason="cross-site",
                hint="send `Content-Type: application/json`, or the header `X-Procession: 1`",
            )

    def _check_address(self, scope: Mapping[str, Any], headers: Headers) -> None:
        """
        Without a token only those on this machine are answered, whoever started the server and however.
        """
        if self._token is not None or self.trusted:
            return
        server = scope.get("server")
        if server is None or not is_loopback(str(server[0])):
            raise RequestRefused(
                "the server can be reached from other machines and has no token",
                status=403,
                reason="token-needed",
                hint="give the App a token, or bind it to 127.0.0.1",
            )
        if any(name in headers for name in _FORWARDED):
            raise RequestRefused(
                "the request came through a proxy and the server has no token",
                status=403,
                reason="token-needed",
                hint="give the App a token",
            )

    def _check_host(self, scope: Mapping[str, Any], headers: Headers) -> None:
        host = _bare(header(headers, b"host").decode("latin-1"))
        if host in self.hosts or (self._token is not None and _is_address(host)):
            return
        raise RequestRefused(
            "this is not the server of that host",
            status=421,
            reason="wrong-host",
            hint="App(hosts=[...]) or --allow-host names further hosts",
        )

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get(b"origin")
        if origin is not None:
            text = origin.decode("latin-1").lower()
            if text in self.origins or _place(text) == header(headers, b"host").decode("latin-1").lower():
                return
            raise self._foreign()
        site = headers.get(b"sec-fetch-site", b"none")
        if site not in (b"none", b"same-origin") and headers.get(b"sec-fetch-mode") != b"navigate":
            raise self._foreign()

    def _foreign(self) -> RequestRefused:
        return RequestRefused(
            "pages of other origins may not ask",
            status=403,
            reason="wrong-origin",
            hint="App(origins=[...]) or --allow-origin names further origins",
        )


def header(headers: Headers, name: bytes) -> bytes:
    """
    Return what a header says; empty where there is none.
    """
    return headers.get(name, b"")


def is_loopback(host: str) -> bool:
    """
    Tell whether *host* is an address or name of this machine that no other can reach.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bare(host: str) -> str:
    """
    Return the name in a Host header: lower case, without its port; empty where it is none.
    """
    found = _HOST.fullmatch(host)
    return found[1].strip("[]").rstrip(".").lower() if found is not None else ""


def _place(origin: str) -> str | None:
    """
    Return the host and port of an origin; ``None`` of one that has none, such as ``null``.
    """
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
