"""
Passwords and keys without a form of their own: told by what stands around them.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect.secret_values import (
    mixed_word,
    password_in_address,
    said_password,
    seed_phrase,
    user_and_password,
    value_of_key,
    value_of_password,
)

__all__ = ["PASSWORDS"]

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
        r"(?i)authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:basic|token|apikey|digest)[ \t]{1,4}"
        r"([A-Za-z0-9+/_.~-]{8,512}={0,2})",
        type="api-key",
        group=1,
    ),
    Rule(
        "registry-authorization",  # {"auths": {"...": {"auth": "..."}}}, _auth=...
        r"(?i)(?<![A-Za-z0-9])_?auth(?:entication)?[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?([A-Za-z0-9+/]{12,256}={0,2})",
        type="api-key",
        group=1,
        check=user_and_password,
    ),
    Rule(
        "command-line-password",
        r"(?<![A-Za-z0-9])curl\b[^\n]{0,120}? (?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:"
        r"([^\s\"']{4,64})",
        type="api-key",
        group=1,
        check=value_of_password,
    ),
    Rule(
        "command-line-option",  # sshpass -p ..., mysql -u root -p...
        r"(?<![A-Za-z0-9])(?:sshpass|mysql(?:dump|admin)?|mariadb|mongo(?:sh)?|(?:docker|podman|az|oc) login)"
        r"\b[^\n]{0,40}? -p[ =]?[\"']?([^\s\"'|]{4,48})",
        type="api-key",
        group=1,
        check=value_of_password,
    ),
    Rule(
        "user-setting",  # user = "name:password"
        r"(?i)(?<![A-Za-z0-9])(?:proxy-?)?(?:user|userpwd|credentials?|basic_?auth|login|auth)[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?"
        r"[^\s:\"'=/]{1,40}:([^\s\"'/]{6,64})",
        type="api-key",
        group=1,
        trim=".,",
        check=value_of_password,
    ),
    Rule(
        "netrc-password",
        r"(?<![A-Za-z0-9])login \S{1,64}\s{1,8}password (\S{4,128})",
        type="api-key",
        group=1,
    ),
    Rule(
        "session-cookie",
        r"(?i)(?<![A-Za-z0-9])(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|ASPSESSIONID[A-Z]{8}|connect\.sid|laravel_session"
        r"|_?[a-z0-9]{0,20}[_-]?session(?:[_-]?(?:id|token|key))?|sessid|sid|auth[_-]?cookie|remember[_-]?(?:me|token)"
        r"|\.AspNetCore\.[A-Za-z]{4,20}|__Secure-[A-Za-z0-9.-]{2,30}|__Host-[A-Za-z0-9.-]{2,30})=([A-Za-z0-9%._~+/:-]{16,512})",
        type="api-key",
        group=1,
        trim=".",
        check=value_of_key,
    ),
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

_PASSWORD = (
    r"pass(?:word|wort|phrase|code)|kennwort|zugangscode|contrase(?:ñ|n)a|senha|palavra-passe|mot de passe|mdp\b|wachtwoord"
    r"|parola|has[lł]o|[sş]ifre|heslo|jelsz[oó]|l[oö]senord|adgangskode|salasana|пароль|密码|密碼|口令|パスワード|暗証番号"
    r"|كلمة المرور|كلمة السر|पासवर्ड|비밀번호|mật khẩu|รหัสผ่าน|סיסמה"
)
_PASSWORD_NAME = rf"(?:{_PASSWORD}|passwd|pwd|pass|clave|passw|psw)"
_PASSWORD_WORD = (
    rf"(?:{_PASSWORD}|(?<![A-Za-z])(?:pw|pwd|passwd|clave|login code|wifi code|wlan-?schl[uü]ssel)(?![A-Za-z]))"
)
_KEY_NAME = (
    r"(?:api[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?(?:key|token)|auth[_-]?(?:token|key)|client[_-]?secret"
    r"|(?:signing|webhook|app|shared|jwt|session|hmac|consumer|cookie|oauth|totp|otp)[_-]?(?:signing[_-]?)?secret|account[_-]?key"
    r"|shared[_-]?access[_-]?key|private[_-]?(?:key|token)|subscription[_-]?key|license[_-]?key|deploy[_-]?(?:key|token)"
    r"|(?:storage|service|app|application|integration|routing|ingest|server|write|admin)[_-]?key|api[_-]?(?:token|secret)"
    r"|encryption[_-]?key|master[_-]?key|(?:refresh|bot|id|personal|user|job|deploy|session|push|device|registration)[_-]?token|token"
    r"|secret|credentials?|_key)"
)
_NAME_BEFORE = (
    r"(?:(?<![A-Za-z0-9])|(?<=[a-z0-9])(?=(?-i:[A-Z]))|(?<=_)(?<!publishable_)(?<!public_)(?<!pub_))(?<!publishable-)(?<!public-)"
    r"(?<!pub-)(?<!publishable)(?<!public)"
)
"""Where a word begins, also inside of a name: my_token, adminPassword."""
_ASSIGN = r"[\"']?[ \t]{0,3}(?:=>|:=|==?|:)[ \t]{0,3}[\"'`]?"
_VALUE = r"[^\s\"'`;,<>|{}\[\]«»“”„、，。！？；]"
_SETTINGS = (
    Rule(
        "password-setting",
        rf"(?i){_NAME_BEFORE}{_PASSWORD_NAME}{_ASSIGN}({_VALUE}{{6,128}})",
        type="api-key",
        group=1,
        trim=".,)?",
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
        "password-option",  # --password ..., --account-key ...
        rf"(?i)(?<![A-Za-z0-9-])--(?:[a-z0-9-]{{1,24}}-)?(?:{_PASSWORD_NAME}|token|secret|[a-z]{{0,8}}key)[ =]"
        r"[\"']?([^\s\"'`;<>|{}\[\]]{6,512})",
        type="api-key",
        group=1,
        check=said_password,
    ),
    Rule(
        "password-element",  # <password>...</password>
        rf"(?i)<(?:[\w:.-]{{1,24}}[_.:-])?(?:[a-z0-9]{{1,24}}(?=(?-i:[A-Z])))?(?:{_PASSWORD_NAME}|{_KEY_NAME})>\s{{0,4}}([^<>\s]{{4,256}})"
        r"\s{0,4}</",
        type="api-key",
        group=1,
        check=value_of_password,
    ),
    Rule(
        "password-attribute",  # <add key="Password" value="..."/>, password: "..." where it is quoted
        rf"(?i)(?:key|name|id)=[\"'][\w:.-]{{0,30}}(?:{_PASSWORD_NAME}|{_KEY_NAME})[\"']\s{{1,4}}value=[\"']([^\"'\n]{{4,256}})[\"']",
        type="api-key",
        group=1,
        check=value_of_password,
    ),
    Rule(
        "key-column",  # an access key and its secret beside each other
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}[\"']?(?:[ \t]{0,3}[,;:|/][ \t]{0,3}|[ \t]{1,4}|\n)[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        type="api-key",
        group=1,
        check=value_of_key,
    ),
    Rule("shared-signature", r"[?&;]sig=([A-Za-z0-9%+/=]{30,200})", type="api-key", group=1, check=value_of_key),
    Rule(
        "secret-key-said",
        r"(?i)secret(?: access)? key[^A-Za-z0-9\n]{1,4}(?:is[^A-Za-z0-9\n]{1,3})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        type="api-key",
        group=1,
        check=value_of_key,
    ),
    Rule(
        "key-said",  # "here is my API key: ..."
        r"(?i)(?:(?:api|access|secret|license|subscription|auth)[ -]?(?:key|token|schl[uü]ssel)|\b(?:the|my|your|this|new) token)[^\n]{0,24}?(?: is| ist| est| es| é| è|:|=) ?"
        r"[\"'`]?([A-Za-z0-9_.~+/=-]{16,64})",
        type="api-key",
        group=1,
        trim=".",
        check=value_of_key,
        score=0.8,
    ),
)

_SAYS = (
    r"(?: (?:is|was|ist|war|lautet|est|es|é|è|era|will be|becomes|wynosi|to|jest|je|heißt|[aä]r|er|on|هي|هو|है|=>|->)(?: now| jetzt| neu"
    r"| maintenant| ahora| agora| ora| nu| teraz)?:?| ?(?:是|为|は|는|은|：|:|=|->|→)| - )"
)
_SAID = (
    Rule(
        "password-said",  # "the password for the wifi is ..."
        rf"(?i)(?<![A-Za-z0-9_]){_PASSWORD_WORD}(?: [^\s:=.,;!?\"'\[\]<>]{{1,12}}){{0,4}}?{_SAYS}[ :]{{0,2}}[\"'`„«“]?({_VALUE}{{6,48}})",
        type="api-key",
        group=1,
        trim=".,)?",
        check=value_of_password,
        score=0.7,
    ),
    Rule(
        "password-next",  # "user juniper, password tin-whistle-4460"
        rf"(?i)(?<![A-Za-z0-9_]){_PASSWORD_WORD}[ \t]{{1,2}}[\"'`„«“(]?({_VALUE}{{8,64}})",
        type="api-key",
        group=1,
        trim=".,)?",
        check=said_password,
        score=0.7,
    ),
    Rule(
        "password-answered",  # "whats the pw?" and the next line is nothing else
        rf"(?i)(?<![A-Za-z0-9_]){_PASSWORD_WORD}[^\n]{{0,40}}\n{{1,2}}(?:[^\s:]{{1,20}}: {{0,2}})?[\"'`]?({_VALUE}{{6,40}})[\"'`]?"
        r"(?=[ \t]{0,2}(?:\n|\Z))",
        type="api-key",
        group=1,
        check=said_password,
        score=0.7,
    ),
    Rule(
        "password-line",  # host:user:password, where the line says that it is one
        rf"(?i)(?<![A-Za-z0-9:/@._-])[a-z0-9][a-z0-9._-]{{1,24}}:[a-z0-9@._-]{{2,24}}:({_VALUE}{{6,32}})"
        rf"(?=[^\n]{{0,24}}{_PASSWORD_WORD})",
        type="api-key",
        group=1,
        check=value_of_password,
        score=0.7,
    ),
    Rule(
        "password-before",  # "it opens with ...; keep this password to yourself"
        rf"(?i)(?<![A-Za-z0-9_])(?:with|use|enter|type|try|mit|nimm|avec|tapez|con|usa|com|use|met|wpisz|введите)[ :]{{1,2}}[\"'`„«“]?"
        rf"({_VALUE}{{8,32}})(?=[^\n]{{0,48}}{_PASSWORD_WORD})",
        type="api-key",
        group=1,
        trim=".,)?",
        check=mixed_word,
        score=0.7,
    ),
    Rule(
        "seed-phrase",
        r"(?i)(?:(?:seed|recovery|mnemonic|backup|secret|wallet)[ -]?(?:phrase|words|key)|(?:twelve|24|12|twenty-four|eighteen|18)"
        r" (?:seed |recovery |secret |wallet )?words|mnemonic|seed)\b[^\n]{0,24}?(?::| are| is|-|=)\s{1,3}[\"'`]?"
        r"((?:(?-i:[a-z]){3,8}(?:, |\s{1,2})){11,23}(?-i:[a-z]){3,8})(?![A-Za-z]| [a-z])",
        type="api-key",
        group=1,
        check=seed_phrase,
    ),
    Rule(
        "seed-numbered",  # 1. copper 2. meadow ...
        r"(?<![0-9])1[.)] ?[a-z]{3,8}(?:[\s,]{1,3}[0-9]{1,2}[.)] ?[a-z]{3,8}){11,23}(?![a-z])",
        type="api-key",
        check=seed_phrase,
    ),
)

PASSWORDS: tuple[Rule, ...] = (*_AUTHORIZATION, _ADDRESS, _TOKEN_IN_ADDRESS, *_SETTINGS, *_SAID)
"""The rules for passwords and keys in their places."""
