"""
Addresses of mail, written as a program reads them and as people write them around programs.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule

__all__ = ["EMAIL", "FILE_ENDINGS"]

FILE_ENDINGS = frozenset(
    "png jpg jpeg gif svg webp bmp ico css scss js mjs ts tsx jsx json yaml yml toml xml html htm pdf mp3 mp4 mov zip "
    "gz exe dll doc docx xls xlsx ppt pptx odt rtf csv txt log eml msg tar rar heic avi mkv wav".split()
)
"""What names of files end in; no domain of the highest level that people write mail to."""
_LOCAL = r"[A-Za-z0-9_\u00c0-\u024f]"
_LOCAL_MORE = r"[A-Za-z0-9_.%+'&\u00c0-\u024f-]"
_LABEL = r"[A-Za-z0-9\u00c0-\u024f](?:[A-Za-z0-9\u00c0-\u024f-]{0,38}[A-Za-z0-9\u00c0-\u024f])?"


def no_file_name(text: str) -> bool:
    """
    Whether the end of an address is no file ending, as in ``icon@2x.png``.
    """
    return text.rpartition(".")[2].lower() not in FILE_ENDINGS and ".." not in text


_AT = r"at|ät|@|ad|arobase|arobas|arroba|chiocciola|apenstaartje|klammeraffe|małpa|zavináč|kukac|собака|собачка|ат"
_DOT = r"dot|\.|punkt|point|punto|ponto|punt|kropka|tečka|nokta|pont|точка|点"
_OPEN, _CLOSE = r"[\[({<] ?", r" ?[\])}>]"
_NAME = r"[A-Za-z0-9\u00c0-\u024f\u0400-\u04ff][A-Za-z0-9_.+\u00c0-\u024f\u0400-\u04ff-]{0,40}"
_WORD = r"[A-Za-z0-9\u00c0-\u024f\u0400-\u04ff-]{1,40}"
_SPELLED_BEFORE = r"(?<![A-Za-z0-9_.%+\u00c0-\u024f\u0400-\u04ff-])"
_SPELLED_AFTER = r"(?![A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff])"
_TOP = (
    r"(?:com|org|net|edu|gov|info|dev|app|example|test|invalid|io|eu|de|fr|es|it|pt|nl|be|ch|at|uk|ie|pl|ru|tr|br|jp"
    r"|cn|au|ca|us|se|dk|fi|cz|ua|gr|mx|co\.uk)"
)
_NO_WORD = r"(?!(?:the|a|an|this|that|each|every|one|its|any|all|least|most|first|last|which|what)\b)"
"""What stands behind "at" in sentences that speak of dots."""

EMAIL: tuple[Rule, ...] = (
    Rule(
        "email",
        rf"(?<![A-Za-z0-9_.%+\u00c0-\u024f-]){_LOCAL}(?:{_LOCAL_MORE}{{0,62}}[A-Za-z0-9_+\u00c0-\u024f-])?"
        rf"@(?:{_LABEL}\.){{1,4}}(?:[A-Za-z]{{2,24}}|xn--[A-Za-z0-9-]{{2,40}})(?![A-Za-z0-9_\u00c0-\u024f]"
        rf"|[.-][A-Za-z0-9]|:[A-Za-z0-9_~-]{{1,40}}/)",
        check=no_file_name,
        unless=r"://[^\s/@]{0,60}\Z",
    ),
    Rule(
        "email-other-script",  # a domain, and perhaps a name, in letters that are not Latin
        r"(?<![\w.+-])[\u0370-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7fA-Za-z0-9]"
        r"[\u0370-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7fA-Za-z0-9_.+-]{0,62}@"
        r"(?:[\w-]{1,40}\.){1,4}(?:[\u0370-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f]{2,12}"
        r"|中国|中國|公司|网络|網絡|香港|台湾|台灣|한국|みんな|世界)(?!\w)",
        type="email",
    ),
    Rule(
        "email-quoted",  # "eva maier"@example.net, eva@[192.0.2.1]
        r"(?<![\w])(?:\"[^\"\n@]{1,60}\"@(?:[A-Za-z0-9-]{1,40}\.){1,4}[A-Za-z]{2,24}"
        r"|[A-Za-z0-9][A-Za-z0-9_.+-]{0,62}@\[(?:[0-9]{1,3}\.){3}[0-9]{1,3}\])(?!\w)",
        type="email",
    ),
    Rule(
        "email-spelled",  # eva [at] example [dot] net, eva(at)example.net, eva@example[.]net
        rf"(?i){_SPELLED_BEFORE}{_NAME} ?(?:{_OPEN}(?:{_AT}){_CLOSE} ?{_WORD}"
        rf"(?: ?{_OPEN}(?:{_DOT}){_CLOSE} ?{_WORD}|\.{_WORD}){{1,3}}"
        rf"| ?@ ?{_WORD}(?: ?{_OPEN}(?:{_DOT}){_CLOSE} ?{_WORD}){{1,3}}){_SPELLED_AFTER}",
        type="email",
        score=0.9,
    ),
    Rule(
        "email-in-capitals",  # eva AT example DOT net
        rf"{_SPELLED_BEFORE}{_NAME} AT {_WORD}(?:(?: DOT |\.){_WORD}){{1,3}}{_SPELLED_AFTER}",
        type="email",
        score=0.9,
    ),
    Rule(
        "email-in-words",  # eva at example dot net, eva arobase exemple point fr
        rf"(?i){_SPELLED_BEFORE}{_NAME} (?:at {_NO_WORD}{_WORD}(?: dot {_WORD}){{0,2}} dot"
        rf"|ät {_WORD}(?: punkt {_WORD}){{0,2}} punkt) {_TOP}{_SPELLED_AFTER}",
        type="email",
        score=0.8,
    ),
    Rule(
        "email-in-signs",  # the sign's name in another language stands in no other sentence
        rf"(?i){_SPELLED_BEFORE}{_NAME} (?:arobase|arroba|chiocciola|apenstaartje|klammeraffe|małpa|собака|собачка) "
        rf"{_WORD}(?:(?: (?:{_DOT}) |\.){_WORD}){{1,3}}{_SPELLED_AFTER}",
        type="email",
        score=0.8,
    ),
    Rule(
        "email-underlined",  # eva_at_example_dot_net, eva-at-example-dot-net
        rf"(?i){_SPELLED_BEFORE}[a-z0-9][a-z0-9_.]{{0,30}}(?:_at_[a-z0-9-]{{1,30}}_dot_|-at-[a-z0-9]{{1,30}}-dot-)"
        rf"(?:[a-z0-9]{{1,12}}_dot_)?[a-z]{{2,12}}{_SPELLED_AFTER}",
        type="email",
        score=0.8,
    ),
    Rule(
        "email-spaced",  # eva @ example . net
        rf"(?i){_SPELLED_BEFORE}[a-z][a-z0-9_.+-]{{0,40}} @ ?[a-z0-9-]{{1,40}}(?: \. [a-z0-9-]{{2,40}}){{1,3}}"
        rf"{_SPELLED_AFTER}",
        type="email",
        score=0.8,
    ),
)
"""The rules for addresses of mail."""
