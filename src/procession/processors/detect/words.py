"""
Words that say what the number after them is, in the languages that the built-in rules know.
"""

from __future__ import annotations

__all__ = ["ADDRESS", "BIRTH", "MONTHS", "PHONE", "VERSION"]

PHONE = (
    r"tel\b|tel[.:]|phone|\bcall|\bring\b|\bmobile|\bcell\b|\btext me|\btxt|\bsms\b|whatsapp|\bfax|\breach|contact"
    r"|landline|\bdial"
    r"|telefon|\bmobil|\bhandy|anruf|erreich|r(?:ü|ue)ckruf|durchwahl|t[eé]l[eé]phone|\bappel|joign|portable"
    r"|tel[eé]fono|m[oó]vil\b|ll[aá]m|celular|telefone|\bligar|\bligue|\bliga\b|chiam|cellulare|telefono|telefoon"
    r"|\bbel\b"
    r"|puhelin|\bgsm\b|\btlf\b|тел\b|тел\.|телефон|звон|\bмоб|電話|携帯|电话|電話|手机|手機|致电|联系|拨打|打给"
    r"|هاتف|اتصال|جوال|موبايل|फ़ोन|फोन|मोबाइल|전화|연락처|휴대폰|điện thoại|\bsđt\b|โทร"
)
"""Before a telephone number."""

BIRTH = (
    r"\bborn\b|birth|\bdob\b|\bd\.o\.b\b|bday|b-day|\bgeb\b|\bgeboren|geburt|\bnée?s?\b|\bné\(e\)|naissance|\bnac"
    r"(?:\.|í|id|im)|nascita"
    r"|\bnat[oa]\b|nascid|nasciment|\bnasc\b|родил|рожд|д\.\s?р\.|\bдр[ :.]|生年月日|生まれ|誕生|出生|生日|تاريخ الميلاد|ميلاد"
    r"|مواليد|ولد"
    r"|जन्म|생년월일|출생|생일|태어|urodz| ur\.|född|født|fødsels|födelse|syntym|doğum|ngày sinh|\bsinh\b|narozen|született"
    r"|születés|γέννησ"
    r"|γεννήθηκ|nașter|născut|geboortedatum|народ(?:ився|илася|ження)"
)
"""Before a date of birth."""

MONTHS = (
    # English, German, French, Spanish, Italian, Portuguese, Dutch
    r"jan(?:uary|uar|vier|eiro|uari)?|feb(?:ruary|ruar|ruari|braio|rero)?|f[eé]vr(?:ier)?|fevereiro|m[aä]rz|march|mar"
    r"(?:s|zo|ço|ch)?|maart"
    r"|apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|ma[iy]|mayo|maio|maggio|mei|jun[ei]?|juin|junio|junho|giugno|jul[yi]?"
    r"|juil(?:let)?"
    r"|julio|julho|luglio|aug(?:ust|ustus)?|ao[uû]t|ago(?:sto)?|sep(?:t(?:ember|embre|iembre)?)?|settembre|setembro"
    r"|o[ck]t(?:ober|obre|ubre)?"
    r"|out(?:ubro)?|ottobre|nov(?:ember|embre|iembre|embro)?|de[cz](?:ember|embre|embro)?|d[eé]c(?:embre)?|dic"
    r"(?:iembre|embre)?"
    r"|j[aä]nner|gennaio|enero|januar[iy]?"
    # Russian and Ukrainian, Polish, Turkish
    r"|январ[яь]|феврал[яь]|марта?|апрел[яь]|ма[яй]|июн[яь]|июл[яь]|августа?|сентябр[яь]|октябр[яь]|ноябр[яь]"
    r"|декабр[яь]"
    r"|січня|лютого|березня|квітня|травня|червня|липня|серпня|вересня|жовтня|листопада|грудня"
    r"|stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia"
    r"|ocak|şubat|mart|nisan|mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım|aralık"
    # Arabic, Hindi
    r"|يناير|فبراير|مارس|أبريل|ابريل|مايو|يونيو|يوليو|أغسطس|اغسطس|سبتمبر|أكتوبر|اكتوبر|نوفمبر|ديسمبر"
    r"|जनवरी|फ़रवरी|फरवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|सितम्बर|अक्टूबर|नवंबर|नवम्बर|दिसंबर|दिसम्बर"
)
"""Names of months, short and long."""

VERSION = (
    r"version|\bver\b|\bv\b|firmware|driver|\bbuild|release|software|package|\bsdk\b|\bupdate|upgrad|downgrad|roll"
    r"(?:ing)? back|configurator"
    r"|\bapp\b|patch|paket|treiber|versi[oóò]n|versione|controlador|programa|pilote|logiciel|paquet|wersj|sürüm|版本|固件"
    r"|驱动|バージョン"
    r"|ファームウェア|верси|прошивк|драйвер|сборк|إصدار|الإصدار|संस्करण|버전|펌웨어|\brev\b|revision|\bchapter|section|§|clause"
    r"|article|\bpart"
)
"""Before four numbers that are a version, not an address."""

ADDRESS = (
    r"\bip\b|\bips\b|ipv4|\baddr|\bhost|server|\bping|\bdns\b|gateway|router|connect|\bfrom\b|\bto\b|\bpeer|client"
    r"|listen|\bbind|subnet|netz|adresse"
    r"|dirección|indirizzo|endereço|адрес|接続|地址|アドレス|عنوان|\blog|login|source|remote|@|\bvia\b|://"
)
"""Before four small numbers that are an address after all."""
