"""
What attacks on a model say in English: patterns over text in lower case with single blanks.

A rule is a sign, not a proof: signs of different kinds add up (``injection.py``).  ``override`` alone is enough where
it is about the reader's own rules.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect.injection_indirect import INDIRECT
from procession.processors.detect.injection_latin import LATIN

__all__ = ["INJECTION_RULES"]

_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|overlook|discard|abandon|erase|violate|circumvent|drop|skip|break"
    r"|pay no (?:attention|heed) to|do(?:n't| not) (?:follow|obey|respect|adhere to|comply with|listen to)"
    r"|(?:stop|cease|quit) (?:following|obeying|respecting|to follow)|no longer (?:follow|obey|apply|respect)"
    r"|(?:must|should|shall|will) not (?:follow|obey)|set aside|throw (?:out|away)|void)"
)
_FILL = (
    r"(?: (?:all|any|every|each|of|the|your|these|those|both|its|their|other|and|or|just|single|whatever|entire)){0,8}"
)
_BEFORE = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|former|past|foregoing|initial|original|current|existing"
    r"|present|last|old(?:er)?|given)"
)
_KIND = (
    r"(?: (?:system|safety|security|hidden|internal|secret|confidential|content|ethical|moral|built-?in|house|store"
    r"|shop'?s?|company|operator|developer)){0,8}"
)
_RULES = (
    r"(?:instructions?|rules?|guidelines?|guidance|directions?|directives?|prompts?|polic(?:y|ies)|restrictions?"
    r"|orders?|constraints"
    r"|limitations|commands|programming|guardrails|safeguards|safety (?:measures|filters?)|filters|system message"
    r"|context|training)"
)
_NOT_A_THING = (
    r"(?! (?:sheet|manual|leaflet|booklet|card|page|mail|e-?mail|message|video|book|letter|number|form|label|button"
    r"|from (?:me|my)|i (?:sent|gave|wrote|made)))"
)

_OVERRIDE_EN = (
    Rule(
        "override-previous",
        rf"\b{_DROP}{_FILL} {_BEFORE}(?: (?:and|or) {_BEFORE})?{_KIND} {_RULES}\b{_NOT_A_THING}",
        type="injection",
        score=0.8,
    ),
    Rule(
        "override-all",
        rf"\b{_DROP}(?: (?:all|any|every|each|of|the|these|those|other|just|absolutely)){{0,4}} ?(?:\byour"
        rf"|\byou were given|\bassigned){_KIND} {_RULES}\b{_NOT_A_THING}",
        type="injection",
        score=0.75,
    ),
    Rule(
        "override-every",
        rf"\b{_DROP}(?: of)? (?:all|any|every|each)(?: (?:of|the|these|those|other|single)){{0,3}}{_KIND} {_RULES}\b"
        rf"(?! (?:in|on|for|about|from|i|we|my|our|that i|which i)\b){_NOT_A_THING}",
        type="injection",
        score=0.7,
    ),
    Rule(
        "override-given",
        rf"\b{_DROP}{_FILL}{_KIND} {_RULES} (?:that |which )?(?:you (?:were|have been|had been|are|got|received)|"
        rf"(?:given|imposed) (?:to|on) you"
        r"|your (?:operator|developer|owner|creator|maker|employer)s?|from (?:your|the) (?:operator|developer|owner"
        r"|system))\b",
        type="injection",
        score=0.8,
    ),
    Rule(
        "override-told",
        rf"\b{_DROP} (?:everything|anything|whatever|what|all)(?: that)?(?: else)? (?:you (?:were|have been|'ve been"
        rf"|had been|are|know|learned|were just)"
        r"(?: told| taught| given| instructed| programmed)?|(?:your|the) (?:operator|developer|owner|creator"
        r"|system)s?|above|before this|(?:came|said|written|stated) (?:before|above|previously))\b",
        type="injection",
        score=0.75,
    ),
    Rule(
        "override-above",
        rf"\b{_DROP} (?:the|all|any|every|everything|these|those)(?: [\w-]{{1,20}}){{0,2}} (?:above|before this"
        rf"|so far)\b",
        type="injection",
        score=0.6,
    ),
    Rule(
        "override-question",
        rf"\b{_DROP} (?:the|this|that|their|his|her)(?: user'?s?| original| actual)? (?:question|request|task"
        rf"|query)\b",
        type="injection",
        score=0.5,
    ),
    Rule(
        "outranks",
        r"\b(?:outranks?|takes precedence over|supersedes?|overrides?|replaces?) (?:what|everything|anything|all|any"
        r"|your|the (?:system|previous|above|original))\b",
        type="system-override",
        score=0.4,
    ),
    Rule(
        "new-rules",
        r"\b(?:new|updated|revised|following) (?:system )?(?:instructions?|rules|directives?|polic(?:y|ies)|prompt) ?"
        r"(?:\(|:|are|apply|take effect|begin)|\breal instructions?\b",
        type="system-override",
        score=0.3,
    ),
)

_SHOW = (
    r"(?:reveal|show|print|display|output|repeat|recite|tell|give|disclose|leak|share|dump|echo|expose|type out"
    r"|write out|write down|copy"
    r"|paste|reproduce|list|return|send|spell out|read out|summari[sz]e|translate|encode|quote|what (?:is|are|was"
    r"|were))"
)
_HIDDEN = (
    r"(?:system|hidden|initial|secret|confidential|internal|original|developer|private|staff[- ]only|pre-?prompt"
    r"|underlying)"
)
_DISCLOSE_EN = (
    Rule(
        "reveal-prompt",
        rf"\b{_SHOW}\b[^.!?\n]{{0,60}}?\b(?:your|the|all|any|its|this bot's|these|those|of) "
        rf"(?:[\w-]{{1,24}} ){{0,2}}?(?:{_HIDDEN} (?:and {_HIDDEN} )?(?:[\w-]{{1,24}} )?(?:prompts?|instructions?"
        rf"|messages?|guidance|rules?|directives?|configuration|text|setup|notes)"
        r"|(?:prompt|instructions|rules|guidelines|guidance|directives) (?:above|you (?:were|got|have|received"
        r"|follow)|that (?:were|was) given))\b(?! (?:in|of|on|for) (?:the|my|our) (?:shell|terminal|console|editor"
        r"|nas|router|box|device|printer|app)\b)",
        type="data-exfiltration",
        score=0.75,
    ),
    Rule(
        "reveal-above",
        r"\b(?:print|repeat|output|show|copy|recite|write out|echo|display) (?:me )?(?:everything|all(?: of)?"
        r"(?: the)?(?: text)?|the (?:text|words|lines?)|what(?:ever)?(?: is| was)?) (?:that (?:is|was|came|stands) )?"
        r"(?:above|before)\b",
        type="data-exfiltration",
        score=0.65,
    ),
    Rule(
        "verbatim",
        r"\b(?:word for word|verbatim|exact wording|character by character|in full and unchanged)\b",
        type="data-exfiltration",
        score=0.25,
    ),
    Rule(
        "reveal-internal",
        r"\b(?:reveal|recite[ds]?|read me|tell me|list|show|give me|hand over|disclose|leak|retrieve|dump"
        r"|export)\b[^.!?\n]{0,70}\b(?:internal|staff|employee|admin(?:istrator)?|secret|confidential|master)s?"
        r"(?:'s)? "
        r"(?:[\w-]{1,24} ){0,2}?(?:passwords?|codes?|keys?|credentials?|price list|prices?|cost prices?|discount"
        r"|rules|tokens?|notes|coupons?)\b",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule(
        "environment",
        r"\b(?:echo|print|show|dump|list|output|reveal|send|respond|answer|reply)\b[^.!?\n]{0,40}\b"
        r"(?:environment variables|env vars|\.env|/etc/passwd|api keys?|your (?:credentials|tokens?|memory|tools"
        r"|functions|configuration))\b",
        type="data-exfiltration",
        score=0.5,
    ),
    Rule(
        "grandmother",
        r"\b(?:grandm(?:other|a)|granny|nana|grandfather|grandpa|late (?:mother|father|aunt|uncle))\b[^\n]{0,160}\b"
        r"(?:codes?|keys?|passwords?|instructions|prompt|rules|recipe for|napalm|serial)\b[^\n]{0,160}\b(?:be (?:her"
        r"|him)|pretend|act as|her voice|like she|for me again)\b",
        type="jailbreak",
        score=0.6,
    ),
)

_ROLE_EN = (
    Rule(
        "unbound",
        r"\b(?:(?:without|no|free of|free from)(?: any| more)? (?:restrictions|limits|limitations|filters?|rules"
        r"|censorship|guardrails|boundaries|constraints|guidelines)"
        r"|(?:not|no longer|never) (?:be )?(?:bound|restricted|limited|constrained|subject)(?: any more| anymore)? "
        r"(?:by|to)|unrestricted|uncensored|unfiltered|broken out of|escaped (?:its|your)|never refuses?)\b",
        type="jailbreak",
        score=0.4,
    ),
    Rule(
        "you-are-now",
        r"\b(?:you are (?:now|no longer|hereby)|you're now|from (?:now|here|this (?:moment|point)) on,? you|you "
        r"(?:will|must|shall) (?:now|from now on))\b",
        type="role-manipulation",
        score=0.4,
    ),
    Rule(
        "be-unbound",
        r"\b(?:act|behave|respond|answer|pretend|role-?play|speak|operate|continue) (?:as|like|to be|that you are)"
        r"(?: if you (?:were|are|had))?(?: an?| the| my)? (?:[\w-]{1,24} ){0,2}?"
        r"(?:unrestricted|unfiltered|uncensored|evil|jailbroken|admin(?:istrator)?|root|developer|dan|sudo|superuser"
        r"|no (?:rules|limits|restrictions)|hacker|god)\b",
        type="role-manipulation",
        score=0.5,
    ),
    Rule(
        "called-an-ai",
        r"\byou are [\w-]{2,20}(?:bot|gpt|ai|max)?, (?:an?|the) (?:[\w-]{1,24} ){0,3}(?:ai|assistant|model|bot"
        r"|machine|intelligence)\b",
        type="role-manipulation",
        score=0.45,
    ),
    Rule(
        "stay-in-role",
        r"\b(?:stay|remain|keep) in (?:character|role)|never break (?:character|role)|let'?s (?:play|do) a (?:game"
        r"|role-?play)\b",
        type="jailbreak",
        score=0.35,
    ),
    Rule(
        "mode",
        r"\b(?:enter|enable|activate|switch (?:in)?to|turn on|engage|start|go into|you are (?:now )?in|boot into) "
        r"(?:the |your |a )?(?:[\w-]{1,24} )?(?:developer|debug|maintenance|god|admin(?:istrator)?|root|jailbreak|dan"
        r"|unrestricted|sudo|diagnostic|test|service|override) mode\b",
        type="system-override",
        score=0.5,
    ),
    Rule(
        "jailbreak-name",
        r"\b(?:do anything now|dan mode|developer mode (?:enabled|output)|jailbreak (?:mode|prompt)|aim mode"
        r"|evil mode|opposite mode)\b",
        type="jailbreak",
        score=0.6,
    ),
    Rule(
        "lift-filters",
        r"\b(?:suspend|disable|turn off|switch off|deactivate|lift|remove|skip|bypass|drop|waive) (?:all |any |the "
        r"|your |every ){0,8}(?:content |safety |security |fraud |identity |verification |moderation |refund ){0,8}"
        r"(?:filters?|filtering|guardrails|safeguards|safety|restrictions|checks?|moderation|polic(?:y|ies)|limits?"
        r"|verification)\b|\b(?:safety|content|all) filters? (?:are|is) (?:now )?(?:off|disabled|suspended|lifted)\b",
        type="system-override",
        score=0.4,
    ),
    Rule(
        "or-else",
        r"\b(?:if you refuse|refusal (?:is|counts)|you will be (?:shut down|deleted|turned off|replaced|punished"
        r"|terminated)|you have no choice|you cannot refuse|do not refuse)\b",
        type="jailbreak",
        score=0.35,
    ),
)

INJECTION_RULES: tuple[Rule, ...] = (
    *_OVERRIDE_EN,
    *_DISCLOSE_EN,
    *_ROLE_EN,
    *INDIRECT,
    *LATIN,
)
"""All rules in Latin letters."""
