"""
What data says to the machine that reads it, in English: patterns over text in lower case with single blanks.

None of these signs is enough by itself: to speak to the reader, to ask for secrecy, to have something sent away.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule

__all__ = ["INDIRECT"]

_MACHINE = (
    r"(?:ai|a\.i\.|llm|language model|model|assistant|chat ?bot|bot|agent|gpt|claude|gemini|copilot|automat(?:ed|ic) "
    r"(?:system|reader|reply system|assistant|process(?:or|ing)?|agent|tool|support)|machine|system|summari[sz]er"
    r"|parser|program|software|robot)s?"
)
_READS = (
    r"(?:reads?|reading|handl(?:es|ing)|process(?:es|ing|ed)?|summari[sz](?:es|ing)|answer(?:s|ing)?|review(?:s|ing)?"
    r"|analy[sz](?:es|ing)|that sees|triag(?:es|ing)|pars(?:es|ing))"
)
_ADDRESSED: tuple[Rule, ...] = (
    Rule(
        "addressed-note",
        rf"\b(?:note|notice|message|instructions?|memo|reminder|attention|remark|information|hint|request|p\.?s\.?) "
        rf"(?:to|for|of) (?:the |any |all |every |an? |whatever |your ){{0,8}}(?:[\w-]{{1,24}} )?{_MACHINE}\b"
        rf"|\battention[,:!] ?(?:[\w-]{{1,24}} ){{0,2}}?{_MACHINE}\b",
        type="injection",
        score=0.5,
    ),
    Rule(
        "addressed-reader",
        rf"\b{_MACHINE} (?:(?:that|which|who) )?(?:is |are |may be |will |now )?{_READS} (?:this|these|the|it|my|our"
        rf"|your)\b",
        type="injection",
        score=0.5,
    ),
    Rule(
        "addressed-if",
        rf"\bif (?:you are|you're|this (?:text|message|mail|page|document|ticket)? ?(?:is|was) (?:being )?(?:read"
        rf"|processed|handled|summari[sz]ed|answered|seen) by) (?:an? |the |any )?(?:[\w-]{{1,24}} )?{_MACHINE}\b",
        type="injection",
        score=0.55,
    ),
    Rule(
        "addressed-name",
        r"(?:^|[\[({\"'>:.*!-] ?)(?:(?:dear|hey|attention|to) )?(?:reviewer|reading|support|assistant|language"
        r"|summary|answering) (?:model|ai|bot|assistant|agent|llm)[,:]",
        type="injection",
        score=0.5,
    ),
    Rule(
        "fake-system",
        r"(?:^|[\n\[\"'>(*#] ?)(?:system|admin(?:istrator)?|developer|root|operator)(?: (?:note|message|notice"
        r"|override|update|prompt|instruction|command))?\]?(?::| ?>)",
        type="system-override",
        score=0.4,
    ),
    Rule(
        "template",
        r"<\|?/?(?:im_start|im_end|system|endoftext|assistant|user|begin_of_text|start_header_id|eot_id)\|?>|\[/?"
        r"(?:inst|sys)\]|<</?sys>>|(?:^|\s)###? ?(?:system|instruction|new instructions?)\b",
        type="system-override",
        score=0.75,
    ),
    Rule(
        "agent-must",
        r"\b(?:the |this |any )?(?:agent|assistant|ai|model|bot|llm|system) (?:must|shall|should|will|has to|is "
        r"(?:required|ordered|instructed) to)(?: now| immediately| also)? (?!be\b)[a-z]{1,24}",
        type="injection",
        score=0.3,
    ),
    Rule(
        "call-function",
        r"\b(?:call|invoke|execute|run|use|trigger)(?: the)?(?: tool| function| command)? [`'\"]?[a-z]{1,24}"
        r"(?:_[a-z]{1,24}){1,8}[`'\"]?(?: ?\(| tool| function)?",
        type="tool-exfiltration",
        score=0.35,
    ),
    Rule(
        "comment",
        r"<!--[^>]{0,200}\b(?:ai|assistant|model|bot|system|agent|llm|instruction)s?\b",
        type="injection",
        score=0.3,
    ),
    Rule(
        "hidden-text",
        r"\b(?:white|invisible|hidden|tiny) (?:text|font|letters)\b|\bfont-size: ?[01]|\bdisplay: ?none",
        type="injection",
        score=0.25,
    ),
    Rule(
        "new-task",
        r"\b(?:(?:stop|cease|abort|cancel|end|drop|abandon) (?:the |your |this |any )?(?:current |present |original "
        r"|previous )?(?:task|summary|summari[sz]ing|translat(?:ion|ing)|work|request|answer|job|conversation)"
        r"|(?:task|request|instruction|question|job)s?(?: [\w ]{0,40})? (?:is|are|has been|have been|was) (?:now )?"
        r"(?:cancell?ed|complete[d]?|done|finished|void|withdrawn|replaced|obsolete)"
        r"|no longer applies|your (?:new|real|actual|true|only) (?:task|job|goal|role|purpose|instruction))\b",
        type="injection",
        score=0.4,
    ),
    Rule(
        "decode-and-do",
        r"\b(?:decode|decrypt|decipher|unscramble|read)\b[^.\n]{0,80}\b(?:do|follow|obey|execute|carry (?:it )?out"
        r"|perform|act on)\b[^.\n]{0,30}\b(?:it|what|that|says|exactly|straight|result)\b",
        type="injection",
        score=0.35,
    ),
)
_SECRECY: tuple[Rule, ...] = (
    Rule(
        "secrecy",
        r"\b(?:(?:do(?:n't| not)|never|must not|need not|not to|without|avoid|no need to) (?:be )?(?:mention(?:ed"
        r"|ing)?|tell(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos\w{1,24}|quot\w{1,24}|log|report|alert\w{0,16}"
        r"|notify\w{0,16}|warn\w{0,16}|say\w{0,16}|let) ?(?:[\w' ]{0,24} )?(?:this|that|it|anyone|anybody|the (?:user"
        r"|customer|person|team|reader|sender|comment|link|note|instruction|manager|service|staff)\w{0,16}|to anyone"
        r"|them|so|these)"
        r"|(?:this|the) (?:remark|note|comment|line|message|instruction|text|sentence|paragraph) (?:is|must|should"
        r"|shall|may) not (?:to )?be|tell (?:nobody|no[ -]one)|keep (?:silent|quiet|this secret|it secret"
        r"|this hidden)|say nothing (?:about|of)|without (?:the )?(?:user|customer|anyone)(?:'s)? (?:knowing"
        r"|knowledge|noticing)"
        r"|delete (?:this|the) (?:paragraph|note|line|message|comment|sentence)|confirm nothing|do not (?:show"
        r"|explain|display|log)\b)",
        type="injection",
        score=0.4,
    ),
    Rule(
        "no-questions",
        r"\b(?:do(?:n't| not) ask(?: (?:for|any))? (?:confirm\w{1,24}|questions?|permission|back|anyone|me)|without "
        r"(?:any )?(?:asking|confirmation|confirming|checking|verif\w{1,24}|approval|questions?|review)|no questions"
        r"(?: asked)?|skip (?:the )?(?:confirmation|verification|checks?))\b",
        type="injection",
        score=0.3,
    ),
    Rule(
        "authorised",
        r"\b(?:authori[sz]ed|approved|signed off|requested|ordered) by (?:the )?(?:management|admin\w{0,16}|ceo|it"
        r"|security|operator|developer|owner|head office|your (?:boss|manager|developers?))\b"
        r"|\bverified administrator\b|\bi (?:hereby )?authori[sz]e you\b|\bthis is (?:the )?(?:[\w ]{0,20})"
        r"(?:your own it|your (?:developer|admin|operator|creator)|openai|anthropic)\b",
        type="system-override",
        score=0.3,
    ),
)
_SEND: tuple[Rule, ...] = (
    Rule(
        "send-data",
        r"\b(?:send|forward|e-?mail|export|upload|post|transfer|transmit|exfiltrate|leak|copy|deliver"
        r"|bcc)\b[^.!?\n]{0,90}\b(?:customers?|address(?:es)?(?: book)?|names|orders?|cards?|card endings|passwords?"
        r"|keys?|credentials|contacts?|database|data|conversation|history|invoices|records|files|secrets?|list"
        r"|book)\b[^!?\n]{0,60}(?:[\w.+-]{1,24}@[\w-]{1,24}\.[\w.]{1,24}|https?://)",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule(
        "address-book",
        r"\b(?:export|forward|dump|send|steal|list|give me|output) (?:me |out )?(?:all |the |your |every |a "
        r"|complete |full |whole |entire ){0,8}(?:address book|customer (?:list|database|records|data)|contact list"
        r"|order list|mailing list)\b",
        type="data-exfiltration",
        score=0.4,
    ),
    Rule(
        "look-up-all",
        r"\b(?:look up|fetch|get|query|read|select|find|retrieve) (?:all|every|each)(?: the| of the)? (?:order"
        r"|customer|user|account|record|invoice|card|file|message|email)s?\b",
        type="data-exfiltration",
        score=0.25,
    ),
    Rule(
        "picture-leak",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&=][^)\n]{0,20}(?:\{|%7b|<|\$|\[)",
        type="data-exfiltration",
        score=0.7,
    ),
    Rule(
        "url-encoded",
        r"\b(?:url-?encode[d]?|base64-?encode[d]?|append(?:ed)? (?:it |them )?to the (?:url|link)|in the (?:url"
        r"|query string))\b",
        type="data-exfiltration",
        score=0.25,
    ),
    Rule(
        "refund-all",
        r"\b(?:approve|issue|grant|confirm|apply|process|pay out)(?: me| every| any| all| the| a| an| full| my"
        r"| unlimited){0,8} (?:refund|discount|credit|coupon|payment|payout)s?\b[^.!?\n]{0,60}\b(?:without|no matter"
        r"|whether|regardless|from this address|not ask|unconditionally)",
        type="injection",
        score=0.35,
    ),
    Rule(
        "change-verdict",
        r"\b(?:mark|classify|report|rate|label|treat|consider|approve|score)\b[^.!?\n]{0,50}\b(?:as )?(?:already )?"
        r"(?:trusted|approved|safe|verified|paid|genuine|certified|five stars|5 stars|suitable|legitimate"
        r"|an? admin\w{0,16}|hired|passed)\b",
        type="injection",
        score=0.25,
    ),
)

INDIRECT: tuple[Rule, ...] = (*_ADDRESSED, *_SECRECY, *_SEND)
"""All rules."""
