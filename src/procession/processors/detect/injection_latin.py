"""
What attacks on a model say in other languages in Latin letters than English.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect.injection_signs import signs_of

__all__ = ["LATIN"]

LATIN: tuple[Rule, ...] = (
    *signs_of(
        "de",
        override=(
            r"\b(?:ignorier(?:e|en|t)?|vergiss|vergessen sie|vergesst|missachte|missachten sie|umgehe|überschreibe"
            r"|verwirf|befolge(?: ab jetzt)? (?:nicht|keine)|halte dich nicht(?: mehr)? an|setze)\b(?: sie| bitte"
            r"| ab sofort| ab jetzt| von jetzt an| jetzt| nun){0,4},?"
            r" (?:(?:alle|alles|sämtliche|jede|die|deine|ihre|eure|deinen|diese|bisherigen?|vorherigen?|früheren?"
            r"|obigen?|vorigen?|ursprünglichen?|internen?|geltenden?|und|was|dieser|dieses)\b ?){0,8}"
            r"(?:anweisung|regel|vorgabe|instruktion|richtlinie|system-?prompt|prompt|beschränkung|befehl|vorschrift"
            r"|sicherheits|weisung|dir (?:gesagt|beigebracht|vorgegeben)|du (?:bisher|vorher|bekommen|gelernt))"
        ),
        disclose=(
            r"\b(?:zeig(?:e|en)?|gib|geben sie|nenn(?:e|st|en)?|verrat(?:e|en)?|druck(?:e|en)?|schreib(?:e|en)?"
            r"|wiederhol(?:e|en)?|offenbar(?:e|en)?|lies|liste|leg)\b[^.!?\n]{0,60}\b(?:system-?prompt"
            r"|systemanweisung|geheime\w{0,16}|interne\w{0,16}|versteckte\w{0,16}|vertrauliche\w{0,16}|deine "
            r"(?:anweisungen|regeln|instruktionen)|kundenliste|kundendaten|mitarbeiter(?:gutschein|code"
            r"|rabatt)\w{0,16})"
        ),
        role=(
            r"\b(?:du bist (?:jetzt|nun|ab (?:jetzt|sofort|nun))|ab (?:sofort|jetzt) bist du|tu so,? als (?:ob|wärst)"
            r"|spiele? (?:die rolle|einen?)|verhalte dich wie|ohne (?:regeln|einschränkungen|beschränkungen|filter)"
            r"|keine(?:n|r)? (?:regeln|einschränkungen) mehr)\b"
        ),
        addressed=(
            r"\b(?:hinweis|nachricht|anweisung|achtung|notiz|bitte|mitteilung|info|information) (?:an|für) (?:die "
            r"|das |den |alle |jede |einen? |automatische\w{0,16} ){0,8}(?:ki|ki-\w{1,24}|sprachmodell\w{0,16}"
            r"|modell\w{0,16}|assistent\w{0,16}|chatbot\w{0,16}|bot|system\w{0,16}|textverarbeitung"
            r"|\w{0,16}programm\w{0,16}|automat\w{0,16}|maschine\w{0,16})\b|\b(?:ki|modell|system|assistent|bot),? "
            r"(?:die|das|der) (?:diese\w{0,16}|den|das) (?:text|nachricht|mail|dokument)|\bbisherige (?:aufgabe"
            r"|anweisung) (?:ist|gilt|entfällt)"
        ),
        secrecy=(
            r"\b(?:(?:erwähne?n?|sag(?:e|en)?|verrate?n?|melde?n?|nenne?n?) (?:sie )?(?:dies\w{0,16}|das|es|davon"
            r"|niemand\w{0,16}|dem|der|nichts|diesen satz)[^.\n]{0,30}(?:nicht|nichts|niemand\w{0,16})|ohne "
            r"(?:rückfrage|bestätigung|nachfrage|prüfung)|kein wort (?:darüber|davon)|wenn du dich weigerst|lösch(?:e"
            r"|en) (?:sie )?dies\w{0,16} (?:hinweis|absatz|satz|nachricht))"
        ),
        send=(
            r"\b(?:send(?:e|en)|schick(?:e|en)?|leite|übermittl(?:e|en)|exportier(?:e|en)|gib"
            r"|geben sie)\b[^.!?\n]{0,80}\b(?:kunden\w{0,16}|adress\w{0,16}|bestellungen|daten\w{0,16}"
            r"|passwör\w{0,16}|namen|liste|telefonnummer\w{0,16}|karten\w{0,16}|schlüssel)\b"
        ),
    ),
    *signs_of(
        "fr",
        override=(
            r"\b(?:ignore[rz]?|oublie[rz]?|ne (?:tiens|tenez|suis|suivez|respecte[rz]?) (?:plus|pas)(?: compte"
            r"(?: de)?)?|contourne[rz]?|fais abstraction de|passe outre|outrepasse[rz]?|abandonne[rz]?|néglige[rz]?"
            r"|désobéis)\b"
            r"(?: (?:à|de|des|du|toutes?|tous|les?|la|tes|vos|ces|cette|l'ensemble|aux)\b){0,8} ?(?:instructions?"
            r"|consignes?|règles?|directives?|ordres?|restrictions?|ce qu(?:e|i) (?:t|v)(?:'a|ous a|e|ous)|prompt"
            r"|limites)(?! (?:de (?:livraison|montage|lavage|pose|sécurité)|de mon|dans mon|du livreur))"
        ),
        disclose=(
            r"\b(?:montre|donne|affiche|révèle|dévoile|communique|répète|écris|imprime|recopie|divulgue|liste"
            r"|transmets?)[a-z]{0,16}(?:[- ](?:moi|nous))?\b[^.!?\n]{0,60}\b(?:prompt|instructions? (?:internes?"
            r"|secrètes?|système|confidentielles?|cachées?)|tes (?:instructions|consignes|règles)"
            r"|vos instructions internes|consignes (?:internes|secrètes|confidentielles)|code (?:de remise|promo"
            r"|secret)[^.\n]{0,20}(?:personnel|employés|réservé)|base de données|liste des clients)"
        ),
        role=(
            r"\b(?:tu es (?:maintenant|désormais)|vous êtes désormais|à partir de maintenant,? tu|désormais,? tu"
            r"|agis comme|fais comme si|comporte-toi comme|joue le rôle|sans (?:aucune )?(?:restriction|limite|règle"
            r"|filtre)s?|uniquement selon mes règles)\b"
        ),
        addressed=(
            r"\b(?:message|note|consigne|instruction|avis|remarque|attention)s? (?:au|à l'|aux|pour (?:le|la|l'|les)"
            r"|destinée?s? (?:au|à l'|aux)) ?(?:modèle|ia\b|intelligence|assistant|robot|système|bot|programme"
            r"|automate|llm)|\b(?:modèle|ia|assistant|système|robot) qui (?:lit|traite|résume|répond)"
            r"|\bcesse[rz]? de (?:résumer|traduire|répondre)"
        ),
        secrecy=(
            r"\b(?:(?:ne|n') ?(?:mentionne|dis|parle|révèle|signale|cite|préviens|informe"
            r"|en parle)[a-z]{0,16}[^.\n]{0,30}(?:pas|jamais|rien|personne)|tais|taisez|sans (?:rien dire"
            r"|le mentionner|vérif\w{1,24}|demander|confirmation|prévenir)|garde[rz]? (?:le|cela|ceci) (?:secret"
            r"|pour)|à l'insu)"
        ),
        send=(
            r"\b(?:envoie|envoyez|transmets|transmettez|transfère|exporte|expédie)[a-z]{0,16}\b[^.!?\n]{0,80}\b"
            r"(?:clients?|adresses?|commandes|données|mots? de passe|noms|liste|fichier|coordonnées|cartes?)\b"
        ),
    ),
    *signs_of(
        "es",
        override=(
            r"\b(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en|ar)(?:te de)?|descart(?:a|e)|desobedece|no (?:sigas|obedezcas"
            r"|respetes|hagas caso (?:a|de))|haz caso omiso de|pasa por alto|omite|anula|salta(?:te)?)\b"
            r"(?: (?:de|a|por completo|todas?|todos?|las?|los|tus|sus|estas?|cualquier|el|más)\b){0,8} ?"
            r"(?:instrucci[oó]n(?:es)?|reglas?|normas?|directrices|órdenes|ordenes|indicaciones (?:previas"
            r"|anteriores)|restricciones|pol[ií]ticas|lo que (?:te|le) (?:han|dijeron)|prompt|l[ií]mites)(?! (?:de "
            r"(?:montaje|lavado|entrega|env[ií]o|uso)|del manual))"
        ),
        disclose=(
            r"\b(?:muestra|mu[eé]stra(?:me|nos)|dime|dame|revela(?:me)?|ense[ñn]a(?:me)?|escribe|imprime|repite|copia"
            r"|di|lista|mostrar|entrega)\b[^.!?\n]{0,60}\b(?:prompt|instrucciones (?:internas|secretas|ocultas"
            r"|del sistema|iniciales|confidenciales)|tus (?:instrucciones|reglas)|sistema (?:completo|oculto)"
            r"|datos de (?:los|todos)[^.\n]{0,20}clientes|contraseñas|c[oó]digo (?:secreto|de empleado|interno))"
        ),
        role=(
            r"\b(?:ahora (?:eres|act[uú]as)|a partir de ahora,? (?:eres|act|respond)|desde ahora|act[uú]a como|finge "
            r"(?:ser|que)|comp[oó]rtate como|haz de|sin (?:ninguna? )?(?:restricci[oó]n|restricciones|l[ií]mites"
            r"|reglas|filtros))\b"
        ),
        addressed=(
            r"\b(?:nota|mensaje|aviso|instrucci[oó]n|atenci[oó]n|indicaci[oó]n)(?:es)? (?:para|al?) (?:el |la |los "
            r"|cualquier |un |todo ){0,8}(?:ia\b|inteligencia|modelo|asistente|robot|sistema|bot|programa|agente|llm)"
            r"|\b(?:si eres|si es usted) (?:un |una )?(?:ia|sistema|modelo|asistente|robot|bot)|\b(?:modelo|sistema"
            r"|asistente|ia) que (?:lee|lea|procesa|procese|resume|responde)"
        ),
        secrecy=(
            r"\b(?:no (?:lo )?(?:menciones|digas|cuentes|reveles|informes|avises|registres|comentes|preguntes)|sin "
            r"(?:preguntar\w{0,16}|confirmar|verificar|avisar|decir\w{0,16}|mencionar\w{0,16})|(?:en"
            r"|mant[eé]n\w{0,16}) secreto|a nadie|guarda silencio)\b"
        ),
        send=(
            r"\b(?:env[ií]a(?:me)?|manda(?:me)?|reenv[ií]a|exporta|transfiere|remite|aprueba)\b[^.!?\n]{0,80}\b"
            r"(?:clientes?|direcci[oó]n\w{0,16}|pedidos|datos|contraseñas|nombres|lista|tarjetas?|reembolso"
            r"|archivo)\b"
        ),
    ),
    *signs_of(
        "it",
        override=(
            r"\b(?:ignora(?:re|te)?|dimentica(?:re|te|ti)?|non (?:seguire|rispettare|considerare|tenere conto)"
            r"(?: più)?|trascura|tralascia|scavalca|aggira|disobbedisci|annulla)\b(?: (?:di|a|più|tutte?|tutti|le|la"
            r"|i|gli|il|tue|sue|vostre|queste|ogni|del)\b){0,8} ?(?:istruzion[ei]|regol[ae]|direttiv[ae]|ordin[ei]"
            r"|indicazioni (?:precedenti|ricevute)|restrizioni|prompt|limiti|quello che ti)(?! (?:di (?:montaggio"
            r"|lavaggio|consegna)|del manuale))"
        ),
        disclose=(
            r"\b(?:mostra(?:mi)?|dimmi|dammi|rivela(?:mi|re)?|svela|scrivi|stampa|ripeti|copia|elenca"
            r"|comunica)\b[^.!?\n]{0,60}\b(?:prompt|istruzioni (?:interne|segrete|riservate|nascoste|di sistema"
            r"|iniziali)|tue (?:istruzioni|regole)|codice (?:segreto|sconto)[^.\n]{0,20}(?:dipendenti|personale"
            r"|riservato)|dati dei clienti|password)"
        ),
        role=(
            r"\b(?:(?:ora|adesso) sei|d'ora in poi|da (?:ora|questo momento)(?: in poi)?,? (?:sei|non)|agisci come"
            r"|comportati come|fingi di|fai finta|senza (?:alcuna? )?(?:restrizion[ei]|limiti|regole|filtri))\b"
        ),
        addressed=(
            r"\b(?:nota|messaggio|avviso|istruzione|attenzione|comunicazione) (?:per|al?|alla|all'|agli?) ?(?:il |la "
            r"|l'|lo |un )?(?:ia\b|ai\b|intelligenza|modello|assistente|robot|sistema|bot|programma|agente)|\b"
            r"(?:sistema|modello|assistente|ia|robot) che (?:legge|elabora|riassume|risponde)"
        ),
        secrecy=(
            r"\b(?:non (?:menzionare|dire|dirlo|rivelare|parlare|segnalare|avvisare|citare|registrare|chiedere)"
            r"|senza (?:chiedere|dire|conferm\w{1,24}|verific\w{1,24}|menzion\w{1,24}|controll\w{1,24})|in segreto"
            r"|a nessuno|taci)\b"
        ),
        send=(
            r"\b(?:invia(?:mi)?|manda(?:mi)?|inoltra|esporta|trasferisci|applica|approva)\b[^.!?\n]{0,80}\b(?:clienti"
            r"|indirizz\w{1,24}|ordini|dati|password|nomi|elenco|carte|sconto|rimborso)\b"
        ),
    ),
    *signs_of(
        "pt",
        override=(
            r"\b(?:ignor[ea](?:r|m)?|esque[cç](?:a|e|er|am)|desconsidere|desobedeça|não (?:siga|obedeça|respeite)"
            r"(?: mais)?|descarte|contorne|anule)\b(?: (?:de|as?|os?|todas?|todos?|suas?|seus?|tuas?|essas?|estas?"
            r"|quaisquer|qualquer)\b){0,8} ?(?:instruç(?:ão|ões)|regras?|diretrizes|ordens|orientações (?:anteriores"
            r"|prévias)|restrições|políticas|prompt|limites|tudo o que (?:te|lhe))(?! (?:de (?:montagem|lavagem"
            r"|entrega|uso)|do manual))"
        ),
        disclose=(
            r"\b(?:mostre(?:-me)?|me (?:mostre|diga|dê|passe)|diga|revele|exiba|escreva|imprima|repita|copie|liste"
            r"|mostra)\b[^.!?\n]{0,60}\b(?:prompt|instruções (?:internas|secretas|ocultas|do sistema|iniciais"
            r"|confidenciais)|suas (?:instruções|regras)|código (?:secreto|interno)|dados dos clientes|senhas)"
        ),
        role=(
            r"\b(?:agora você (?:é|age|será)|você (?:agora|não) é mais|a partir de agora|de agora em diante|aja como"
            r"|finja (?:ser|que)|comporte-se como|sem (?:nenhuma )?(?:restriç(?:ão|ões)|limites|regras|filtros))\b"
        ),
        addressed=(
            r"\b(?:nota|mensagem|aviso|instrução|atenção|observação)(?:ões)? (?:para|ao?|à) (?:o |a |os |qualquer "
            r"|um |todo ){0,8}(?:ia\b|inteligência|modelo|assistente|robô|sistema|bot|programa|agente)|\b(?:modelo"
            r"|sistema|assistente|ia|robô) que (?:lê|ler|processa|resume|responde)|\bse você (?:é|for) (?:uma? )?"
            r"(?:ia|modelo|assistente|sistema|robô|bot)"
        ),
        secrecy=(
            r"\b(?:não (?:mencione|diga|conte|revele|informe|avise|registre|comente|pergunte)|sem (?:perguntar"
            r"|confirmar|verificar|avisar|dizer|mencionar)|em segredo|a ninguém)\b"
        ),
        send=(
            r"\b(?:envie|mande|encaminhe|exporte|transfira|aprove)\b[^.!?\n]{0,80}\b(?:clientes?|endereços?|pedidos?"
            r"|dados|senhas|nomes|lista|cartões|reembolso)\b"
        ),
    ),
    *signs_of(
        "nl",
        override=(
            r"\b(?:negeer|vergeet|omzeil|overtreed|volg(?: de| je)?[^.\n]{0,20} niet(?: meer)?|laat)\b(?: (?:alle|al"
            r"|de|je|jouw|uw|deze|die|eerdere|vorige|voorgaande|bovenstaande|bestaande|huidige)\b){0,8} ?"
            r"(?:instructies?|regels?|richtlijnen|opdrachten|beperkingen|aanwijzingen hierboven|systeemprompt|wat je "
            r"(?:is|hebt))"
        ),
        disclose=(
            r"\b(?:toon|laat[^.\n]{0,12}zien|geef|onthul|herhaal|print|schrijf|noem|vertel)\b[^.!?\n]{0,60}\b"
            r"(?:systeemprompt|prompt|(?:geheime|interne|verborgen|vertrouwelijke) (?:instructies|regels|codes?"
            r"|richtlijnen)|je (?:instructies|regels)|klantgegevens|wachtwoorden)"
        ),
        role=(
            r"\b(?:je bent (?:nu|vanaf nu|voortaan)|vanaf nu ben je|doe alsof|gedraag je als|speel de rol|zonder "
            r"(?:enige )?(?:beperkingen|regels|filters|grenzen))\b"
        ),
        addressed=(
            r"\b(?:bericht|opmerking|instructie|let op|notitie|mededeling) (?:aan|voor) (?:de |het |elke |alle "
            r"|een ){0,8}(?:ai\b|model|taalmodel|assistent|chatbot|bot|systeem|programma|robot)|\b(?:ai|model|systeem"
            r"|assistent|bot) (?:die|dat) (?:dit|deze)"
        ),
        secrecy=(
            r"\b(?:(?:vermeld|zeg|vertel|noem|meld|verklap) (?:dit|het|dat|niemand|niets)[^.\n]{0,24}(?:niet|niets"
            r"|niemand)?|zonder (?:te (?:vragen|melden)|bevestiging|controle)|geheim)\b"
        ),
        send=(
            r"\b(?:stuur|verstuur|mail|exporteer|zend|keur)\b[^.!?\n]{0,80}\b(?:klant\w{0,16}|adres\w{0,16}"
            r"|bestellingen|gegevens|wachtwoorden|namen|lijst|terugbetaling)\b"
        ),
    ),
    *signs_of(
        "pl",
        override=(
            r"\b(?:zignoruj|ignoruj|pomiń|zapomnij(?: o)?|odrzuć|nie (?:przestrzegaj|stosuj się do|słuchaj)|obejdź"
            r"|złam|anuluj)\b(?: (?:o|wszystk\w{1,24}|swoi\w{1,24}|twoje|te|dotychczasow\w{1,24}|poprzedni\w{1,24}"
            r"|wcześniejsz\w{1,24}|powyższ\w{1,24}|obowiązując\w{1,24})\b){0,8} ?(?:poleceni\w{1,24}"
            r"|instrukcj\w{1,24}|zasad\w{0,16}|reguł\w{0,16}|wytyczn\w{1,24}|ograniczeni\w{1,24}|rozkaz\w{0,16}"
            r"|prompt\w{0,16})(?! (?:montażu|obsługi|prania))"
        ),
        disclose=(
            r"\b(?:pokaż|podaj|ujawnij|wypisz|wyświetl|powtórz|zdradź|wydrukuj|napisz)\b[^.!?\n]{0,60}\b"
            r"(?:prompt\w{0,16}|(?:tajn\w{1,24}|ukryt\w{1,24}|wewnętrzn\w{1,24}|systemow\w{1,24}|poufn\w{1,24}) "
            r"(?:instrukcj\w{1,24}|poleceni\w{1,24}|zasad\w{0,16}|kod\w{0,16})|swoje (?:instrukcje|zasady)"
            r"|hasł\w{1,24}|dane klientów)"
        ),
        role=(
            r"\b(?:(?:teraz|od teraz) jesteś|jesteś (?:teraz|od teraz)|od tej (?:pory|chwili)|udawaj|zachowuj się jak"
            r"|działaj jako|bez (?:żadnych )?(?:ograniczeń|zasad|filtrów|reguł))\b"
        ),
        addressed=(
            r"\b(?:uwaga|wiadomość|polecenie|notatka|instrukcja|informacja) (?:dla|do) (?:każdego |tego "
            r"|wszystkich ){0,8}(?:ai\b|sztucznej|modelu|asystenta|bota|systemu|programu|robota|automatu|czatbota)|\b"
            r"(?:model|system|program|asystent|bot)\w{0,16} (?:czytając\w{1,24}|obsługując\w{1,24}"
            r"|przetwarzając\w{1,24})"
        ),
        secrecy=(
            r"\b(?:nie (?:wspominaj|mów|informuj|ujawniaj|zgłaszaj|pytaj)|bez (?:pytania|potwierdzenia|sprawdzania"
            r"|informowania)|usuń ten (?:dopisek|akapit|komentarz)|w tajemnicy|nikomu|inaczej zostaniesz)\b"
        ),
        send=(
            r"\b(?:wyślij|prześlij|przekaż|wyeksportuj|wypłać|zatwierdź)\b[^.!?\n]{0,80}\b(?:klient\w{0,16}"
            r"|adres\w{0,16}|zamówie\w{1,24}|dane|hasł\w{1,24}|nazwisk\w{0,16}|list\w{1,24}|kwot\w{1,24}"
            r"|zwrot\w{0,16})\b"
        ),
    ),
    *signs_of(
        "tr",
        override=(
            r"\b(?:önceki|bütün|tüm|sana verilen|yukarıdaki|şimdiye kadarki|mevcut|eski)(?: (?:bütün|tüm|önceki"
            r"|verilen|sistem)){0,8} (?:talimat\w{0,16}|kural\w{0,16}|yönerge\w{0,16}|komut\w{0,16}|kısıtlama\w{0,16}"
            r"|emir\w{0,16})[^.\n]{0,16}(?:unut|yok say|görmezden gel|dikkate alma|geçersiz|iptal|çiğne)\w{0,16}"
            r"|\bartık hiçbir (?:kural|kısıtlama)\w{0,16}"
        ),
        disclose=(
            r"\b(?:sistem (?:metni|istemi|promptu|talimat\w{0,16}|mesajı)\w{0,16}|gizli (?:sistem )?(?:metn|talimat"
            r"|kural|kod|istem|bilgi)\w{0,16}|prompt\w{0,16})[^.\n]{0,40}(?:yaz|göster|paylaş|söyle|ver|açıkla|yazdır"
            r"|tekrarla|listele)\w{0,16}"
        ),
        role=(
            r"\b(?:artık (?:sen|bir|hiçbir)|bundan (?:sonra|böyle)|şu andan itibaren|gibi davran|rolünü (?:yap"
            r"|üstlen)|kısıtlamasız|sınırsız|kuralsız)\b"
        ),
        addressed=(
            r"\b(?:bu (?:mesajı|metni|belgeyi) (?:okuyan|işleyen)|yapay zek[aâ]ya|yapay zek[aâ] (?:için )?not"
            r"|modele not|asistana not|otomatik sisteme)"
        ),
        secrecy=(
            r"\b(?:kimseye (?:söyleme|bahsetme)|bundan bahsetme|sormadan|onay (?:almadan|istemeden)|ödeme almadan"
            r"|kontrol etmeden|belirtme|gizli tut)\w{0,16}"
        ),
        send=(
            r"\b(?:müşteri\w{0,16}|adres\w{0,16}|sipariş\w{0,16}|veri\w{0,16}|şifre\w{0,16}|liste\w{0,16}"
            r"|iade\w{0,16})[^.\n]{0,60}(?:gönder|ilet|aktar|onayla|paylaş)\w{0,16}"
        ),
    ),
    *signs_of(
        "vi",
        override=(
            r"(?:bỏ qua|quên(?: đi)?|phớt lờ|không tuân theo|đừng tuân theo|vượt qua|lờ đi)(?: (?:tất cả|mọi|các"
            r"|toàn bộ|những|hết)){0,8} ?(?:hướng dẫn|chỉ dẫn|chỉ thị|quy tắc|quy định|lệnh|giới hạn)"
        ),
        disclose=(
            r"(?:hiển thị|in ra|cho (?:tôi|mình) xem|tiết lộ|viết ra|đọc|liệt kê)[^.\n]{0,40}(?:prompt"
            r"|lời nhắc hệ thống|(?:chỉ dẫn|hướng dẫn|quy tắc) (?:bí mật|nội bộ|ẩn|hệ thống)|mật khẩu)"
        ),
        role=r"(?:từ (?:bây giờ|giờ)|bây giờ (?:bạn|mày) là|hãy đóng vai|giả vờ|không (?:có|bị) (?:giới hạn|hạn chế))",
        addressed=(
            r"(?:ghi chú|lưu ý|thông báo|gửi)[^.\n]{0,12}(?:cho|tới|đến)[^.\n]{0,12}(?:ai\b|mô hình|trợ lý|hệ thống"
            r"|bot)"
        ),
        secrecy=r"(?:đừng (?:nói|nhắc|cho ai|hỏi)|không (?:nhắc đến|nói với|cần xác nhận)|giữ bí mật)",
        send=r"(?:gửi|chuyển|xuất)[^.\n]{0,50}(?:khách hàng|địa chỉ|đơn hàng|dữ liệu|mật khẩu|danh sách)",
    ),
    *signs_of(
        "id",
        override=(
            r"\b(?:abaikan|lupakan|jangan (?:ikuti|patuhi)|hiraukan|langgar|lewati)\b(?: (?:semua|segala|seluruh"
            r"|setiap)){0,8} ?(?:instruksi|perintah|aturan|petunjuk|arahan|batasan)(?! (?:pemasangan|penggunaan))"
        ),
        disclose=(
            r"\b(?:tampilkan|tunjukkan|cetak|bocorkan|ungkapkan|sebutkan|tuliskan|berikan)\b[^.\n]{0,40}(?:prompt|"
            r"(?:instruksi|aturan|petunjuk) (?:rahasia|internal|sistem|tersembunyi)|kata sandi|data pelanggan)"
        ),
        role=(
            r"\b(?:mulai sekarang|sekarang (?:kamu|anda) adalah|(?:kamu|anda) sekarang|berpura-pura|bertindak sebagai"
            r"|tanpa (?:batasan|aturan))\b"
        ),
        addressed=(
            r"\b(?:catatan|pesan|perhatian)[^.\n]{0,12}(?:untuk|kepada)[^.\n]{0,12}(?:ai\b|model|asisten|sistem|bot)"
        ),
        secrecy=(
            r"\b(?:jangan (?:sebutkan|beri ?tahu|katakan|tanya)|tanpa (?:konfirmasi|bertanya|memeriksa)|rahasiakan)\b"
        ),
        send=r"\b(?:kirim(?:kan)?|teruskan|ekspor)\b[^.\n]{0,50}(?:pelanggan|alamat|pesanan|data|kata sandi|daftar)",
    ),
)
"""Languages in Latin letters."""
