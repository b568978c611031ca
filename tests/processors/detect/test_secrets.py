"""Secrets by form: found with the least that must not survive, and placeholders left alone."""

from __future__ import annotations

import pytest

from procession.messages.text.scan import find_spans
from procession.processors.detect.secret_values import is_placeholder
from procession.processors.detect.secrets import SECRETS

BODY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def found(text: str) -> list[str]:
    """Return what is found in *text*."""
    return sorted({text[span.start : span.end] for span in find_spans(SECRETS, text, fold=True)}, key=text.find)


@pytest.mark.parametrize(
    "secret",
    [
        "gh" + "p_" + BODY,
        "github" + "_pat_" + BODY,
        "gl" + "pat-" + BODY[:20],
        "xo" + "xb-163529686656-4376351867247-" + BODY[:24],
        "s" + "k-proj-" + BODY,
        "s" + "k-ant-api03-" + BODY,
        "s" + "k_live_" + BODY[:24],
        "AK" + "IAUW45YDESOK72LLSD",
        "np" + "m_" + BODY,
        "h" + "f_" + BODY,
        "SG" + "." + BODY[:22] + "." + BODY,
        "AI" + "za" + BODY[:35],
        "3386554225:AA" + BODY[:33],
        "dop" + "_v1_" + "d1b61b4b171b2f3a9f889eeaf77ee09a4496e0ed7afceaa86dc3f3464849a845",
        "shp" + "at_d1f7c3a0579f09222a2bed27a584d21b",
        "hv" + "s." + BODY,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjdXN0LTQwOTE3In0.QcT7xl2cwC6dT0ctPVnaaw",
    ],
)
def test_vendors_keys(secret: str) -> None:
    """Keys with a vendor's prefix are found wherever they stand, and whole."""
    assert found(f"it is {secret}, rotated.") == [secret]
    assert found(f"键{secret}键") == [secret]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://ro:vR7kq2Lw9TzB@db.example.net:5432/x", "vR7kq2Lw9TzB"),
        ("rediss://default:Tq8zNd0pXw31@cache.example.com:6380/2", "Tq8zNd0pXw31"),
        ("User Id=till;Password=Gr4nit-Esel-77;Encrypt=true", "Gr4nit-Esel-77"),
        ('const WEBHOOK_SIGNING_SECRET = "NBy265Vjw0wP47YCte19kLhM";', "NBy265Vjw0wP47YCte19kLhM"),
        ("Authorization: Bearer 77d7d5abfdcb64f3f0468e068a29301ffdb80167", "77d7d5abfdcb64f3f0468e068a29301ffdb80167"),
        ("passwort: Sommer2024!", "Sommer2024!"),
        ("the password is hunter2!x", "hunter2!x"),
        ("curl -u admin:S3cr3tpw https://x.example", "S3cr3tpw"),
        ("AWS_SECRET_ACCESS_KEY=g5QjWV1mKaUyvBPs0jSO2Jkf08MMF1ulMMCw3XVy", "g5QjWV1mKaUyvBPs0jSO2Jkf08MMF1ulMMCw3XVy"),
        (
            "https://x.example/c?sv=1&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIz%3D",
            "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIz%3D",
        ),
    ],
)
def test_values_in_their_place(text: str, secret: str) -> None:
    """Passwords in addresses, settings and headers are found without what stands around them."""
    assert secret in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "api_key=YOUR_API_KEY",
        "password=changeme",
        "TOKEN=${TOKEN}",
        "SECRET=<your-secret-here>",
        "password = ********",
        "s" + "k_live_xxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://USER:PASSWORD@HOST:5432/DBNAME",
        "AK" + "IAIOSFODNN7EXAMPLE",
        "pk" + "_live_Xj675eVq30XYqaNUDqN9Nifp",
        "password: required",
        "token: refresh",
        "secret: santa",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIeajzV6xuRXLAsfmhVwlva/byCSE",
        "sha256 42f5fa229d4f62a0290c9d174e373bdb76b2ca917b4c5d21718cde22967e79f2",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIES2A5e7sA\n-----END CERTIFICATE-----",
        "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
        "token = get_token(user)",
        "password=os.environ['PW']",
        "my password does not work",
        "bearer of bad news",
    ],
)
def test_what_is_no_secret(text: str) -> None:
    """Placeholders, references, publishable and public keys, certificates, hashes and data are clean."""
    assert found(text) == []


def test_private_keys() -> None:
    """A private key is one finding to its end marker, or as far as its lines go; the text after it stays."""
    lines = "MIIEowIBAAKCAQEAyC85Nn7Jf30xIOdZh\nffRcvy0Dxo5pCJFz2B30M8KVM+w8MDaD3v\nkGeJ/ky88BV8/luteLKWM"
    whole = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
    assert found(f"key:\n{whole}\nthanks") == [whole]
    cut = f"-----BEGIN PRIVATE KEY-----\n{lines}"
    assert found(f"{cut}\n[message truncated]") == [cut]
    escaped = whole.replace("\n", "\\n")
    assert found(f'{{"private_key": "{escaped}"}}') == [escaped]


def test_placeholders() -> None:
    """Few different characters, or the words that people write into examples, are no secret."""
    assert is_placeholder("aaaaaaaabbbb")
    assert not is_placeholder("Tq8zNd0pXw31")
