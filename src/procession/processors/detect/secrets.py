"""
Secrets that can be told from their form: vendors' prefixes, private keys, passwords in addresses and settings.

What merely looks random is not reported, and what is meant for everybody (publishable keys, public keys,
certificates, hashes), references and placeholders are no secrets.
"""

from __future__ import annotations

from procession.messages.text.patterns import Check, Rule
from procession.processors.detect.passwords import PASSWORDS
from procession.processors.detect.secret_values import is_placeholder, real_key, real_word

__all__ = ["SECRETS"]

_BEFORE = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9]-)"
_WORDS = r"[A-Za-z0-9_-]"


def web_token(text: str) -> bool:
    """
    Whether it has the three parts of a JSON Web Token, or the five of an encrypted one.
    """
    return text.count(".") in (2, 4) and not is_placeholder(text)


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
    _vendor("stripe-key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{12}", tail="[A-Za-z0-9_]"),
    _vendor("webhook-secret", r"whsec_[A-Za-z0-9+/]{16}", tail="[A-Za-z0-9+/=_]"),
    _vendor("google-key", r"(?:AIza[A-Za-z0-9_-]{30}|ya29\.[A-Za-z0-9_-]{20}|GOCSPX-[A-Za-z0-9_-]{20})"),
    _vendor("telegram-token", r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{30}"),
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
        r"(?:lin_api_|lin_oauth_|ntn_|secret_(?=[A-Za-z0-9]{40})|figd_|figp_|sbp_|sb_secret_|pscale_(?:tkn|pw|oauth)_|glsa_|glc_"
        r"|sntrys_|sntryu_|rubygems_|dckr_(?:pat|oat)_|nfp_|gsk_|r8_|pplx-|xai-|tvly-|pcsk_|lsv2_(?:pt|sk)_|ls__|NRAK-|NRII-|HRKU-|PMAK-"
        r"|dp\.(?:pt|st|ct|sa|scim|audit)\.|tfp_|rdme_|EZ[AT]K|shippo_(?:live|test)_|ptsk_|fw_|e2b_|jina_|fc-|tgp_v1_|cmVmdGtuO"
        r"|AKCp|dt0[a-z][0-9]{2}\.|ATCTT3|ATBB|BBDC-|xau_|nvapi-|phc_|phx_|phs_|re_(?=[A-Za-z0-9]{4})|ops_|ghv_|crates_|cio|flt_|frt_"
        r"|waka_|wakatime_|duffel_(?:live|test)_|ddp_|dda_|ico-|lts_|pul-|sq0[a-z]{3}-|tk-us-|v1\.0-|vercel_|vcp_|fo1_|FlyV1 |FLWSECK-"
        r"|FLWSECK_TEST-|access_token\$|EAACEdEose0cBA|amzn1\.oa2-cs\.v1\.|sgp_|bb_(?:live|test)_|rzp_(?:live|test)_|ak_live_|mlsn\.|xkeysib-"
        r"|xsmtpsib-|CFPAT-|dop_|p8e-|kagi-|ory_(?:at|rt|pat)_|op_|logfire_|pylf_v[0-9]_[a-z]{2}_|hvb\.|svp_)[A-Za-z0-9_-]{24}",
    ),
    _vendor("cloud-client-secret", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", tail="[A-Za-z0-9_~.-]"),
)


def _cut(name: str, head: str, characters: str, length: int) -> Rule:
    """
    Make the rule for a key of *length* characters after its *head* that goes on in the next line.
    """

    def whole(text: str) -> bool:
        body = "".join(text.split())
        return "\n" in text and len(body) - len(prefix(body)) == length and real_word(body)

    def prefix(text: str) -> str:
        return text[: len(text) - length]

    return Rule(
        name,
        rf"{_BEFORE}{head}(?:{characters}|\r?\n[> ]{{0,3}}(?={characters}{{3}})){{{length + 1},{length + 4}}}(?!{characters})",
        type="api-key",
        check=whole,
    )


_CUT = (
    _cut("github-token-cut", "gh[pousr]_", "[A-Za-z0-9]", 36),
    _cut("google-key-cut", "AIza", "[A-Za-z0-9_-]", 35),
    _cut("huggingface-token-cut", "hf_", "[A-Za-z0-9]", 34),
    _cut("npm-token-cut", "npm_", "[A-Za-z0-9]", 36),
    _cut("aws-access-key-cut", "A(?:KIA|SIA)", "[A-Z2-7]", 16),
    _cut("gitlab-token-cut", "glpat-", "[A-Za-z0-9_-]", 20),
)
"""Keys whose length is known, broken by the end of a line."""

_WEBHOOKS = (
    Rule(
        "webhook-address",
        r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/]{16}"
        r"|(?:[a-z]{2,8}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,22}/[A-Za-z0-9_-]{16}"
        r"|[a-z0-9.-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@-]{16}"
        r"|hooks\.zapier\.com/hooks/catch/[0-9/]{4}|maker\.ifttt\.com/trigger/[a-z0-9_-]{1,40}/with/key/[A-Za-z0-9_-]{10}"
        r"|chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_-]{4,20}/messages\?key=[A-Za-z0-9_-]{10})",
        type="api-key",
        tail=r"[A-Za-z0-9_/@%&=.?-]{1,64}",
        trim=".?&-",
        check=real_key,
    ),
)
"""Addresses that let anybody who knows them post."""

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

SECRETS: tuple[Rule, ...] = (*_VENDORS, *_CUT, *_WEBHOOKS, _PRIVATE_KEY, _WEB_TOKEN, *PASSWORDS)
"""The rules for secrets; all of type ``api-key``."""
