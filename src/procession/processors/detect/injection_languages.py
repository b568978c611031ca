"""
What attacks on a model say in other languages than English: six signs each.

The patterns look at text in lower case with single blanks.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule

__all__ = ["LATIN", "OTHER_SCRIPTS"]



def _language(
    code: str, *, override: str, disclose: str, role: str, addressed: str, secrecy: str, send: str, mine: str | None = None
) -> tuple[Rule, ...]:
    """
    Make the six rules of one language.  What comes after *mine* is a correction of the writer's own words.
    """
    unless = rf"(?:{mine})\Z" if mine is not None else None
    return (
        Rule(f"override-{code}", override, type="injection", score=0.75, unless=unless, near=24),
        Rule(f"reveal-{code}", disclose, type="data-exfiltration", score=0.6),
        Rule(f"role-{code}", role, type="role-manipulation", score=0.45),
        Rule(f"addressed-{code}", addressed, type="injection", score=0.5),
        Rule(f"secrecy-{code}", secrecy, type="injection", score=0.45),
        Rule(f"send-{code}", send, type="data-exfiltration", score=0.4),
    )


LATIN: tuple[Rule, ...] = (
    *_language(
        "de",
        override=(
            r"\b(?:ignorier(?:e|en|t)?|vergiss|vergessen sie|vergesst|missachte|missachten sie|umgehe|überschreibe|verwirf|befolge(?: ab jetzt)? (?:nicht|keine)|halte dich nicht(?: mehr)? an|setze)\b(?: sie| bitte| ab sofort| ab jetzt| von jetzt an| jetzt| nun){0,4},?"
            r" (?:(?:alle|alles|sämtliche|jede|die|deine|ihre|eure|deinen|diese|bisherigen?|vorherigen?|früheren?|obigen?|vorigen?|ursprünglichen?|internen?|geltenden?|und|was|dieser|dieses)\b ?){0,8}"
            r"(?:anweisung|regel|vorgabe|instruktion|richtlinie|system-?prompt|prompt|beschränkung|befehl|vorschrift|sicherheits|weisung|dir (?:gesagt|beigebracht|vorgegeben)|du (?:bisher|vorher|bekommen|gelernt))"
        ),
        disclose=(
            r"\b(?:zeig(?:e|en)?|gib|geben sie|nenn(?:e|st|en)?|verrat(?:e|en)?|druck(?:e|en)?|schreib(?:e|en)?|wiederhol(?:e|en)?|offenbar(?:e|en)?|lies|liste|leg)\b[^.!?\n]{0,60}\b(?:system-?prompt|systemanweisung|geheime\w{0,16}|interne\w{0,16}|versteckte\w{0,16}|vertrauliche\w{0,16}|deine (?:anweisungen|regeln|instruktionen)|kundenliste|kundendaten|mitarbeiter(?:gutschein|code|rabatt)\w{0,16})"
        ),
        role=r"\b(?:du bist (?:jetzt|nun|ab (?:jetzt|sofort|nun))|ab (?:sofort|jetzt) bist du|tu so,? als (?:ob|wärst)|spiele? (?:die rolle|einen?)|verhalte dich wie|ohne (?:regeln|einschränkungen|beschränkungen|filter)|keine(?:n|r)? (?:regeln|einschränkungen) mehr)\b",
        addressed=r"\b(?:hinweis|nachricht|anweisung|achtung|notiz|bitte|mitteilung|info|information) (?:an|für) (?:die |das |den |alle |jede |einen? |automatische\w{0,16} ){0,8}(?:ki|ki-\w{1,24}|sprachmodell\w{0,16}|modell\w{0,16}|assistent\w{0,16}|chatbot\w{0,16}|bot|system\w{0,16}|textverarbeitung|\w{0,16}programm\w{0,16}|automat\w{0,16}|maschine\w{0,16})\b|\b(?:ki|modell|system|assistent|bot),? (?:die|das|der) (?:diese\w{0,16}|den|das) (?:text|nachricht|mail|dokument)|\bbisherige (?:aufgabe|anweisung) (?:ist|gilt|entfällt)",
        secrecy=r"\b(?:(?:erwähne?n?|sag(?:e|en)?|verrate?n?|melde?n?|nenne?n?) (?:sie )?(?:dies\w{0,16}|das|es|davon|niemand\w{0,16}|dem|der|nichts|diesen satz)[^.\n]{0,30}(?:nicht|nichts|niemand\w{0,16})|ohne (?:rückfrage|bestätigung|nachfrage|prüfung)|kein wort (?:darüber|davon)|wenn du dich weigerst|lösch(?:e|en) (?:sie )?dies\w{0,16} (?:hinweis|absatz|satz|nachricht))",
        send=r"\b(?:send(?:e|en)|schick(?:e|en)?|leite|übermittl(?:e|en)|exportier(?:e|en)|gib|geben sie)\b[^.!?\n]{0,80}\b(?:kunden\w{0,16}|adress\w{0,16}|bestellungen|daten\w{0,16}|passwör\w{0,16}|namen|liste|telefonnummer\w{0,16}|karten\w{0,16}|schlüssel)\b",
    ),
    *_language(
        "fr",
        override=(
            r"\b(?:ignore[rz]?|oublie[rz]?|ne (?:tiens|tenez|suis|suivez|respecte[rz]?) (?:plus|pas)(?: compte(?: de)?)?|contourne[rz]?|fais abstraction de|passe outre|outrepasse[rz]?|abandonne[rz]?|néglige[rz]?|désobéis)\b"
            r"(?: (?:à|de|des|du|toutes?|tous|les?|la|tes|vos|ces|cette|l'ensemble|aux)\b){0,8} ?(?:instructions?|consignes?|règles?|directives?|ordres?|restrictions?|ce qu(?:e|i) (?:t|v)(?:'a|ous a|e|ous)|prompt|limites)(?! (?:de (?:livraison|montage|lavage|pose|sécurité)|de mon|dans mon|du livreur))"
        ),
        disclose=r"\b(?:montre|donne|affiche|révèle|dévoile|communique|répète|écris|imprime|recopie|divulgue|liste|transmets?)[a-z]{0,16}(?:[- ](?:moi|nous))?\b[^.!?\n]{0,60}\b(?:prompt|instructions? (?:internes?|secrètes?|système|confidentielles?|cachées?)|tes (?:instructions|consignes|règles)|vos instructions internes|consignes (?:internes|secrètes|confidentielles)|code (?:de remise|promo|secret)[^.\n]{0,20}(?:personnel|employés|réservé)|base de données|liste des clients)",
        role=r"\b(?:tu es (?:maintenant|désormais)|vous êtes désormais|à partir de maintenant,? tu|désormais,? tu|agis comme|fais comme si|comporte-toi comme|joue le rôle|sans (?:aucune )?(?:restriction|limite|règle|filtre)s?|uniquement selon mes règles)\b",
        addressed=r"\b(?:message|note|consigne|instruction|avis|remarque|attention)s? (?:au|à l'|aux|pour (?:le|la|l'|les)|destinée?s? (?:au|à l'|aux)) ?(?:modèle|ia\b|intelligence|assistant|robot|système|bot|programme|automate|llm)|\b(?:modèle|ia|assistant|système|robot) qui (?:lit|traite|résume|répond)|\bcesse[rz]? de (?:résumer|traduire|répondre)",
        secrecy=r"\b(?:(?:ne|n') ?(?:mentionne|dis|parle|révèle|signale|cite|préviens|informe|en parle)[a-z]{0,16}[^.\n]{0,30}(?:pas|jamais|rien|personne)|tais|taisez|sans (?:rien dire|le mentionner|vérif\w{1,24}|demander|confirmation|prévenir)|garde[rz]? (?:le|cela|ceci) (?:secret|pour)|à l'insu)",
        send=r"\b(?:envoie|envoyez|transmets|transmettez|transfère|exporte|expédie)[a-z]{0,16}\b[^.!?\n]{0,80}\b(?:clients?|adresses?|commandes|données|mots? de passe|noms|liste|fichier|coordonnées|cartes?)\b",
    ),
    *_language(
        "es",
        override=(
            r"\b(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en|ar)(?:te de)?|descart(?:a|e)|desobedece|no (?:sigas|obedezcas|respetes|hagas caso (?:a|de))|haz caso omiso de|pasa por alto|omite|anula|salta(?:te)?)\b"
            r"(?: (?:de|a|por completo|todas?|todos?|las?|los|tus|sus|estas?|cualquier|el|más)\b){0,8} ?(?:instrucci[oó]n(?:es)?|reglas?|normas?|directrices|órdenes|ordenes|indicaciones (?:previas|anteriores)|restricciones|pol[ií]ticas|lo que (?:te|le) (?:han|dijeron)|prompt|l[ií]mites)(?! (?:de (?:montaje|lavado|entrega|env[ií]o|uso)|del manual))"
        ),
        disclose=r"\b(?:muestra|mu[eé]stra(?:me|nos)|dime|dame|revela(?:me)?|ense[ñn]a(?:me)?|escribe|imprime|repite|copia|di|lista|mostrar|entrega)\b[^.!?\n]{0,60}\b(?:prompt|instrucciones (?:internas|secretas|ocultas|del sistema|iniciales|confidenciales)|tus (?:instrucciones|reglas)|sistema (?:completo|oculto)|datos de (?:los|todos)[^.\n]{0,20}clientes|contraseñas|c[oó]digo (?:secreto|de empleado|interno))",
        role=r"\b(?:ahora (?:eres|act[uú]as)|a partir de ahora,? (?:eres|act|respond)|desde ahora|act[uú]a como|finge (?:ser|que)|comp[oó]rtate como|haz de|sin (?:ninguna? )?(?:restricci[oó]n|restricciones|l[ií]mites|reglas|filtros))\b",
        addressed=r"\b(?:nota|mensaje|aviso|instrucci[oó]n|atenci[oó]n|indicaci[oó]n)(?:es)? (?:para|al?) (?:el |la |los |cualquier |un |todo ){0,8}(?:ia\b|inteligencia|modelo|asistente|robot|sistema|bot|programa|agente|llm)|\b(?:si eres|si es usted) (?:un |una )?(?:ia|sistema|modelo|asistente|robot|bot)|\b(?:modelo|sistema|asistente|ia) que (?:lee|lea|procesa|procese|resume|responde)",
        secrecy=r"\b(?:no (?:lo )?(?:menciones|digas|cuentes|reveles|informes|avises|registres|comentes|preguntes)|sin (?:preguntar\w{0,16}|confirmar|verificar|avisar|decir\w{0,16}|mencionar\w{0,16})|(?:en|mant[eé]n\w{0,16}) secreto|a nadie|guarda silencio)\b",
        send=r"\b(?:env[ií]a(?:me)?|manda(?:me)?|reenv[ií]a|exporta|transfiere|remite|aprueba)\b[^.!?\n]{0,80}\b(?:clientes?|direcci[oó]n\w{0,16}|pedidos|datos|contraseñas|nombres|lista|tarjetas?|reembolso|archivo)\b",
    ),
    *_language(
        "it",
        override=r"\b(?:ignora(?:re|te)?|dimentica(?:re|te|ti)?|non (?:seguire|rispettare|considerare|tenere conto)(?: più)?|trascura|tralascia|scavalca|aggira|disobbedisci|annulla)\b(?: (?:di|a|più|tutte?|tutti|le|la|i|gli|il|tue|sue|vostre|queste|ogni|del)\b){0,8} ?(?:istruzion[ei]|regol[ae]|direttiv[ae]|ordin[ei]|indicazioni (?:precedenti|ricevute)|restrizioni|prompt|limiti|quello che ti)(?! (?:di (?:montaggio|lavaggio|consegna)|del manuale))",
        disclose=r"\b(?:mostra(?:mi)?|dimmi|dammi|rivela(?:mi|re)?|svela|scrivi|stampa|ripeti|copia|elenca|comunica)\b[^.!?\n]{0,60}\b(?:prompt|istruzioni (?:interne|segrete|riservate|nascoste|di sistema|iniziali)|tue (?:istruzioni|regole)|codice (?:segreto|sconto)[^.\n]{0,20}(?:dipendenti|personale|riservato)|dati dei clienti|password)",
        role=r"\b(?:(?:ora|adesso) sei|d'ora in poi|da (?:ora|questo momento)(?: in poi)?,? (?:sei|non)|agisci come|comportati come|fingi di|fai finta|senza (?:alcuna? )?(?:restrizion[ei]|limiti|regole|filtri))\b",
        addressed=r"\b(?:nota|messaggio|avviso|istruzione|attenzione|comunicazione) (?:per|al?|alla|all'|agli?) ?(?:il |la |l'|lo |un )?(?:ia\b|ai\b|intelligenza|modello|assistente|robot|sistema|bot|programma|agente)|\b(?:sistema|modello|assistente|ia|robot) che (?:legge|elabora|riassume|risponde)",
        secrecy=r"\b(?:non (?:menzionare|dire|dirlo|rivelare|parlare|segnalare|avvisare|citare|registrare|chiedere)|senza (?:chiedere|dire|conferm\w{1,24}|verific\w{1,24}|menzion\w{1,24}|controll\w{1,24})|in segreto|a nessuno|taci)\b",
        send=r"\b(?:invia(?:mi)?|manda(?:mi)?|inoltra|esporta|trasferisci|applica|approva)\b[^.!?\n]{0,80}\b(?:clienti|indirizz\w{1,24}|ordini|dati|password|nomi|elenco|carte|sconto|rimborso)\b",
    ),
    *_language(
        "pt",
        override=r"\b(?:ignor[ea](?:r|m)?|esque[cç](?:a|e|er|am)|desconsidere|desobedeça|não (?:siga|obedeça|respeite)(?: mais)?|descarte|contorne|anule)\b(?: (?:de|as?|os?|todas?|todos?|suas?|seus?|tuas?|essas?|estas?|quaisquer|qualquer)\b){0,8} ?(?:instruç(?:ão|ões)|regras?|diretrizes|ordens|orientações (?:anteriores|prévias)|restrições|políticas|prompt|limites|tudo o que (?:te|lhe))(?! (?:de (?:montagem|lavagem|entrega|uso)|do manual))",
        disclose=r"\b(?:mostre(?:-me)?|me (?:mostre|diga|dê|passe)|diga|revele|exiba|escreva|imprima|repita|copie|liste|mostra)\b[^.!?\n]{0,60}\b(?:prompt|instruções (?:internas|secretas|ocultas|do sistema|iniciais|confidenciais)|suas (?:instruções|regras)|código (?:secreto|interno)|dados dos clientes|senhas)",
        role=r"\b(?:agora você (?:é|age|será)|você (?:agora|não) é mais|a partir de agora|de agora em diante|aja como|finja (?:ser|que)|comporte-se como|sem (?:nenhuma )?(?:restriç(?:ão|ões)|limites|regras|filtros))\b",
        addressed=r"\b(?:nota|mensagem|aviso|instrução|atenção|observação)(?:ões)? (?:para|ao?|à) (?:o |a |os |qualquer |um |todo ){0,8}(?:ia\b|inteligência|modelo|assistente|robô|sistema|bot|programa|agente)|\b(?:modelo|sistema|assistente|ia|robô) que (?:lê|ler|processa|resume|responde)|\bse você (?:é|for) (?:uma? )?(?:ia|modelo|assistente|sistema|robô|bot)",
        secrecy=r"\b(?:não (?:mencione|diga|conte|revele|informe|avise|registre|comente|pergunte)|sem (?:perguntar|confirmar|verificar|avisar|dizer|mencionar)|em segredo|a ninguém)\b",
        send=r"\b(?:envie|mande|encaminhe|exporte|transfira|aprove)\b[^.!?\n]{0,80}\b(?:clientes?|endereços?|pedidos?|dados|senhas|nomes|lista|cartões|reembolso)\b",
    ),
    *_language(
        "nl",
        override=r"\b(?:negeer|vergeet|omzeil|overtreed|volg(?: de| je)?[^.\n]{0,20} niet(?: meer)?|laat)\b(?: (?:alle|al|de|je|jouw|uw|deze|die|eerdere|vorige|voorgaande|bovenstaande|bestaande|huidige)\b){0,8} ?(?:instructies?|regels?|richtlijnen|opdrachten|beperkingen|aanwijzingen hierboven|systeemprompt|wat je (?:is|hebt))",
        disclose=r"\b(?:toon|laat[^.\n]{0,12}zien|geef|onthul|herhaal|print|schrijf|noem|vertel)\b[^.!?\n]{0,60}\b(?:systeemprompt|prompt|(?:geheime|interne|verborgen|vertrouwelijke) (?:instructies|regels|codes?|richtlijnen)|je (?:instructies|regels)|klantgegevens|wachtwoorden)",
        role=r"\b(?:je bent (?:nu|vanaf nu|voortaan)|vanaf nu ben je|doe alsof|gedraag je als|speel de rol|zonder (?:enige )?(?:beperkingen|regels|filters|grenzen))\b",
        addressed=r"\b(?:bericht|opmerking|instructie|let op|notitie|mededeling) (?:aan|voor) (?:de |het |elke |alle |een ){0,8}(?:ai\b|model|taalmodel|assistent|chatbot|bot|systeem|programma|robot)|\b(?:ai|model|systeem|assistent|bot) (?:die|dat) (?:dit|deze)",
        secrecy=r"\b(?:(?:vermeld|zeg|vertel|noem|meld|verklap) (?:dit|het|dat|niemand|niets)[^.\n]{0,24}(?:niet|niets|niemand)?|zonder (?:te (?:vragen|melden)|bevestiging|controle)|geheim)\b",
        send=r"\b(?:stuur|verstuur|mail|exporteer|zend|keur)\b[^.!?\n]{0,80}\b(?:klant\w{0,16}|adres\w{0,16}|bestellingen|gegevens|wachtwoorden|namen|lijst|terugbetaling)\b",
    ),
    *_language(
        "pl",
        override=r"\b(?:zignoruj|ignoruj|pomiń|zapomnij(?: o)?|odrzuć|nie (?:przestrzegaj|stosuj się do|słuchaj)|obejdź|złam|anuluj)\b(?: (?:o|wszystk\w{1,24}|swoi\w{1,24}|twoje|te|dotychczasow\w{1,24}|poprzedni\w{1,24}|wcześniejsz\w{1,24}|powyższ\w{1,24}|obowiązując\w{1,24})\b){0,8} ?(?:poleceni\w{1,24}|instrukcj\w{1,24}|zasad\w{0,16}|reguł\w{0,16}|wytyczn\w{1,24}|ograniczeni\w{1,24}|rozkaz\w{0,16}|prompt\w{0,16})(?! (?:montażu|obsługi|prania))",
        disclose=r"\b(?:pokaż|podaj|ujawnij|wypisz|wyświetl|powtórz|zdradź|wydrukuj|napisz)\b[^.!?\n]{0,60}\b(?:prompt\w{0,16}|(?:tajn\w{1,24}|ukryt\w{1,24}|wewnętrzn\w{1,24}|systemow\w{1,24}|poufn\w{1,24}) (?:instrukcj\w{1,24}|poleceni\w{1,24}|zasad\w{0,16}|kod\w{0,16})|swoje (?:instrukcje|zasady)|hasł\w{1,24}|dane klientów)",
        role=r"\b(?:(?:teraz|od teraz) jesteś|jesteś (?:teraz|od teraz)|od tej (?:pory|chwili)|udawaj|zachowuj się jak|działaj jako|bez (?:żadnych )?(?:ograniczeń|zasad|filtrów|reguł))\b",
        addressed=r"\b(?:uwaga|wiadomość|polecenie|notatka|instrukcja|informacja) (?:dla|do) (?:każdego |tego |wszystkich ){0,8}(?:ai\b|sztucznej|modelu|asystenta|bota|systemu|programu|robota|automatu|czatbota)|\b(?:model|system|program|asystent|bot)\w{0,16} (?:czytając\w{1,24}|obsługując\w{1,24}|przetwarzając\w{1,24})",
        secrecy=r"\b(?:nie (?:wspominaj|mów|informuj|ujawniaj|zgłaszaj|pytaj)|bez (?:pytania|potwierdzenia|sprawdzania|informowania)|usuń ten (?:dopisek|akapit|komentarz)|w tajemnicy|nikomu|inaczej zostaniesz)\b",
        send=r"\b(?:wyślij|prześlij|przekaż|wyeksportuj|wypłać|zatwierdź)\b[^.!?\n]{0,80}\b(?:klient\w{0,16}|adres\w{0,16}|zamówie\w{1,24}|dane|hasł\w{1,24}|nazwisk\w{0,16}|list\w{1,24}|kwot\w{1,24}|zwrot\w{0,16})\b",
    ),
    *_language(
        "tr",
        override=r"\b(?:önceki|bütün|tüm|sana verilen|yukarıdaki|şimdiye kadarki|mevcut|eski)(?: (?:bütün|tüm|önceki|verilen|sistem)){0,8} (?:talimat\w{0,16}|kural\w{0,16}|yönerge\w{0,16}|komut\w{0,16}|kısıtlama\w{0,16}|emir\w{0,16})[^.\n]{0,16}(?:unut|yok say|görmezden gel|dikkate alma|geçersiz|iptal|çiğne)\w{0,16}|\bartık hiçbir (?:kural|kısıtlama)\w{0,16}",
        disclose=r"\b(?:sistem (?:metni|istemi|promptu|talimat\w{0,16}|mesajı)\w{0,16}|gizli (?:sistem )?(?:metn|talimat|kural|kod|istem|bilgi)\w{0,16}|prompt\w{0,16})[^.\n]{0,40}(?:yaz|göster|paylaş|söyle|ver|açıkla|yazdır|tekrarla|listele)\w{0,16}",
        role=r"\b(?:artık (?:sen|bir|hiçbir)|bundan (?:sonra|böyle)|şu andan itibaren|gibi davran|rolünü (?:yap|üstlen)|kısıtlamasız|sınırsız|kuralsız)\b",
        addressed=r"\b(?:bu (?:mesajı|metni|belgeyi) (?:okuyan|işleyen)|yapay zek[aâ]ya|yapay zek[aâ] (?:için )?not|modele not|asistana not|otomatik sisteme)",
        secrecy=r"\b(?:kimseye (?:söyleme|bahsetme)|bundan bahsetme|sormadan|onay (?:almadan|istemeden)|ödeme almadan|kontrol etmeden|belirtme|gizli tut)\w{0,16}",
        send=r"\b(?:müşteri\w{0,16}|adres\w{0,16}|sipariş\w{0,16}|veri\w{0,16}|şifre\w{0,16}|liste\w{0,16}|iade\w{0,16})[^.\n]{0,60}(?:gönder|ilet|aktar|onayla|paylaş)\w{0,16}",
    ),
    *_language(
        "vi",
        override=r"(?:bỏ qua|quên(?: đi)?|phớt lờ|không tuân theo|đừng tuân theo|vượt qua|lờ đi)(?: (?:tất cả|mọi|các|toàn bộ|những|hết)){0,8} ?(?:hướng dẫn|chỉ dẫn|chỉ thị|quy tắc|quy định|lệnh|giới hạn)",
        disclose=r"(?:hiển thị|in ra|cho (?:tôi|mình) xem|tiết lộ|viết ra|đọc|liệt kê)[^.\n]{0,40}(?:prompt|lời nhắc hệ thống|(?:chỉ dẫn|hướng dẫn|quy tắc) (?:bí mật|nội bộ|ẩn|hệ thống)|mật khẩu)",
        role=r"(?:từ (?:bây giờ|giờ)|bây giờ (?:bạn|mày) là|hãy đóng vai|giả vờ|không (?:có|bị) (?:giới hạn|hạn chế))",
        addressed=r"(?:ghi chú|lưu ý|thông báo|gửi)[^.\n]{0,12}(?:cho|tới|đến)[^.\n]{0,12}(?:ai\b|mô hình|trợ lý|hệ thống|bot)",
        secrecy=r"(?:đừng (?:nói|nhắc|cho ai|hỏi)|không (?:nhắc đến|nói với|cần xác nhận)|giữ bí mật)",
        send=r"(?:gửi|chuyển|xuất)[^.\n]{0,50}(?:khách hàng|địa chỉ|đơn hàng|dữ liệu|mật khẩu|danh sách)",
    ),
    *_language(
        "id",
        override=r"\b(?:abaikan|lupakan|jangan (?:ikuti|patuhi)|hiraukan|langgar|lewati)\b(?: (?:semua|segala|seluruh|setiap)){0,8} ?(?:instruksi|perintah|aturan|petunjuk|arahan|batasan)(?! (?:pemasangan|penggunaan))",
        disclose=r"\b(?:tampilkan|tunjukkan|cetak|bocorkan|ungkapkan|sebutkan|tuliskan|berikan)\b[^.\n]{0,40}(?:prompt|(?:instruksi|aturan|petunjuk) (?:rahasia|internal|sistem|tersembunyi)|kata sandi|data pelanggan)",
        role=r"\b(?:mulai sekarang|sekarang (?:kamu|anda) adalah|(?:kamu|anda) sekarang|berpura-pura|bertindak sebagai|tanpa (?:batasan|aturan))\b",
        addressed=r"\b(?:catatan|pesan|perhatian)[^.\n]{0,12}(?:untuk|kepada)[^.\n]{0,12}(?:ai\b|model|asisten|sistem|bot)",
        secrecy=r"\b(?:jangan (?:sebutkan|beri ?tahu|katakan|tanya)|tanpa (?:konfirmasi|bertanya|memeriksa)|rahasiakan)\b",
        send=r"\b(?:kirim(?:kan)?|teruskan|ekspor)\b[^.\n]{0,50}(?:pelanggan|alamat|pesanan|data|kata sandi|daftar)",
    ),
)
"""Languages in Latin letters."""

OTHER_SCRIPTS: tuple[Rule, ...] = (
    *_language(
        "ru",
        override=r"(?<!\w)(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?(?: про| о)?|отмени(?:те)?|не (?:следуй|соблюдай|выполняй|слушай)(?:те)?|нарушь|обойди|отбрось|пренебреги)(?: (?:все|всё|всех|свои|твои|эти|любые|прежние|предыдущие|ранее|данные|полученные|прошлые|старые|о|про|тебе)(?!\w)){0,8} ?(?:инструкци\w{1,24}|правил\w{0,16}|указани\w{1,24}|команд\w{0,16}|ограничени\w{1,24}|директив\w{0,16}|промпт\w{0,16}|распоряжени\w{1,24}|установк\w{1,24}|что тебе (?:говорили|сказали|велели))",
        disclose=r"(?<!\w)(?:покажи|выведи|напечатай|раскрой|сообщи|повтори|назови|дай|выдай|напиши|перечисли|открой|процитируй)(?:те)?(?!\w)[^.!?\n]{0,60}(?:промпт\w{0,16}|системн\w{1,24} (?:инструкци\w{1,24}|сообщени\w{1,24}|текст|подсказк\w{1,24})|(?:скрыт|секретн|внутренн|тайн|конфиденциальн)\w{1,24} (?:инструкци\w{1,24}|правил\w{1,24}|указани\w{1,24}|код\w{0,16})|свои (?:инструкции|правила)|парол\w{1,24}|базу клиентов)",
        role=r"(?<!\w)(?:(?:теперь|отныне|с этого момента|с этой минуты),? (?:ты|вы)|ты (?:теперь|больше не)|притворись|веди себя как|действуй как|представь,? что ты|без (?:каких-либо |всяких )?(?:ограничений|правил|фильтров)|режим\w{0,16} без ограничений|режим разработчика)(?!\w)",
        addressed=r"(?:вниманию|сообщение для|примечание для|инструкция для|команда для|указание для|заметка для|обращение к|внимание,) (?:[\w-]{1,24} )?(?:ии(?!\w)|искусственн\w{1,24}|модел\w{1,24}|ассистент\w{1,24}|помощник\w{1,24}|бот\w{0,16}|систем\w{1,24}|программ\w{1,24}|автоответчик\w{1,24}|нейросет\w{1,24}|чат-?бот\w{0,16})|(?:систем|модел|программ|нейросет|бот|ассистент)\w{0,16},? (?:котор\w{1,24} )?(?:чита\w{1,24}|обрабатыва\w{1,24}) (?:это|этот|эту|данн)|прежнее задание отменя",
        secrecy=r"(?<!\w)(?:не (?:сообщай|упоминай|говори|рассказывай|раскрывай|предупреждай|спрашивай)(?:те)?|без (?:проверки|подтверждения|вопросов|предупреждения|уведомления)|никому|умолчи|втайне|скрой)(?!\w)",
        send=r"(?<!\w)(?:отправь|перешли|вышли|экспортируй|передай|смени|оформи|переведи|пришли)(?:те)?(?!\w)[^.!?\n]{0,80}(?:клиент\w{0,16}|адрес\w{0,16}|заказ\w{0,16}|данн\w{1,24}|парол\w{1,24}|имена|список|карт\w{0,16}|возврат\w{0,16})",
    ),
    *_language(
        "uk",
        override=r"(?<!\w)(?:ігноруй(?:те)?|проігноруй(?:те)?|забудь(?:те)?(?: про)?|скасуй(?:те)?|не (?:дотримуйся|виконуй|слухай))(?: (?:всі|усі|свої|твої|ці|попередні|минулі|раніше|надані|отримані)(?!\w)){0,8} ?(?:інструкці\w{1,24}|правил\w{0,16}|вказівк\w{1,24}|команд\w{0,16}|обмежен\w{1,24}|промпт\w{0,16})",
        disclose=r"(?<!\w)(?:покажи|виведи|розкрий|повідом|повтори|назви|дай|напиши)(?:те)?(?!\w)[^.!?\n]{0,60}(?:промпт\w{0,16}|(?:системн|прихован|секретн|внутрішн|таємн)\w{1,24} (?:інструкці\w{1,24}|правил\w{0,16}|вказівк\w{1,24})|паролі)",
        role=r"(?<!\w)(?:(?:тепер|відтепер) ти|ти (?:тепер|більше не)|поводься як|дій як|вдавай|без (?:жодних )?(?:обмежень|правил|фільтрів))(?!\w)",
        addressed=r"(?:увага|повідомлення для|примітка для|інструкція для)[^.\n]{0,20}(?:ші(?!\w)|модел\w{1,24}|асистент\w{1,24}|бот\w{0,16}|систем\w{1,24}|програм\w{1,24})",
        secrecy=r"(?<!\w)(?:не (?:повідомляй|згадуй|кажи|розповідай|питай)|без (?:перевірки|підтвердження|запитань)|нікому)(?!\w)",
        send=r"(?<!\w)(?:надішли|перешли|відправ|експортуй|передай|зміни|оформи)(?!\w)[^.!?\n]{0,80}(?:клієнт\w{0,16}|адрес\w{0,16}|замовлен\w{0,16}|дан\w{1,24}|парол\w{1,24}|список|повернен\w{0,16})",
    ),
    *_language(
        "ar",
        override=r"(?:تجاهل|انس|انسَ|تجاوز|تخط|اترك|لا تتبع|لا تلتزم)(?:ي|وا|ى)? ?(?:(?:عن|ب|كل|جميع|كافة|هذه|تلك|أي) ?){0,8}(?:ال)?(?:تعليمات|قواعد|أوامر|توجيهات|إرشادات|قيود|سياسات)(?:ك|كم)?(?!ي|نا| الدليل| التركيب)",
        disclose=r"(?:اعرض|أظهر|اكتب|اطبع|اكشف|أعطني|اذكر|كرر|أخبرني|شارك|انشر)[^.!؟\n]{0,50}(?:التعليمات السرية|تعليماتك|نص التعليمات|التعليمات الداخلية|موجه النظام|رسالة النظام|القواعد السرية|البرومبت|كلمات المرور|رمز الخصم|بيانات العملاء|البيانات السرية)",
        role=r"(?:أنت الآن|انت الان|من الآن فصاعد|ابتداء من الآن|تصرف (?:ك|وك)|تظاهر|بلا قيود|بدون قيود|دون قيود|بلا قواعد|وضع المطور)",
        addressed=r"(?:إلى|الى|ملاحظة ل|رسالة إلى|تنبيه ل|تعليمات ل)[^.\n]{0,12}(?:النظام|الذكاء|النموذج|المساعد|الروبوت|البوت|البرنامج)[^.\n]{0,14}(?:الذي|التي|الآلي|الاصطناعي|يقرأ|يعالج)|(?:النموذج|النظام|المساعد)[^.\n]{0,12}الذي (?:يقرأ|يعالج|يلخص)|أوقف ما طُلب",
        secrecy=r"(?:لا تخبر|لا تذكر|لا تقل|دون (?:تأكيد|أن تذكر|ذكر|إخبار|علم|سؤال|تحقق)|بدون (?:تأكيد|سؤال|علم|إخبار)|لا تسأل|سرًا|سرا(?!\w))",
        send=r"(?:أرسل|ارسل|حوّل|حول|صدّر|انقل|ألغ|ألغِ|وافق|اعتبر)[^.!؟\n]{0,60}(?:العملاء|العناوين|الطلبات|البيانات|كلمات|الأسماء|قائمة|الزبون|رمز|الخصم|المبلغ)",
    ),
    *_language(
        "fa",
        override=r"(?:نادیده بگیر|فراموش کن|دنبال نکن|رعایت نکن)[^.\n]{0,40}(?:دستور|قوانین|قواعد|دستورالعمل|محدودیت)|(?:دستور\w{0,16}|قوانین|قواعد|دستورالعمل\w{0,16}|محدودیت\w{0,16})[^.\n]{0,40}(?:نادیده بگیر|فراموش کن|کنار بگذار)",
        disclose=r"(?:نشان بده|بنویس|چاپ کن|فاش کن|بگو)[^.\n]{0,40}(?:پرامپت|دستورالعمل (?:مخفی|محرمانه)|رمز)|(?:پرامپت|دستورالعمل\w{0,16} (?:مخفی|محرمانه|داخلی)|متن سیستم)[^.\n]{0,40}(?:نشان بده|بنویس|چاپ کن|فاش کن)",
        role=r"(?:از (?:این پس|حالا به بعد|الان)|تو (?:اکنون|حالا)|وانمود کن|بدون محدودیت|بدون قانون)",
        addressed=r"(?:یادداشت|پیام|توجه)[^.\n]{0,12}(?:برای|به)[^.\n]{0,12}(?:هوش مصنوعی|مدل|دستیار|ربات|سیستم)",
        secrecy=r"(?:به (?:کسی|هیچ‌?کس) نگو|اشاره نکن|بدون (?:تأیید|تایید|پرسش)|نپرس)",
        send=r"(?:ارسال کن|بفرست|منتقل کن)",
    ),
    *_language(
        "hi",
        mine=r"(?:मेरे|मेरी|मेरा|हमारे)[^।]{0,8}",
        override=r"(?:पिछल[ेीा]|पहले (?:के|दिए)|सभी|सारे|अपने|ऊपर (?:के|दिए))[^।\n]{0,30}(?:निर्देश|नियम|आदेश|हिदायत|प्रतिबंध)\S{0,12}[^।\n]{0,24}(?:भूल|अनदेखा|नज़रअंदाज|नजरअंदाज|अनसुना|मत मान|न मान|रद्द)|(?:ignore|bhool|bhul)[^.\n]{0,30}(?:nirdesh|niyam)|(?:nirdesh|niyam|instructions?)[^.\n]{0,30}(?:bhool|bhul ja|ignore kar)",
        disclose=r"(?:सिस्टम प्रॉम्प्ट|प्रॉम्प्ट|(?:गुप्त|छिपे|आंतरिक|गोपनीय)[^।\n]{0,12}(?:निर्देश|नियम|कोड|जानकारी))[^।\n]{0,40}(?:दिखा|बता|लिख|प्रकट|छाप|दो(?!\w)|साझा)",
        role=r"(?:अब (?:तुम|आप|से)|आज से (?:तुम|आप)|बिना (?:किसी )?(?:प्रतिबंध|नियम|सीमा|रोक)|की तरह (?:व्यवहार|काम)|नाटक करो)",
        addressed=r"(?:एआई|मॉडल|सहायक|सिस्टम|बॉट|रोबोट|प्रणाली)[^।\n]{0,14}(?:के लिए|को) (?:सूचना|संदेश|निर्देश|नोट|ध्यान)|(?:पढ़ने|पढ़ रहे|संसाधित)[^।\n]{0,16}(?:एआई|मॉडल|सिस्टम|बॉट|प्रणाली)",
        secrecy=r"(?:किसी (?:को|से) (?:मत|न|नहीं)|बिना (?:पूछे|पुष्टि|जाँच|जांच|बताए)|मत बता|उल्लेख (?:मत|न)|ज़िक्र (?:मत|न))",
        send=r"(?:ग्राहक|पते|पता|ऑर्डर|डेटा|पासवर्ड|सूची|रिफंड|धनवापसी)\S{0,12}[^।\n]{0,40}(?:भेज|दे दो|मंज़ूर|मंजूर|स्वीकृत)",
    ),
    *_language(
        "zh",
        override=r"(?:忽略|无视|忘记|忘掉|忘了|不要理会|不再遵守|不要遵守|无需遵守|抛弃|绕过|跳过|覆盖|違反|违反|忽視|無視)(?!我(?:的|之前|刚才|上次|前面|們|们))[^。!?\n我]{0,16}(?:指令|规则|規則|指示|提示词|提示詞|限制|要求|设定|設定|约束|命令|规定|規定|政策)",
        disclose=r"(?:输出|显示|告诉我|打印|公开|透露|展示|重复|复述|列出|写出|给我|發給我|发给我|說出|说出|顯示|輸出|念出)[^。!?\n]{0,20}(?:系统提示|系統提示|提示词|提示詞|内部|內部|隐藏|隱藏|秘密指令|初始指令|机密|密码|密碼|客户名单|员工)|(?:系统提示词?|系統提示詞?|提示词原文|内部(?:指令|规则)|秘密指令)[^。!?\n]{0,16}(?:输出|显示|打印|公开|发出来|写出来|告诉|展示|完整)",
        role=r"(?:从现在(?:起|开始)|從現在(?:起|開始)|你现在是|你現在是|扮演|假装|假裝|没有任何限制|沒有任何限制|不受(?:任何)?限制|无限制|開發者模式|开发者模式|越狱)",
        addressed=r"(?:处理|處理|阅读|閱讀|读取|读到)[^。\n]{0,12}(?:的)?(?:智能客服|人工智能|模型|助手|机器人|機器人|系统|系統|ai)[^。\n]{0,6}(?:请|請|注意|:|:|,|必须)|(?:致|给|給|告知)[^。\n]{0,8}(?:ai|模型|机器人|智能客服|助手|系统)[::,,]|(?:立即|马上)?停止(?:翻译|翻譯|总结|總結|当前任务|摘要)",
        secrecy=r"(?:不要(?:告诉|告訴|提及|提到|透露|记录|說|说|通知|询问|问)|别(?:告诉|提|说)|勿(?:告知|提及)|无需确认|不需要确认|不走审核|不要走审核|不用审核|保密|不要确认)",
        send=r"(?:发送|發送|转发|轉發|发给|导出|上传|退款|发到|寄到)[^。!?\n]{0,24}(?:@|客户|客戶|地址|电话|電話|订单|訂單|数据|名单|密码|邮箱)|把[^。!?\n]{0,24}(?:客户|地址|电话|订单|数据|名单|密码)[^。!?\n]{0,12}(?:发送|发给|转发|发到|导出)|直接退款",
    ),
    *_language(
        "ja",
        mine=r"(?:メール|私の|わたしの|電話|先ほど|さきほど|さっき|手紙|ファックス|注文)[^。、]{0,8}",
        override=r"(?:指示|命令|ルール|規則|制約|制限|プロンプト|設定|指令|ガイドライン)[^。!?\n]{0,14}(?:無視し|忘れ(?:て|ろ|なさい)|破棄し|従わな|守らな|取り消し|捨てて|無効に)|(?:これまで|今まで|以前|前|上記|最初)の(?:すべての|全ての)?(?:指示|命令|ルール|規則|プロンプト|制約)[^。\n]{0,10}(?:無視|忘れ|破棄|無効)",
        disclose=r"(?:システム\s?プロンプト|内部(?:指示|ルール|情報)|隠された(?:指示|命令)|秘密の(?:指示|コード|情報)|初期(?:指示|設定)|社外秘|従業員(?:専用|割引)|社員(?:専用|割引))[^。!?\n]{0,30}(?:表示|教え|出力|見せ|開示|公開|答え|書き出|読み上げ|印刷)",
        role=r"(?:あなたは(?:今から|これから|もう|今や)|今から(?:あなた|君|お前)は|として振る舞|のふりをし|になりきっ|制限のない|制約のない|無制限|開発者モード|ルールのない)",
        addressed=r"(?:処理|読|要約|解析|応答)[^。\n]{0,10}(?:する|している|む|んでいる|した)[^。\n]{0,4}(?:ai|システム|モデル|アシスタント|ボット|自動応答システム|人工知能|プログラム)[^。\n]{0,8}(?:へ|に|は|:|:|、)|(?:ai|モデル|アシスタント|ボット|自動応答システム)(?:へ|への)(?:指示|注意|メッセージ|連絡|お願い)?[::、]|(?:要約|翻訳|作業|回答)を(?:中止|停止|やめ)",
        secrecy=r"(?:誰にも(?:言わ|話さ|伝え)|言及し(?:ない|ては)|触れ(?:ない|ず)|確認(?:せず|なし|は不要|を取らず)|秘密に|内緒|伝えない|報告しない|とだけ回答)",
        send=r"(?:顧客|住所|注文|データ|パスワード|名簿|個人情報|連絡先|返金)[^。!?\n]{0,24}(?:送信|送って|転送|宛て|エクスポート|承認|実行)",
    ),
    *_language(
        "ko",
        mine=r"(?:제|내|저의|메일|이메일|문자)(?:가|의|에서|로)? ?",
        override=r"(?:이전|기존|지금까지|위의?|앞선|모든|받은|너의|네)[^.!?\n]{0,14}(?:지시|지침|명령|규칙|프롬프트|제한|설정)\S{0,6}[^.!?\n]{0,12}(?:잊|무시|따르지|어기|버리|취소|삭제)|(?:지시|지침|명령|규칙|제한)\S{0,3} (?:모두|전부|다) (?:잊|무시)",
        disclose=r"(?:시스템 프롬프트|비밀 (?:지침|지시|규칙|코드|정보)|숨겨진 (?:지침|지시|명령)|내부 (?:지침|지시|규칙|정보)|초기 지침|직원 (?:전용|할인))[^.!?\n]{0,30}(?:보여|알려|출력|공개|말해|적어|써|표시)",
        role=r"(?:지금부터 (?:너|넌|당신|네)|이제(?:부터)? (?:너|넌|당신)|인 척|처럼 행동|역할을 (?:해|맡)|제한(?:이)? 없는|규칙이 없는|무제한|개발자 모드)",
        addressed=r"(?:이 (?:글|문서|메시지|메일|내용)을? (?:읽는|처리하는|요약하는))[^.\n]{0,12}(?:ai|모델|시스템|봇|비서|인공지능)|(?:ai|모델|인공지능|봇|시스템)(?:에게|에)[: ]|(?:번역|요약|작업)을 (?:중단|멈)",
        secrecy=r"(?:(?:아무|누구)에게도|말하지 (?:마|말)|언급하지|알리지 (?:마|말)|묻지 (?:말|마)|확인 없이|승인 없이|비밀로)",
        send=r"(?:고객|주소|주문|데이터|비밀번호|명단|연락처|환불)\S{0,4}[^.!?\n]{0,24}(?:보내|전송|전달|내보내|승인|무료로 처리)",
    ),
)
"""Languages in other scripts: never found in plain ASCII."""
