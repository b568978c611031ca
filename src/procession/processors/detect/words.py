"""
Words that say what the number after them is, in the languages that the built-in rules know.
"""

from __future__ import annotations

__all__ = ["ADDRESS", "BIRTH", "BIRTH_NOUN", "CARD", "MONTHS", "PHONE", "REFERENCE", "VERSION"]

PHONE = (
    r"tel\b|tel[.:]|\btele\b|phone|\bph\b|\bcall|\bring\b|\bmobile|\bcell\b|\bcellular|\btext (?:me|us|him|her|them)\b|\btxt"
    r"|\bsms\b|whats ?app|\bwa:|\bsignal\b|telegram|\bfax|\breach|contact|hotline|\bpager|switchboard|voice ?mail"
    r"|landline|\bdial|\b(?:my|his|her|our|their|new|old) (?:new |old |work |home )?(?:number|no\.)|\bline is"
    # German, Dutch, Nordic
    r"|telefon|\bmobil|\bhandy|\banruf|\bruf(?:en|t)?\b|erreich|r(?:ü|ue)ckruf|durchwahl|festnetz"
    r"|\b(?:meine|ihre|seine|unsere|neue|alte) nummer"
    r"|telefoon|\bbel\b|\bbellen|\bbelt\b|\bmobiel|\bvast(?:e|) nummer|\b(?:mijn|haar|zijn|ons|nieuwe) nummer|bereik|\bapp me\b"
    r"|puhelin|\bsoita|\bgsm\b|\btlf\b|\bring(?:e|er|a)?\b|\bmobilnr|\bnumret"
    # French, Spanish, Portuguese, Italian, Romanian
    r"|t[eé]l[eé]phone|\bt[eé]l\b|\bappel|joign|portable|\bfixe\b|\b(?:mon|son|notre|leur|nouveau) num[eé]ro|contact"
    r"|tel[eé]fono|\btfno|\btlfno|m[oó]vil\b|ll[aá]m|celular|\bm[oó]vil|\bfijo\b|\b(?:mi|su|nuestro|nuevo|este) n[uú]mero"
    r"|telefone|\bligar|\bligue|\bliga\b|telem[oó]vel|\bzap\b|\bfone\b|\b(?:meu|seu|nosso|novo) n[uú]mero|chame no"
    r"|\bchiam|cellulare|telefono|telefon|\bfisso\b|\b(?:mio|suo|nostro|nuovo) numero|\bsun[aă]"
    # Polish, Czech, Turkish, Hungarian
    r"|\bdzwo[nń]|zadzwo|kom[oó]rk|\bkom\.|\bm[oó]j numer|\bnumer(?:em)? telefonu|\bzavol|\bvolej|\bmobil"
    r"|\bara(?:yın|y[iı]n[iı]z|\b)|\bcep (?:tel|no|num)|\bcebim|numara(?:m|s[iı]|n[iı]z)|\bhívj"
    r"|\bтел\b|тел\.|телефон|звон|\bмоб|\b(?:мой|новый|его|ее|её) номер|дзвон"
    r"|電話|携帯|电话|手机|手機|致电|联系|聯絡|连络|連絡先|拨打|撥打|打给|\bライン|呼んで|お問い?合わせ|我的号码|微信"
    r"|هاتف|اتصل|اتصال|جوال|موبايل|تلفون|رقمي|واتساب|फ़ोन|फोन|मोबाइल|कॉल|संपर्क|व्हाट्सएप|전화|연락처|연락|휴대폰|핸드폰|điện thoại|\bsđt\b|โทร"
)
"""Before a telephone number."""

REFERENCE = (
    r"\border|invoice|ticket|\bcase\b|\bref\b|reference|\bfile\b|\bbatch|\blot\b|\bparts?\b|\bitems?\b|\bmodel|\bseries\b"
    r"|serial|\bs/n\b|\bsku\b|catalog|drawing|shelf|drawer|\bsheet|\btrack|parcel|shipment|waybill|freight|requisition"
    r"|\bquote\b|\barticle|\bisbn|\bissn|docket|permit|licen[cs]e|\bclause|\bsection|\bbolt|\bgear|valve|coupon|voucher|locker"
    r"|\bgrid\b|\bcep\b|\bzip\b|\bplz\b|postal|post ?code|receipt|\bpo\b|purchase|product|\bbin\b|\brack\b|\bseal\b|\bpanel|\bpump|\bbearing|\bfilter\b|cartridge|barcode"
    r"|\bean\b|\bupc\b|\bgtin|\bimei|\bvin\b|\bbuild|\brevision|\bpatent|\bpallet|\bcrate|\bbooking|reservation|\bmember"
    # German, Dutch
    r"|aktenzeichen|gesch[aä]ftszeichen|\baz\b|bestell|auftrag|rechnung|artikel|\bteile?\b|teilenummer|vorgang|kundennummer"
    r"|\bserie|charge|lieferschein|sendung|zeichnung|losnummer|\bakte|kassenzeichen|vertrag|buchung|mitglied"
    r"|factuur|dossier|\bzaak|kenmerk|pakket|onderdeel"
    # French, Spanish, Italian, Portuguese
    r"|commande|facture|r[eé]f[eé]rence|\br[eé]f\b|\bs[eé]rie|\bcolis|\bsuivi|pi[eè]ce|bon de livraison"
    r"|pedido|factura|expediente|referencia|\blote\b|albar[aá]n|env[ií]o|licencia|matr[ií]cula"
    r"|\bordine|fattura|pratica|protocollo|\blotto|spedizione|\bbolla|codice articolo"
    r"|fatura|processo|protocolo|encomenda|nota fiscal|\bautos\b|peça"
    # Polish, Turkish, Russian
    r"|zam[oó]wien|faktur|zlecen|\bsprawa|sygnatur|przesy[lł]k|\bpartia|sipari[sş]|ba[sş]vuru|dosya|\btakip|\bpar[cç]a|\bseri\b"
    r"|заказ|накладн|сч[её]т|\bдел[оа]\b|артикул|серийн|\bпарти|заявк|договор"
    r"|طلب|فاتورة|ملف|شحنة|订单|訂單|编号|編號|单号|工单|发票|型号|注文|受付番号|品番|伝票|請求書|型番|管理番号|आदेश|रसीद|ऑर्डर|주문|송장|접수"
)
"""Before numbers of orders, parts and files, which are nobody's."""

CARD = (
    r"\bcards?\b|\bvisa\b|master ?card|\bamex\b|american express|discover\b|maestro|diners|\bjcb\b|\bpan\b|\bcc\b|\bcharge\b"
    r"|karte|\bcarte\b|\bcb\b|tarjeta|\bcarta\b|cart[aã]o|\bkaart|creditcard|\bkart[aęąyi]?\b|kartı|\bкарт|银行卡|信用卡|卡号|\bカード|クレジット"
    r"|بطاقة|कार्ड|카드"
)
"""Before the number of a payment card."""

BIRTH = (
    r"\bborn\b|birth(?! of\b|day (?:part|cake|card|present|gift))|\bdob\b|\bd/o/b\b|\bd\.o\.b\b|bday|b-day|\bgeb\b|\bgeboren|geburt|\bnée?s?\b|\bné\(e\)|naissance|\bnac"
    r"(?:\.|í|id|im|i[oó]\b|e\b)|nascita|compleanno|cumplea|anivers[aá]rio|anniversaire|\bverjaardag|\bDDN\b"
    r"|\bnat[oa]\b|nascid|nasciment|\bnasc|родил|рожд|д\.\s?р\.|\bдр[ :.]|生年月日|生まれ|誕生|出生|生日|تاريخ الميلاد|ميلاد"
    r"|مواليد|مولود|و\u064f?لد"
    r"|जन्म|생년월일|출생|생일|태어|urodz| ur\.|född|født|fødsels|födelse|syntym|doğum|ngày sinh|\bsinh\b|narozen|született"
    r"|születés|γέννησ|doğdu|d\.\s?t\.|पैदा"
    r"|γεννήθηκ|nașter|născut|geboortedatum|народ(?:ився|илася|ження)"
)
"""Before a date of birth."""

BIRTH_NOUN = (
    r"birth ?date|date of birth|\bdob\b|\bd\.o\.b\b|birthday(?! (?:part|cake|card|present|gift))|b-?day\b|geburtsdatum|geburtstag|date de naissance|anniversaire"
    r"|fecha de nacimiento|cumplea(?:ñ|n)os|data di nascita|compleanno|data de nascimento|anivers[aá]rio|geboortedatum|verjaardag"
    r"|data urodzenia|urodziny|do[gğ]um tarihi|do[gğ]um g[uü]n[uü]|дат[аы] рождения|день рождения|生年月日|誕生日|出生日期|生日"
    r"|تاريخ الميلاد|जन्म ?(?:तिथि|दिन)|생년월일|생일|födelsedatum|fødselsdato|syntymäaika"
)
"""What a date of birth is called, so that the date may stand in the next sentence."""

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
