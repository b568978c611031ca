"""
Secrets that can be told from their form: vendors' prefixes, private keys, passwords in addresses and settings.

What merely looks random is not reported, and what is meant for everybody (publishable keys, public keys,
certificates, hashes), references and placeholders are no secrets.
"""

from __future__ import annotations

import re

from procession.messages.text.patterns import Check, Rule

__all__ = ["SECRETS", "is_placeholder"]

_BEFORE = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9]-)"
_WORDS = r"[A-Za-z0-9_-]"

_PLACEHOLDER = re.compile(
    r"x{4,}|X{4,}|\*{3,}|\.{3,}|0{8,}|•|<|>|\$\{|\{\{|%\(|\[|your|example|placeholder|redacted|removed|change[-_]?me"
    r"|insert|dummy|sample|secret[-_]?here|goes[-_]?here|todo|process\.env|environ|getenv|secrets\.|vault:|\bnull\b"
    r"|\bnone\b|undefined"
    r"|12345678|abcdefgh",
    re.IGNORECASE,
)


def is_placeholder(text: str) -> bool:
    """
    Whether something stands where a secret will be, rather than the secret.

    >>> is_placeholder("sk_live_xxxxxxxxxxxxxxxx"), is_placeholder("${SMTP_PASSWORD}"), is_placeholder("Tq8zNd0pXw31")
    (True, True, False)
    """
    return _PLACEHOLDER.search(text) is not None or len(set(text)) < 5


def real_key(text: str) -> bool:
    """
    Whether a vendor's prefix is followed by something random.
    """
    return not is_placeholder(text) and any(character.isdigit() for character in text)


def real_word(text: str) -> bool:
    """
    Whether a vendor's prefix is followed by something of many different characters.
    """
    return not is_placeholder(text) and len(set(text)) >= 12


def web_token(text: str) -> bool:
    """
    Whether it has the three parts of a JSON Web Token, or the five of an encrypted one.
    """
    return text.count(".") in (2, 4) and not is_placeholder(text)


def value_of_password(text: str) -> bool:
    """
    Whether what follows the word password can be one: it mixes kinds of characters, and is no call or reference.
    """
    if is_placeholder(text) or "(" in text or text.startswith(("/", "$", "@", "&")):
        return False
    kinds = (re.search("[a-z]", text), re.search("[A-Z]", text), re.search("[0-9]", text), re.search(r"[^\w\s]", text))
    return sum(kind is not None for kind in kinds) >= 2 and re.search(r"[0-9]|[^\w\s.-]", text) is not None


def value_of_key(text: str) -> bool:
    """
    Whether what follows the word key or token can be one: long enough, with digits, and no name of something.
    """
    if not value_of_password(text) or len(text) < 12:
        return False
    return any(character.isdigit() for character in text) and len(set(text)) >= 8


def _vendor(name: str, head: str, *, tail: str = _WORDS, check: Check = real_key) -> Rule:
    """
    Make the rule for keys that begin with *head* and go on, however long, with characters of *tail*.
    """
    return Rule(name, _BEFORE + head, type="api-key", tail=rf"{tail}{{1,64}}", trim="-_.", check=check)


_VENDORS = (
    _vendor("openai-key", r"sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]{2,10}-|or-v1-|lf-)?[A-Za-z0-9_-]{16}"),
    _vendor("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", tail="[A-Z0-9]", check=real_word),
    _vendor("github-token", r"(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20})"),
    _vendor("gitlab-token", r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|oas)-[A-Za-z0-9_-]{16}"),
    _vendor("slack-token", r"(?:xox[abeoprs]-|xapp-|xoxe\.xox[bp]-)[A-Za-z0-9-]{10}", tail="[A-Za-z0-9-]"),
    Rule(
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/]{16,100})",
        type="api-key",
        group=1,
        check=real_key,
    ),
    _vendor("stripe-key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{12}", tail="[A-Za-z0-9_]"),
    _vendor("webhook-secret", r"whsec_[A-Za-z0-9+/]{16}", tail="[A-Za-z0-9+/=_]"),
    _vendor("google-key", r"(?:AIza[A-Za-z0-9_-]{30}|ya29\.[A-Za-z0-9_-]{20}|GOCSPX-[A-Za-z0-9_-]{20})"),
    _vendor("telegram-token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30}"),
    _vendor("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16}"),
    _vendor("mailgun-key", r"key-[0-9a-f]{32}", tail="[0-9a-f]"),
    _vendor("mailchimp-key", r"[0-9a-f]{32}-us[0-9]{1,2}", tail="[0-9]"),
    _vendor("twilio-key", r"SK[0-9a-f]{32}", tail="[0-9a-f]"),
    _vendor("npm-token", r"npm_[A-Za-z0-9]{30}", tail="[A-Za-z0-9]", check=real_word),
    _vendor("package-index-token", r"pypi-AgE[A-Za-z0-9_-]{30}"),
    _vendor("huggingface-token", r"hf_[A-Za-z0-9]{28}", tail="[A-Za-z0-9]", check=real_word),
    _vendor("digitalocean-token", r"do[opr]_v1_[a-f0-9]{40}", tail="[a-f0-9]"),
    _vendor("shopify-token", r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{28}", tail="[a-fA-F0-9]"),
    _vendor("discord-token", r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{26}"),
    _vendor("facebook-token", r"EAA[A-Za-z0-9]{60}", tail="[A-Za-z0-9]"),
    _vendor("square-token", r"(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20}|EAAA[A-Za-z0-9_-]{56})"),
    _vendor("databricks-token", r"dapi[a-f0-9]{32}", tail="[a-f0-9-]"),
    _vendor("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{22}"),
    _vendor("atlassian-token", r"ATATT3[A-Za-z0-9_=-]{30}", tail="[A-Za-z0-9_=-]"),
    _vendor("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{50}", tail="[0-9A-Z]", check=real_word),
    _vendor(
        "service-token",
        r"(?:lin_api_|ntn_|secret_(?=[A-Za-z0-9]{40})|figd_|figp_|sbp_|pscale_(?:tkn|pw|oauth)_|glsa_|glc_|sntrys_"
        r"|sntryu_|rubygems_"
        r"|dckr_pat_|nfp_|gsk_|r8_|pplx-|xai-|tvly-|pcsk_|lsv2_(?:pt|sk)_|NRAK-|HRKU-|PMAK-|dp\.(?:pt|st|ct|sa)\.|tfp_"
        r"|rdme_|EZ[AT]K|shippo_(?:live|test)_|ptsk_)[A-Za-z0-9_-]{24}",
    ),
)

_PEM_WORD = r"(?:[A-Z0-9]{1,12} ){0,4}"
_PRIVATE_KEY = Rule(
    "private-key",
    rf"-----BEGIN {_PEM_WORD}PRIVATE KEY(?: BLOCK)?-----",
    type="api-key",
    # Lines of Base64 and headers up to the end marker; a key that was cut off ends where its lines do.
    tail=(
        rf"(?:\s|\\r|\\n|[\"'+,>|]){{1,12}}(?:-----END {_PEM_WORD}PRIVATE KEY(?: BLOCK)?-----"
        r"|[A-Za-z][A-Za-z-]{2,20}: [A-Za-z0-9,.; _-]{1,80}(?=\s|\\)"
        r"|[A-Za-z0-9+/=]{24,80}|[A-Za-z0-9+/=]{12,80}(?=\s|\\|$)|[A-Za-z0-9+/]{1,80}={1,2}(?![A-Za-z0-9])"
        r"|[A-Za-z0-9+/=]{1,80}(?=(?:\s|\\r|\\n|[\"'+,>|]){1,12}-----END))"
        rf"|[A-Za-z0-9+/=]{{1,64}}|-----END {_PEM_WORD}PRIVATE KEY(?: BLOCK)?-----"
    ),
)
_WEB_TOKEN = Rule(
    "json-web-token",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8}",
    type="api-key",
    tail=r"[A-Za-z0-9_-]{1,64}|\.(?=[A-Za-z0-9_-])|\.(?=\.)",
    check=web_token,
)

_HEX_OR_64 = r"[A-Za-z0-9._~+/=-]"
_AUTHORIZATION = (
    Rule(
        "bearer-token",
        rf"(?i)(?<![A-Za-z0-9])bearer[ \t]{{1,4}}({_HEX_OR_64}{{16,512}})",
        type="api-key",
        group=1,
        trim=".,",
        check=value_of_key,
    ),
    Rule(
        "basic-authorization",
        r"(?i)authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?basic[ \t]{1,4}([A-Za-z0-9+/]{8,512}={0,2})",
        type="api-key",
        group=1,
    ),
    Rule(
        "command-line-password",
        r"(?<![A-Za-z0-9])curl\b[^\n]{0,120}? (?:-u|--user) ?[\"']?[^\s:\"']{1,64}:([^\s\"']{4,64})",
        type="api-key",
        group=1,
        check=value_of_password,
    ),
)


def password_in_address(text: str) -> bool:
    """
    Whether the password in an address is one, and neither a placeholder nor its own name.
    """
    return not is_placeholder(text) and text.lower() not in (
        "password",
        "pass",
        "pw",
        "passwd",
        "secret",
        "token",
        "pwd",
    )


_ADDRESS = Rule(
    "password-in-address",
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,80}:([^\s/@\"'<>]{3,128})@(?=[A-Za-z0-9\[$])",
    type="api-key",
    group=1,
    check=password_in_address,
)
_TOKEN_IN_ADDRESS = Rule(
    "token-in-address",  # https://token@host
    r"(?<![A-Za-z0-9])https?://([A-Za-z0-9_-]{20,128})@(?=[A-Za-z0-9\[])",
    type="api-key",
    group=1,
    check=value_of_key,
)

_PASSWORD_NAME = (
    r"(?:passw(?:or)?d|passwort|passphrase|pwd|pass|kennwort|contrase(?:ñ|n)a|senha|mot de passe|wachtwoord|пароль"
    r"|密码|密碼|パスワード)"
)
_PASSWORD_WORD = (
    r"(?:password|passwort|passphrase|passcode|kennwort|contrase(?:ñ|n)a|senha|mot de passe|wachtwoord|пароль"
    r"|密码|密碼|パスワード|كلمة المرور|पासवर्ड|비밀번호)"
)
_KEY_NAME = (
    r"(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?(?:key|token)|auth[_-]?(?:token|key)|client[_-]?secret"
    r"|(?:signing|webhook|app|shared|jwt|session|hmac|consumer)[_-]?(?:signing[_-]?)?secret|account[_-]?key"
    r"|shared[_-]?access[_-]?key|private[_-]?key"
    r"|encryption[_-]?key|master[_-]?key|refresh[_-]?token|bot[_-]?token|token|secret|credentials?|_key)"
)
_NAME_BEFORE = r"(?<![A-Za-z0-9])(?!pub)(?:[A-Za-z0-9]{1,20}[_.-]){0,4}"
_ASSIGN = r"[\"']?[ \t]{0,3}(?:=>|:=|==?|:)[ \t]{0,3}[\"'`]?"
_SETTINGS = (
    Rule(
        "password-setting",
        rf"(?i){_NAME_BEFORE}{_PASSWORD_NAME}{_ASSIGN}([^\s\"'`;,<>|{{}}\[\]]{{6,128}})",
        type="api-key",
        group=1,
        trim=".,)!?",
        check=value_of_password,
    ),
    Rule(
        "key-setting",
        rf"(?i){_NAME_BEFORE}{_KEY_NAME}{_ASSIGN}([A-Za-z0-9_.~+/%=-]{{12,512}})",
        type="api-key",
        group=1,
        trim=".",
        check=value_of_key,
    ),
    Rule(
        "password-said",  # "the password is ..."
        rf"(?i)(?<![A-Za-z0-9_]){_PASSWORD_WORD}(?: is| was| ist| lautet| est| es| é| ?は| ?是"
        rf"| ?:)[ :]{{0,2}}[\"'`„«“]?([^\s\"'`;,<>|{{}}\[\]«»“”]{{6,64}})",
        type="api-key",
        group=1,
        trim=".,)!?",
        check=value_of_password,
        score=0.7,
    ),
    Rule("shared-signature", r"[?&;]sig=([A-Za-z0-9%+/=]{30,200})", type="api-key", group=1, check=value_of_key),
    Rule(
        "secret-key-said",
        r"(?i)secret(?: access)? key[^A-Za-z0-9\n]{1,4}(?:is[^A-Za-z0-9\n]{1,3})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        type="api-key",
        group=1,
        check=value_of_key,
    ),
)

SECRETS: tuple[Rule, ...] = (
    *_VENDORS,
    _PRIVATE_KEY,
    _WEB_TOKEN,
    *_AUTHORIZATION,
    _ADDRESS,
    _TOKEN_IN_ADDRESS,
    *_SETTINGS,
)
"""The rules for secrets; all of type ``api-key``."""
