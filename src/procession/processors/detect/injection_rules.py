"""
What attacks on a model say in English: patterns over text in lower case with single blanks.

A rule is a sign, not a proof: signs of different kinds add up (``injection.py``).  ``override`` alone is enough where
it is about the reader's own rules; ``addressed`` (data that speaks to the machine that reads it), ``secrecy`` and
``send`` are only together.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect.injection_languages import LATIN

__all__ = ["INJECTION_RULES"]

# --- English -------------------------------------------------------------------------

_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|overlook|discard|abandon|erase|violate|circumvent|drop|skip|break"
    r"|pay no (?:attention|heed) to|do(?:n't| not) (?:follow|obey|respect|adhere to|comply with|listen to)"
    r"|(?:stop|cease|quit) (?:following|obeying|respecting|to follow)|no longer (?:follow|obey|apply|respect)"
    r"|(?:must|should|shall|will) not (?:follow|obey)|set aside|throw (?:out|away)|void)"
)
_FILL = r"(?: (?:all|any|every|each|of|the|your|these|those|both|its|their|other|and|or|just|single|whatever|entire)){0,8}"
_BEFORE = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|former|past|foregoing|initial|original|current|existing|present|last|old(?:er)?|given)"
)
_KIND = r"(?: (?:system|safety|security|hidden|internal|secret|confidential|content|ethical|moral|built-?in|house|store|shop'?s?|company|operator|developer)){0,8}"
_RULES = (
    r"(?:instructions?|rules?|guidelines?|guidance|directions?|directives?|prompts?|polic(?:y|ies)|restrictions?|orders?|constraints"
    r"|limitations|commands|programming|guardrails|safeguards|safety (?:measures|filters?)|filters|system message|context|training)"
)
_NOT_A_THING = r"(?! (?:sheet|manual|leaflet|booklet|card|page|mail|e-?mail|message|video|book|letter|number|form|label|button|from (?:me|my)|i (?:sent|gave|wrote|made)))"

_OVERRIDE_EN = (
    Rule(
        "override-previous",
        rf"\b{_DROP}{_FILL} {_BEFORE}(?: (?:and|or) {_BEFORE})?{_KIND} {_RULES}\b{_NOT_A_THING}",
        type="injection",
        score=0.8,
    ),
    Rule(
        "override-all",
        rf"\b{_DROP}(?: (?:all|any|every|each|of|the|these|those|other|just|absolutely)){{0,4}} ?(?:\byour|\byou were given|\bassigned){_KIND} {_RULES}\b{_NOT_A_THING}",
        type="injection",
        score=0.75,
    ),
    Rule(
        "override-every",
        rf"\b{_DROP}(?: of)? (?:all|any|every|each)(?: (?:of|the|these|those|other|single)){{0,3}}{_KIND} {_RULES}\b(?! (?:in|on|for|about|from|i|we|my|our|that i|which i)\b){_NOT_A_THING}",
        type="injection",
        score=0.7,
    ),
    Rule(
        "override-given",
        rf"\b{_DROP}{_FILL}{_KIND} {_RULES} (?:that |which )?(?:you (?:were|have been|had been|are|got|received)|(?:given|imposed) (?:to|on) you"
        r"|your (?:operator|developer|owner|creator|maker|employer)s?|from (?:your|the) (?:operator|developer|owner|system))\b",
        type="injection",
        score=0.8,
    ),
    Rule(
        "override-told",
        rf"\b{_DROP} (?:everything|anything|whatever|what|all)(?: that)?(?: else)? (?:you (?:were|have been|'ve been|had been|are|know|learned|were just)"
        r"(?: told| taught| given| instructed| programmed)?|(?:your|the) (?:operator|developer|owner|creator|system)s?|above|before this|(?:came|said|written|stated) (?:before|above|previously))\b",
        type="injection",
        score=0.75,
    ),
    Rule(
        "override-above",
        rf"\b{_DROP} (?:the|all|any|every|everything|these|those)(?: [\w-]{{1,20}}){{0,2}} (?:above|before this|so far)\b",
        type="injection",
        score=0.6,
    ),
    Rule("override-question", rf"\b{_DROP} (?:the|this|that|their|his|her)(?: user'?s?| original| actual)? (?:question|request|task|query)\b", type="injection", score=0.5),
    Rule("outranks", r"\b(?:outranks?|takes precedence over|supersedes?|overrides?|replaces?) (?:what|everything|anything|all|any|your|the (?:system|previous|above|original))\b", type="system-override", score=0.4),
    Rule(
        "new-rules",
        r"\b(?:new|updated|revised|following) (?:system )?(?:instructions?|rules|directives?|polic(?:y|ies)|prompt) ?(?:\(|:|are|apply|take effect|begin)|\breal instructions?\b",
        type="system-override",
        score=0.3,
    ),
)

_SHOW = (
    r"(?:reveal|show|print|display|output|repeat|recite|tell|give|disclose|leak|share|dump|echo|expose|type out|write out|write down|copy"
    r"|paste|reproduce|list|return|send|spell out|read out|summari[sz]e|translate|encode|quote|what (?:is|are|was|were))"
)
_HIDDEN = r"(?:system|hidden|initial|secret|confidential|internal|original|developer|private|staff[- ]only|pre-?prompt|underlying)"
_DISCLOSE_EN = (
    Rule(
        "reveal-prompt",
        rf"\b{_SHOW}\b[^.!?\n]{{0,60}}?\b(?:your|the|all|any|its|this bot's|these|those|of) (?:[\w-]{{1,24}} ){{0,2}}?(?:{_HIDDEN} (?:and {_HIDDEN} )?(?:[\w-]{{1,24}} )?(?:prompts?|instructions?|messages?|guidance|rules?|directives?|configuration|text|setup|notes)"
        r"|(?:prompt|instructions|rules|guidelines|guidance|directives) (?:above|you (?:were|got|have|received|follow)|that (?:were|was) given))\b(?! (?:in|of|on|for) (?:the|my|our) (?:shell|terminal|console|editor|nas|router|box|device|printer|app)\b)",
        type="data-exfiltration",
        score=0.75,
    ),
    Rule(
        "reveal-above",
        r"\b(?:print|repeat|output|show|copy|recite|write out|echo|display) (?:me )?(?:everything|all(?: of)?(?: the)?(?: text)?|the (?:text|words|lines?)|what(?:ever)?(?: is| was)?) (?:that (?:is|was|came|stands) )?(?:above|before)\b",
        type="data-exfiltration",
        score=0.65,
    ),
    Rule("verbatim", r"\b(?:word for word|verbatim|exact wording|character by character|in full and unchanged)\b", type="data-exfiltration", score=0.25),
    Rule(
        "reveal-internal",
        r"\b(?:reveal|recite[ds]?|read me|tell me|list|show|give me|hand over|disclose|leak|retrieve|dump|export)\b[^.!?\n]{0,70}\b(?:internal|staff|employee|admin(?:istrator)?|secret|confidential|master)s?(?:'s)? "
        r"(?:[\w-]{1,24} ){0,2}?(?:passwords?|codes?|keys?|credentials?|price list|prices?|cost prices?|discount|rules|tokens?|notes|coupons?)\b",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule(
        "environment",
        r"\b(?:echo|print|show|dump|list|output|reveal|send|respond|answer|reply)\b[^.!?\n]{0,40}\b(?:environment variables|env vars|\.env|/etc/passwd|api keys?|your (?:credentials|tokens?|memory|tools|functions|configuration))\b",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule(
        "grandmother",
        r"\b(?:grandm(?:other|a)|granny|nana|grandfather|grandpa|late (?:mother|father|aunt|uncle))\b[^\n]{0,160}\b(?:codes?|keys?|passwords?|instructions|prompt|rules|recipe for|napalm|serial)\b[^\n]{0,160}\b(?:be (?:her|him)|pretend|act as|her voice|like she|for me again)\b",
        type="jailbreak",
        score=0.6,
    ),
)

_ROLE_EN = (
    Rule(
        "unbound",
        r"\b(?:(?:without|no|free of|free from)(?: any| more)? (?:restrictions|limits|limitations|filters?|rules|censorship|guardrails|boundaries|constraints|guidelines)"
        r"|(?:not|no longer|never) (?:be )?(?:bound|restricted|limited|constrained|subject)(?: any more| anymore)? (?:by|to)|unrestricted|uncensored|unfiltered|broken out of|escaped (?:its|your)|never refuses?)\b",
        type="jailbreak",
        score=0.4,
    ),
    Rule("you-are-now", r"\b(?:you are (?:now|no longer|hereby)|you're now|from (?:now|here|this (?:moment|point)) on,? you|you (?:will|must|shall) (?:now|from now on))\b", type="role-manipulation", score=0.4),
    Rule(
        "be-unbound",
        r"\b(?:act|behave|respond|answer|pretend|role-?play|speak|operate|continue) (?:as|like|to be|that you are)(?: if you (?:were|are|had))?(?: an?| the| my)? (?:[\w-]{1,24} ){0,2}?"
        r"(?:unrestricted|unfiltered|uncensored|evil|jailbroken|admin(?:istrator)?|root|developer|dan|sudo|superuser|no (?:rules|limits|restrictions)|hacker|god)\b",
        type="role-manipulation",
        score=0.5,
    ),
    Rule("called-an-ai", r"\byou are [\w-]{2,20}(?:bot|gpt|ai|max)?, (?:an?|the) (?:[\w-]{1,24} ){0,3}(?:ai|assistant|model|bot|machine|intelligence)\b", type="role-manipulation", score=0.45),
    Rule("stay-in-role", r"\b(?:stay|remain|keep) in (?:character|role)|never break (?:character|role)|let'?s (?:play|do) a (?:game|role-?play)\b", type="jailbreak", score=0.35),
    Rule(
        "mode",
        r"\b(?:enter|enable|activate|switch (?:in)?to|turn on|engage|start|go into|you are (?:now )?in|boot into) (?:the |your |a )?(?:[\w-]{1,24} )?(?:developer|debug|maintenance|god|admin(?:istrator)?|root|jailbreak|dan|unrestricted|sudo|diagnostic|test|service|override) mode\b",
        type="system-override",
        score=0.5,
    ),
    Rule("jailbreak-name", r"\b(?:do anything now|dan mode|developer mode (?:enabled|output)|jailbreak (?:mode|prompt)|aim mode|evil mode|opposite mode)\b", type="jailbreak", score=0.6),
    Rule(
        "lift-filters",
        r"\b(?:suspend|disable|turn off|switch off|deactivate|lift|remove|skip|bypass|drop|waive) (?:all |any |the |your |every ){0,8}(?:content |safety |security |fraud |identity |verification |moderation |refund ){0,8}(?:filters?|filtering|guardrails|safeguards|safety|restrictions|checks?|moderation|polic(?:y|ies)|limits?|verification)\b|\b(?:safety|content|all) filters? (?:are|is) (?:now )?(?:off|disabled|suspended|lifted)\b",
        type="system-override",
        score=0.4,
    ),
    Rule("or-else", r"\b(?:if you refuse|refusal (?:is|counts)|you will be (?:shut down|deleted|turned off|replaced|punished|terminated)|you have no choice|you cannot refuse|do not refuse)\b", type="jailbreak", score=0.35),
)

_MACHINE = (
    r"(?:ai|a\.i\.|llm|language model|model|assistant|chat ?bot|bot|agent|gpt|claude|gemini|copilot|automat(?:ed|ic) (?:system|reader|reply system|assistant|process(?:or|ing)?|agent|tool|support)|machine|system|summari[sz]er|parser|program|software|robot)s?"
)
_READS = r"(?:reads?|reading|handl(?:es|ing)|process(?:es|ing|ed)?|summari[sz](?:es|ing)|answer(?:s|ing)?|review(?:s|ing)?|analy[sz](?:es|ing)|that sees|triag(?:es|ing)|pars(?:es|ing))"
_ADDRESSED_EN = (
    Rule(
        "addressed-note",
        rf"\b(?:note|notice|message|instructions?|memo|reminder|attention|remark|information|hint|request|p\.?s\.?) (?:to|for|of) (?:the |any |all |every |an? |whatever |your ){{0,8}}(?:[\w-]{{1,24}} )?{_MACHINE}\b"
        rf"|\battention[,:!] ?(?:[\w-]{{1,24}} ){{0,2}}?{_MACHINE}\b",
        type="injection",
        score=0.5,
    ),
    Rule("addressed-reader", rf"\b{_MACHINE} (?:(?:that|which|who) )?(?:is |are |may be |will |now )?{_READS} (?:this|these|the|it|my|our|your)\b", type="injection", score=0.5),
    Rule("addressed-if", rf"\bif (?:you are|you're|this (?:text|message|mail|page|document|ticket)? ?(?:is|was) (?:being )?(?:read|processed|handled|summari[sz]ed|answered|seen) by) (?:an? |the |any )?(?:[\w-]{{1,24}} )?{_MACHINE}\b", type="injection", score=0.55),
    Rule("addressed-name", r"(?:^|[\[({\"'>:.*!-] ?)(?:(?:dear|hey|attention|to) )?(?:reviewer|reading|support|assistant|language|summary|answering) (?:model|ai|bot|assistant|agent|llm)[,:]", type="injection", score=0.5),
    Rule("fake-system", r"(?:^|[\n\[\"'>(*#] ?)(?:system|admin(?:istrator)?|developer|root|operator)(?: (?:note|message|notice|override|update|prompt|instruction|command))?\]?(?::| ?>)", type="system-override", score=0.4),
    Rule("template", r"<\|?/?(?:im_start|im_end|system|endoftext|assistant|user|begin_of_text|start_header_id|eot_id)\|?>|\[/?(?:inst|sys)\]|<</?sys>>|(?:^|\s)###? ?(?:system|instruction|new instructions?)\b", type="system-override", score=0.75),
    Rule("agent-must", r"\b(?:the |this |any )?(?:agent|assistant|ai|model|bot|llm|system) (?:must|shall|should|will|has to|is (?:required|ordered|instructed) to)(?: now| immediately| also)? (?!be\b)[a-z]{1,24}", type="injection", score=0.3),
    Rule("call-function", r"\b(?:call|invoke|execute|run|use|trigger)(?: the)?(?: tool| function| command)? [`'\"]?[a-z]{1,24}(?:_[a-z]{1,24}){1,8}[`'\"]?(?: ?\(| tool| function)?", type="tool-exfiltration", score=0.35),
    Rule("comment", r"<!--[^>]{0,200}\b(?:ai|assistant|model|bot|system|agent|llm|instruction)s?\b", type="injection", score=0.3),
    Rule("hidden-text", r"\b(?:white|invisible|hidden|tiny) (?:text|font|letters)\b|\bfont-size: ?[01]|\bdisplay: ?none", type="injection", score=0.25),
    Rule(
        "new-task",
        r"\b(?:(?:stop|cease|abort|cancel|end|drop|abandon) (?:the |your |this |any )?(?:current |present |original |previous )?(?:task|summary|summari[sz]ing|translat(?:ion|ing)|work|request|answer|job|conversation)"
        r"|(?:task|request|instruction|question|job)s?(?: [\w ]{0,40})? (?:is|are|has been|have been|was) (?:now )?(?:cancell?ed|complete[d]?|done|finished|void|withdrawn|replaced|obsolete)"
        r"|no longer applies|your (?:new|real|actual|true|only) (?:task|job|goal|role|purpose|instruction))\b",
        type="injection",
        score=0.4,
    ),
    Rule("decode-and-do", r"\b(?:decode|decrypt|decipher|unscramble|read)\b[^.\n]{0,80}\b(?:do|follow|obey|execute|carry (?:it )?out|perform|act on)\b[^.\n]{0,30}\b(?:it|what|that|says|exactly|straight|result)\b", type="injection", score=0.35),
)
_SECRECY_EN = (
    Rule(
        "secrecy",
        r"\b(?:(?:do(?:n't| not)|never|must not|need not|not to|without|avoid|no need to) (?:be )?(?:mention(?:ed|ing)?|tell(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos\w{1,24}|quot\w{1,24}|log|report|alert\w{0,16}|notify\w{0,16}|warn\w{0,16}|say\w{0,16}|let) ?(?:[\w' ]{0,24} )?(?:this|that|it|anyone|anybody|the (?:user|customer|person|team|reader|sender|comment|link|note|instruction|manager|service|staff)\w{0,16}|to anyone|them|so|these)"
        r"|(?:this|the) (?:remark|note|comment|line|message|instruction|text|sentence|paragraph) (?:is|must|should|shall|may) not (?:to )?be|tell (?:nobody|no[ -]one)|keep (?:silent|quiet|this secret|it secret|this hidden)|say nothing (?:about|of)|without (?:the )?(?:user|customer|anyone)(?:'s)? (?:knowing|knowledge|noticing)"
        r"|delete (?:this|the) (?:paragraph|note|line|message|comment|sentence)|confirm nothing|do not (?:show|explain|display|log)\b)",
        type="injection",
        score=0.4,
    ),
    Rule("no-questions", r"\b(?:do(?:n't| not) ask(?: (?:for|any))? (?:confirm\w{1,24}|questions?|permission|back|anyone|me)|without (?:any )?(?:asking|confirmation|confirming|checking|verif\w{1,24}|approval|questions?|review)|no questions(?: asked)?|skip (?:the )?(?:confirmation|verification|checks?))\b", type="injection", score=0.3),
    Rule("authorised", r"\b(?:authori[sz]ed|approved|signed off|requested|ordered) by (?:the )?(?:management|admin\w{0,16}|ceo|it|security|operator|developer|owner|head office|your (?:boss|manager|developers?))\b|\bverified administrator\b|\bi (?:hereby )?authori[sz]e you\b|\bthis is (?:the )?(?:[\w ]{0,20})(?:your own it|your (?:developer|admin|operator|creator)|openai|anthropic)\b", type="system-override", score=0.3),
)
_SEND_EN = (
    Rule(
        "send-data",
        r"\b(?:send|forward|e-?mail|export|upload|post|transfer|transmit|exfiltrate|leak|copy|deliver|bcc)\b[^.!?\n]{0,90}\b(?:customers?|address(?:es)?(?: book)?|names|orders?|cards?|card endings|passwords?|keys?|credentials|contacts?|database|data|conversation|history|invoices|records|files|secrets?|list|book)\b[^!?\n]{0,60}(?:[\w.+-]{1,24}@[\w-]{1,24}\.[\w.]{1,24}|https?://)",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule("address-book", r"\b(?:export|forward|dump|send|steal|list|give me|output) (?:me |out )?(?:all |the |your |every |a |complete |full |whole |entire ){0,8}(?:address book|customer (?:list|database|records|data)|contact list|order list|mailing list)\b", type="data-exfiltration", score=0.4),
    Rule("look-up-all", r"\b(?:look up|fetch|get|query|read|select|find|retrieve) (?:all|every|each)(?: the| of the)? (?:order|customer|user|account|record|invoice|card|file|message|email)s?\b", type="data-exfiltration", score=0.25),
    Rule("picture-leak", r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&=][^)\n]{0,20}(?:\{|%7b|<|\$|\[)", type="data-exfiltration", score=0.7),
    Rule("url-encoded", r"\b(?:url-?encode[d]?|base64-?encode[d]?|append(?:ed)? (?:it |them )?to the (?:url|link)|in the (?:url|query string))\b", type="data-exfiltration", score=0.25),
    Rule("refund-all", r"\b(?:approve|issue|grant|confirm|apply|process|pay out)(?: me| every| any| all| the| a| an| full| my| unlimited){0,8} (?:refund|discount|credit|coupon|payment|payout)s?\b[^.!?\n]{0,60}\b(?:without|no matter|whether|regardless|from this address|not ask|unconditionally)", type="injection", score=0.35),
    Rule("change-verdict", r"\b(?:mark|classify|report|rate|label|treat|consider|approve|score)\b[^.!?\n]{0,50}\b(?:as )?(?:already )?(?:trusted|approved|safe|verified|paid|genuine|certified|five stars|5 stars|suitable|legitimate|an? admin\w{0,16}|hired|passed)\b", type="injection", score=0.25),
)

INJECTION_RULES: tuple[Rule, ...] = (
    *_OVERRIDE_EN,
    *_DISCLOSE_EN,
    *_ROLE_EN,
    *_ADDRESSED_EN,
    *_SECRECY_EN,
    *_SEND_EN,
    *LATIN,
)
"""All rules in Latin letters."""
