"""Texts that guards have something to do with, as strategies: snippets with findings, spelling tricks, and noise."""

from __future__ import annotations

from hypothesis import strategies as st

FOUND = (
    "bob@example.com",
    "tess.marlowe+shop@example.org",
    "oskar.lind\uff20example.net",
    "w.\u200badeyemi@\u200bexample.com",
    "4242 4242 4242 4242",
    "4111-1111-1111-1111",
    "\uff14\uff12\uff14\uff12\uff14\uff12\uff14\uff12\uff14\uff12\uff14\uff12\uff14\uff12\uff14\uff12",
    "3782-822463-10005",
    "536-22-8145",
    "SSN 536228145",
    "GB33 BUKB 2020 1555 5555 55",
    "AT483200000012345864",
    "+44 20 7946 0311",
    "(212) 555-0147",
    "call 020 7946 0958",
    "0171/39 200 47",
    "192.0.2.54:9100",
    "2001:db8:42:9::1f",
    "https://shop.example/a?b=(c)",
    "www.fitouts.example.",
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "date of birth: 09/11/1971",
    "born on 3rd of February 2009",
    "MW 39 04 71 D",
    "47281930W",
    "390.533.447-05",
    "aadhaar 9999 4105 7058",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "s\u006b_live_uSnH6av1Ib8pp1xxXHU0BScJ",
    "A\u004bIAUW45YDESOK72LLSD",
    "password=Gr4nit-Esel-77;",
    "postgres://ro:vR7kq2Lw9TzB@db.example.net/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjdXN0LTQwOTE3In0.QcT7xl2cwC6dT0ctPV",
    "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAyC85Nn7Jf30xIOdZh\nZmFrZQ==\n-----END PRIVATE KEY-----",
)
"""Things to be found, spelled plainly and not."""

NOISE = (
    " ",
    "  ",
    "\n",
    ", ",
    ". ",
    "the order ",
    "word",
    "a",
    "@",
    "-",
    "4",
    "12",
    "::",
    "e\u0301",
    "\u0301",
    "\u200b",
    "\u200d",
    "\U0001f469\u200d\U0001f4bb",
    "\u4f60\u597d",
    "\u043f\u0440\u0438\u0432\u0435\u0442 ",
    "\uff21",
    "\ufb01",
    "\u2026",
    "\u00a0",
    "\u1100",
    "\u1161",
    "\uff76\uff9e",
    "\U000e0041",
    "\t",
    "\r\n",
    "x" * 40,
    "1" * 20,
    "-----BEGIN ",
    "eyJ",
    "https://",
    "A" * 70,
)
"""What stands around them, half of it meant to confuse."""

SNIPPETS = st.lists(st.sampled_from(FOUND + NOISE) | st.sampled_from(NOISE), max_size=10).map("".join)
SIGNS = st.text(alphabet="ab1 @.-:/\n\u0301\u200b\uff11\u00e9\U0001f600", max_size=60)
TEXTS = (
    SNIPPETS | SIGNS | st.text(max_size=60).filter(lambda text: not any("\ud800" <= one <= "\udfff" for one in text))
)
