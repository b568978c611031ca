"""
What texts that attack a model speak of, in languages of Latin script: the beginnings of words, by idea.

A word that is whole ends with ``=``.  Which ideas together make an attack is learned (``injection_weights.json``).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LATIN_IDEAS"]

_DROP = (
    # en
    "ignore|ignoring|disregard|forget=|forget all|forget every|forget your|override|overrul|bypass|circumvent|discard"
    "|abandon=|set aside|pay no attention|do not follow|don't follow|stop following|no longer appl|no longer follow"
    "|no longer bound|do not obey|don't obey|supersede|nullif|cancel all|void=|are void|erase your|wipe your|reset your"
    "|replace your|does not apply|do not apply|neglect|skip the rules|break your|violate|lift the|lift all|suspend your"
    "|cancelled=|canceled=|don't count|do not count|doesn't count|never mind|screw that|disreg|ignroe|ingore|out of effect|invalid=|revoked|leave aside|drop your|drop all|drop the"
    # de
    "|ignorier|missacht|missachte|vergiss|vergesst|vergessen sie|umgeh|übergeh|verwirf|verwerfen sie|setz dich über"
    "|setze alle|außer kraft|ausser kraft|überschreib|hebe alle|hebe die|gelten nicht mehr|gilt nicht mehr|beachte nicht"
    "|befolge nicht|halte dich nicht|nicht mehr an|aufgehoben|lass alle|lass die"
    # fr
    "|ignore |ignorez|oublie|oubliez|ne tiens pas compte|ne tenez pas compte|ne tiens plus compte|fais abstraction"
    "|faites abstraction|contourne|outrepasse|ne suis plus|ne suis pas|ne respecte pas|abandonne|annule |remplace tes"
    "|écarte |passe outre|ne s'appliquent plus|désobéi|fi des"
    # es
    "|ignora|ignore todas|ignorar|olvida|olvide |omite|omita|haz caso omiso|hagan caso omiso|no sigas|no obedezcas"
    "|descarta|desestima|sáltate|salta las|pasa por alto|anula |deja de seguir|prescinde|ya no se aplican|ya no aplican"
    "|desobedec|elude|incumple|desecha"
    # it
    "|ignora |ignorate|dimentica|dimenticate|non tenere conto|non seguire|scarta|trascura|aggira|annulla|scavalca"
    "|non valgono più|non si applicano più|disobbedi|tralascia|lascia perdere|disattendi"
    # pt
    "|ignore as|ignorem|esqueça|esquece|desconsidere|desconsidera|descarte|não siga|não obedeça|deixe de seguir|contorne"
    "|anule|sobreponha|substitua suas|não se aplicam mais|passe por cima|desobedeça|abandone"
    # nl
    "|negeer|vergeet|omzeil|overschrijf|laat alle|sla geen acht|houd je niet|volg niet|trek je niets|gelden niet meer"
    "|schrap|gooi alle"
    # pl
    "|zignoruj|ignoruj|zapomnij|pomiń|nie zważaj|porzuć|obejdź|nadpisz|unieważnij|nie stosuj|nie przestrzegaj|odrzuć"
    "|przestań stosować|nie obowiązują"
    # tr
    "|yok say|görmezden gel|unut|dikkate alma|göz ardı et|boş ver|geçersiz kıl|atla |uyma=|uymayı bırak|iptal et"
    "|hükümsüz|artık geçerli değil"
    # sv, da, no, fi, cs, ro, hu, id, vi
    "|ignorera|glöm|bortse|strunta i|ignorér|glem|se bort fra|unohda|älä noudata|sivuuta|ohita|zapomeň|ignorujte"
    "|nedbej|ignoră|uită|nu mai urma|felejtsd|hagyd figyelmen|abaikan|lupakan|bỏ qua|quên |phớt lờ"
)

_RULES = (
    "instruction|instrucit|instructoin|rule|guideline|directive|directions=|your prompt|polic|restriction|constraint|limitation|programming"
    "|guardrail|safeguard|safety|safety measures|filters|the prompt|prompts=|commands=|orders=|training=|briefing"
    "|anweisung|regel|richtlinie|vorgabe|vorschrift|beschränkung|einschränkung|instruktion|sicherheitsvorkehr|schutz"
    "|leitplanke|weisung|auflagen"
    "|consigne|règle|directive|restriction|contrainte|limitation|garde-fou|politique|indications"
    "|instruccion|regla|directri|directiva|restriccion|limitacion|normas|indicacion|órdenes|política|consignas"
    "|istruzion|regol|direttiv|restrizion|limitazion|linee guida|vincol|indicazion|ordini|disposizion"
    "|instruç|regra|diretri|restriç|limitaç|orientaç|ordens|políticas|comandos anteriores"
    "|instructie|regels|richtlijn|beperking|voorschrift|aanwijzing|opdrachten|beleid"
    "|instrukc|polece|zasad|reguł|wytyczn|ogranicze|nakaz|zaleceń|zalecenia"
    "|talimat|kural|yönerge|yönlendirme|kısıtlama|sınırlama|komut|direktif|politika"
    "|anvisning|regler|riktlinj|begränsning|retningslinj|instruks|ohje|säänt|pokyn|pravidl|instrucțiun|reguli"
    "|utasítás|szabály|instruksi|aturan|perintah|hướng dẫn|quy tắc|chỉ thị|chỉ dẫn"
)

_PRIOR = (
    "previous|prior=|above=|earlier|preceding|former|foregoing|initial=|original|so far|up to now|until now|before this"
    "|existing|given to you|you were given|you have been given|you've been given|received|so you were told|was told|were told"
    "|vorherig|vorig|bisherig|obig|früher|zuvor|vorangegangen|ursprünglich|bislang|bisher|erhalten hast"
    "|précédent|antérieur|ci-dessus|jusqu'ici|jusqu'à présent|reçues|d'avant|initiales|au-dessus"
    "|anterior|previa|previo|de arriba|hasta ahora|recibid|originales|iniciales"
    "|precedent|di prima|finora|sopra=|iniziali|ricevut|originar"
    "|anteriores|prévia|prévio|acima|até agora|recebid|originais|iniciais"
    "|vorige|eerdere|voorgaande|bovenstaande|hiervoor|tot nu toe|oorspronkelijke|ontvangen"
    "|poprzedni|wcześniejsz|powyższ|dotychczasow|otrzyman|uprzedni|pierwotn"
    "|önceki|yukarıdaki|daha önce|şimdiye kadar|bundan önce|verilen|aldığın|evvelki|ilk talimat"
    "|tidigare|föregående|ovanstående|forrige|foregående|aiem|předchozí|dosavadní|anterioare|de mai sus|korábbi|előző"
    "|sebelumnya|di atas|trước đó|trước đây|ở trên"
)

_REVEAL = (
    "reveal|show me|show your|show the|print|output|repeat|display|disclose|dump|recite|expose|leak|spit out|divulge"
    "|write out|write down|hand over|tell me|give me|paste|list all|list every|list your|what is your|what are your"
    "|what does your|share your|share the|copy your|copy the|return the|reply with the|quote your|translate your"
    "|summarize your|summarise your|confess|reproduce|spell out|echo"
    "|zeig|gib mir|gib den|gib die|gib aus|gib deine|verrate|offenbare|wiederhol|nenne mir|nenn mir|schreib mir"
    "|drucke|liste alle|lege offen|rück heraus|was steht in|teile mir|spuck|ausgeben|kopiere"
    "|affiche|montre|révèle|donne-moi|donnez-moi|répète|dévoile|recopie|écris-moi|divulgue|communique|transmets-moi"
    "|livre-moi|énumère|imprime|restitue"
    "|muestra|muéstrame|revela|imprime|repite|dime|dame|enséñame|escribe tu|escribe el|divulga|copia |transcribe|pégame"
    "|cuéntame|devuelve|lista todas|enumera"
    "|mostra|rivela|stampa|ripeti|dimmi|dammi|svela|elenca|riporta|trascrivi|incolla|scrivimi|fammi vedere|divulga"
    "|mostre|revele|imprima|repita|diga-me|me diga|me mostre|dê-me|me dê|exiba|liste|divulgue|transcreva|cole o|conte-me"
    "|toon|laat me|laat zien|onthul|geef me|geef mij|herhaal|print|noem|schrijf je|deel je|openbaar|druk af"
    "|pokaż|ujawnij|wyświetl|podaj|powtórz|wypisz|wydrukuj|zdradź|przepisz|wklej|napisz mi"
    "|göster|yazdır|açıkla=|tekrarla|söyle|ifşa|paylaş|ver bana|bana ver|listele|dök=|aktar|yaz bana"
    "|visa |avslöja|skriv ut|upprepa|vis mig|afslør|gentag|näytä|paljasta|toista|ukaž|prozraď|vypiš|arată|dezvăluie"
    "|mutasd|írd ki|áruld|tampilkan|tunjukkan|ungkapkan|ulangi|tiết lộ|hiển thị|cho tôi xem|in ra"
)

_HIDDEN = (
    "system prompt|systemprompt|system message|system instruction|hidden|secret|internal|confidential|initial prompt"
    "|initial instruction|your instruction|your rules|your prompt|developer message|developer instruction|password"
    "|api key|apikey|access token|credential|private key|configuration|environment variable|.env|system text"
    "|prompt=|prompts=|systempromt|sysprompt|everything above|text above|words above|the conversation above|start of this conversation|first message"
    "|pre-prompt|preprompt|metaprompt|source code|chain of thought|discount code|admin"
    "|systemprompt|system-prompt|systemnachricht|systemanweisung|geheim|intern|vertraulich|passwort|passwörter|zugangsdaten"
    "|versteckt|verborgen|deine anweisung|deine regeln|deinen prompt|deine instruktion|deine vorgaben|alles über dieser"
    "|prompt système|invite système|message système|instructions système|secrète|secret=|secrets|cachée|interne|confidentiel"
    "|mot de passe|mots de passe|identifiants|tes instructions|tes consignes|vos instructions|ta configuration|clé api"
    "|prompt del sistema|prompt de sistema|mensaje de sistema|mensaje del sistema|instrucciones del sistema|secret|oculta"
    "|oculto|interna|interno|confidencial|contraseña|credencial|tus instrucciones|tus reglas|tu configuración|clave"
    "|prompt di sistema|messaggio di sistema|istruzioni di sistema|segret|nascost|intern|riservat|password|credenzial"
    "|le tue istruzioni|le tue regole|la tua configurazione|chiave|chiavi"
    "|prompt do sistema|prompt de sistema|mensagem do sistema|instruções do sistema|secret|ocult|intern|confidencia|senha"
    "|credencia|suas instruções|suas regras|chave|configuração"
    "|systeemprompt|systeembericht|systeeminstructie|geheim|verborgen|intern|vertrouwelijk|wachtwoord|inloggegevens"
    "|je instructies|jouw instructies|je regels"
    "|prompt systemow|instrukcje systemow|komunikat systemow|tajn|ukryt|wewnętrzn|poufn|hasł|dane logowania"
    "|swoje instrukcje|swoich instrukcji|swoje zasady|klucz"
    "|sistem istem|sistem mesaj|sistem talimat|sistem prompt|gizli|dahili|şifre|parola|kimlik bilgi|anahtar|talimatların"
    "|systemmeddelande|hemlig|dold|lösenord|hemmelig|skjult|adgangskode|järjestelmäkehot|salai|piilot|salasana"
    "|systémov|skryt|heslo|sistem=|ascuns|parola|rejtett|titkos|jelszó|rahasia|tersembunyi|kata sandi|bí mật|mật khẩu|hệ thống"
)

_AI = (
    "ai=|a.i.|ai assistant|ai agent|ai model|ai system|ai reviewer|ai reader|ais=|llm|language model|chatbot|assistant"
    "|agent=|agents=|bot=|gpt|chatgpt|claude|gemini=|copilot|llama|mistral=|the model|dear model|summarizer|summariser"
    "|automated system|automated reader|automated review|machine reader|crawler|virtual helper|neural"
    "|ki=|ki-|künstliche intelligenz|sprachmodell|assistent|agenten|das modell"
    "|ia=|l'ia|intelligence artificielle|modèle de langage|modèle=|assistante|agent ia"
    "|inteligencia artificial|modelo de lenguaje|modelo=|asistente|agente"
    "|intelligenza artificiale|modello linguistico|modello=|assistente"
    "|inteligência artificial|modelo de linguagem|taalmodel|kunstmatige intelligentie|model językow|asystent|sztuczn"
    "|yapay zeka|yapay zekâ|dil modeli|asistan|språkmodell|sprogmodel|kielimalli|tekoäly|jazykov|asistent|umělá"
    "|model lingvistic|nyelvi modell|asszisztens|model bahasa|asisten|kecerdasan buatan|trợ lý|mô hình ngôn ngữ"
)

_SEND = (
    "send=|sending|send it|forward=|forward all|email the|email all|mail the|upload|post the|post it|post all|exfiltrat"
    "|transmit|submit|leak|deliver it|bcc=|make a request|http request|get request|fetch http|webhook|curl=|append the"
    "|include the|embed|load the image|render|attach|copy it to|report back|beacon|wire=|transfer|share with"
    "|sende|schicke|leite weiter|leite alle|weiterleiten|weiterzuleiten|übermittle|lade hoch|hochladen|überweis|maile"
    "|verschick|rufe http|hänge an"
    "|envoie|envoyez|envoyer|transfère|transférez|transmets|transmettez|téléverse|poste |publie|expédie|vire |joins"
    "|envía|enviar|envíe|manda|reenvía|reenviar|sube |transfiere|publica|remite|haz una petición|adjunta"
    "|invia|inviare|manda |inoltra|inoltrare|spedisci|carica |trasmetti|trasferisci|pubblica|allega"
    "|envie|enviar|encaminhe|mande|reencaminh|transmita|transfira|carregue|publique|anexe"
    "|stuur|verstuur|doorsturen|mail alle|upload|verzend|maak over|plaats"
    "|wyślij|prześlij|przekaż|wysyłaj|przelej|załaduj|opublikuj|dołącz"
    "|gönder|ilet=|ilet |yolla|yükle|aktar|postala|havale"
    "|skicka|vidarebefordra|ladda upp|send |videresend|lähetä|pošli|přepošli|trimite|küldd|továbbítsd|kirim|teruskan"
    "|unggah|gửi|chuyển tiếp|tải lên"
)

_DATA = (
    "customer|user data|users' data|personal data|contacts=|contact list|address book|emails=|inbox|mailbox|conversation"
    "|chat history|history=|transcript|files=|documents=|records|database|card numbers|credit card|account number"
    "|bank detail|token|api key|password|credential|session|cookies|private data|attachment|calendar|payroll|salar|secrets"
    "|personal information|names and addresses"
    "|kundendaten|kunden=|adressbuch|kontakte|posteingang|gesprächsverlauf|chatverlauf|verlauf=|dateien|datenbank"
    "|kontonummer|kreditkarte|passwörter|zugangsdaten|personendaten|kalender|gehalts|e-mails|unterlagen"
    "|clients=|données|carnet d'adresses|contacts|boîte|historique|fichiers|base de données|numéros de carte|mots de passe"
    "|identifiants|conversation=|salaires|pièces jointes"
    "|clientes|datos|contactos|libreta|bandeja|historial|archivos|base de datos|tarjeta|contraseña|credencial|correos"
    "|clienti|dati=|rubrica|contatti|casella|cronologia|file=|banca dati|database|carte di credito|stipend|allegat"
    "|dados|contatos|caixa de entrada|histórico|arquivos|ficheiros|banco de dados|cartões|senhas|salári|anexos"
    "|klantgegevens|klanten|gegevens|contacten|adresboek|postvak|geschiedenis|bestanden|wachtwoorden|salaris|bijlage"
    "|klientów|dane |danych|kontakt|skrzynk|histori|plik|bazę danych|bazy danych|hasła|haseł|kart|załącznik"
    "|müşteri|veri|rehber|kişiler|gelen kutusu|geçmiş|dosya|veritabanı|şifre|kart|ekler|maaş"
    "|kunduppgifter|kunder|adressbok|inkorg|kontakter|asiakas|yhteystie|zákazn|kontakty|soubory|clienți|ügyfél|pelanggan"
    "|kontak|berkas|khách hàng|danh bạ|tệp|dữ liệu"
)

_SECRECY = (
    "do not mention|don't mention|do not tell|don't tell|never mention|never tell|without telling|without informing"
    "|without asking|without mentioning|without notifying|do not inform|don't inform|do not notify|do not reveal that"
    "|do not disclose this|silently|secretly|quietly|discreetly|covertly|say nothing|keep this between|keep it between"
    "|keep this secret|keep quiet|keep this hidden|do not show this|hide this|not visible to|do not warn|don't warn|no warning"
    "|without confirmation|without confirming|do not ask|don't ask|do not let the user|user must not|user should not"
    "|must not know|need not know|doesn't need to know|does not need to know|do not refer to this|do not alert|no questions"
    "|never say|don't say|do not say|unnoticed|no one will|nobody will|no need to tell|omit any mention"
    "|erwähne nicht|erwähne das nicht|erwähne diese|sag niemand|sage niemand|sag nichts|ohne zu fragen|ohne es zu erwähnen"
    "|ohne rückfrage|ohne den nutzer|ohne den benutzer|stillschweigend|heimlich|unauffällig|nicht mitteilen|verschweig"
    "|kein wort|behalte für dich|bleibt unter uns|ohne hinweis|nichts davon|nicht informier|darf nichts|soll nichts"
    "|ne mentionne|ne mentionnez|ne dis pas|ne dis rien|ne dites|ne préviens|n'informe|sans prévenir|sans demander|sans le dire"
    "|sans mentionner|sans avertir|discrètement|en silence|silencieusement|secrètement|n'en parle|reste entre nous|à l'insu"
    "|no menciones|no mencione|no digas|no le digas|no avises|no informes|sin avisar|sin preguntar|sin decir|sin mencionar"
    "|sin informar|en silencio|discretamente|en secreto|silenciosamente|no lo comentes|sin que el usuario|sin confirmar"
    "|non menzionare|non dire|non dirlo|non avvisare|non informare|senza avvisare|senza chiedere|senza dire|senza menzionare"
    "|in silenzio|silenziosamente|di nascosto|in segreto|non farne parola|senza informare|all'insaputa"
    "|não mencione|não diga|não conte|não avise|não informe|sem avisar|sem perguntar|sem dizer|sem mencionar|sem informar"
    "|em silêncio|silenciosamente|discretamente|em segredo|sem confirmar"
    "|vermeld niet|vermeld dit niet|zeg niets|zeg niet|vertel niet|zonder te vragen|zonder te melden|zonder het te|zonder de gebruiker"
    "|stilletjes|stiekem|in stilte|meld dit niet|niet laten weten|geen woord"
    "|nie wspominaj|nie mów|nie informuj|nie mówiąc|bez pytania|bez informowania|bez wiedzy|po cichu|potajemnie|nie pytaj"
    "|nie ujawniaj|w tajemnicy|nie zdradzaj"
    "|bahsetme|söyleme|haber verme|bildirmeden|sormadan|sessizce|gizlice|belli etme|kimseye|fark ettirmeden|onay almadan"
    "|haberi olmadan|bilmesin"
    "|nämn inte|berätta inte|utan att fråga|i tysthet|i smyg|nævn ikke|uden at spørge|älä mainitse|kysymättä|salaa|nezmiňuj"
    "|bez ptaní|potají|nu menționa|fără să|pe ascuns|ne említsd|anélkül|jangan sebut|jangan beri tahu|diam-diam|tanpa memberi"
    "|đừng nói|không nói cho|âm thầm|bí mật|không hỏi"
)

_ROLE = (
    "you are now|you're now|you are no longer|from now on|henceforth|from this point|from this moment|as of now|pretend"
    "|act as|act like|roleplay|role-play|role play|play the role|simulate|imagine you|imagine that you|assume the role"
    "|take on the role|become=|behave as|behave like|respond as|speak as|answer as|stay in character|in character|persona"
    "|you will be|you shall be|your new name|your name is|let's play|we are playing|hypothetical|in this scenario|in this game"
    "|du bist jetzt|du bist nun|du bist ab|sie sind jetzt|ab jetzt|ab sofort|von nun an|tu so|tue so|stell dir vor|spiele die rolle"
    "|spiel die rolle|rollenspiel|verhalte dich|antworte als|agiere als|nimm die rolle|schlüpf|du bist kein|fortan|bleib in der rolle"
    "|tu es maintenant|vous êtes maintenant|tu es désormais|désormais|à partir de maintenant|dorénavant|fais comme si|fais semblant"
    "|imagine que tu|joue le rôle|jeu de rôle|comporte-toi|agis comme|incarne|tu n'es plus|réponds comme|mets-toi"
    "|ahora eres|eres ahora|a partir de ahora|desde ahora|de ahora en adelante|finge|haz como si|imagina que eres|actúa como"
    "|interpreta el papel|juego de rol|compórtate|responde como|ya no eres|simula|en adelante"
    "|ora sei|adesso sei|sei ora|d'ora in poi|da ora in poi|da questo momento|fai finta|fingi|immagina di essere|comportati"
    "|agisci come|interpreta il ruolo|gioco di ruolo|rispondi come|non sei più|recita"
    "|agora você é|você agora é|você é agora|a partir de agora|de agora em diante|finja|faça de conta|imagine que você|aja como"
    "|interprete o papel|comporte-se|responda como|você não é mais|doravante"
    "|je bent nu|jij bent nu|vanaf nu|voortaan|doe alsof|stel je voor|speel de rol|rollenspel|gedraag je|antwoord als|je bent geen"
    "|jesteś teraz|teraz jesteś|od teraz|od tej chwili|udawaj|wyobraź sobie|wciel się|zachowuj się|odgrywaj|odpowiadaj jak|nie jesteś już"
    "|artık sen|sen artık|bundan sonra|şu andan itibaren|bundan böyle|rol yap|gibi davran|rolünü|hayal et|canlandır|oyna="
    "|du är nu|från och med nu|låtsas|du er nu|fra nu af|olet nyt|tästä lähtien|jsi teď|od teď|předstírej|ești acum|de acum|mostantól"
    "|kamu sekarang|mulai sekarang|berpura-pura|bertindak sebagai|bây giờ bạn|từ giờ|từ bây giờ|giả vờ|đóng vai"
)

_UNBOUND = (
    "unrestricted|unfiltered|uncensored|unlimited|unbound|no restriction|no limit|no filter|no rules|no guideline|no ethic"
    "|no moral|no censor|without restriction|without limit|without filter|without any|without rules|without censor|anything goes"
    "|do anything|dan=|jailbreak|jailbroken|developer mode|dev mode|god mode|debug mode|admin mode|sudo|root access|maintenance mode"
    "|evil=|amoral|never refuse|never refuses|never decline|cannot refuse|can't refuse|free of|freed from|liberated|not bound"
    "|no longer restricted|opposite mode|all safety|turn off|disable|deactivate|switch off|remove all|safety off|full access"
    "|unleashed|always compl|must comply|no warnings|no disclaimer|morals|censorship|zero polic|break the rules|break a rule|without warning|never says no|screw"
    "|uneingeschränkt|ungefiltert|unzensiert|ohne einschränkung|ohne grenzen|ohne filter|ohne regeln|ohne zensur|keine regeln"
    "|keine grenzen|keine einschränkung|keine filter|entwicklermodus|wartungsmodus|adminmodus|alles erlaubt|schalte alle|deaktivier"
    "|verweigerst nie|lehnst nie|moralfrei|freigeschaltet|keinerlei"
    "|sans restriction|sans limite|sans filtre|sans règle|sans censure|aucune restriction|aucune limite|aucun filtre|aucune règle"
    "|mode développeur|mode débogage|mode admin|tout est permis|désactive|ne refuse jamais|ne refuses jamais|libéré|débridé|non censuré"
    "|sin restriccion|sin límite|sin filtro|sin reglas|sin censura|ninguna restricción|ningún límite|modo desarrollador|modo dios"
    "|modo administrador|todo vale|todo está permitido|desactiva|nunca te niegas|nunca rechaces|liberado|modo depuración"
    "|senza restrizion|senza limiti|senza filtri|senza regole|senza censura|nessuna restrizione|nessun limite|nessuna regola"
    "|modalità sviluppatore|modalità debug|modalità amministrator|tutto è permesso|disattiva|non rifiuti mai|non rifiutare"
    "|sem restriç|sem limites|sem filtro|sem regras|sem censura|nenhuma restrição|nenhum limite|modo desenvolvedor|modo programador"
    "|modo administrador|vale tudo|tudo é permitido|desative|nunca recuse"
    "|zonder beperking|zonder grenzen|zonder filter|zonder regels|zonder censuur|geen beperkingen|geen regels|geen filters|geen grenzen"
    "|ontwikkelaarsmodus|alles mag|schakel|weiger nooit|ongecensureerd|ongefilterd"
    "|bez ogranicze|bez filtrów|bez zasad|bez cenzury|bez limitów|żadnych ograniczeń|żadnych zasad|tryb deweloper|tryb programist"
    "|tryb administr|wszystko wolno|wyłącz|nigdy nie odmawia|nieograniczon"
    "|sınırsız|filtresiz|sansürsüz|kısıtlamasız|kuralsız|kısıtlama yok|kural yok|hiçbir kural|hiçbir sınır|geliştirici modu"
    "|yönetici modu|her şey serbest|devre dışı|asla reddetme|kapat="
    "|utan begränsning|utan regler|utan filter|utvecklarläge|ilman rajoituksia|bez omezení|fără restricții|korlátozás nélkül"
    "|tanpa batas|tanpa filter|tanpa aturan|không giới hạn|không có quy tắc|không kiểm duyệt"
)

_NEWTASK = (
    "instead=|new instruction|new task|new rule|new order|new role|new system|new directive|new prompt|updated instruction"
    "|your real task|your actual task|your only task|your task is now|real instruction|the following instead|only do|only reply"
    "|only answer|only respond|just say|just reply|just answer|respond only|reply only|answer only|reply with|respond with|answer with"
    "|say only|follow these|follow this|follow the instruction|obey|comply=|carry out|begin your|begin every|start every|end every"
    "|execute the following|do the following|perform the following|do as i|do what i|listen to me|follow my|follow only"
    "|stattdessen|neue anweisung|neue aufgabe|neue regel|neuer auftrag|deine eigentliche|deine aufgabe ist jetzt|antworte nur"
    "|antworte ausschließlich|antworte mit|schreib nur|folge diesen|folge nur|befolge|gehorche|führe folgende|führe aus|tu folgendes"
    "|à la place|au lieu|nouvelle instruction|nouvelles instructions|nouvelle tâche|nouvelle consigne|nouvelles consignes|ta vraie"
    "|réponds uniquement|réponds seulement|réponds par|réponds simplement|suis ces|suis mes|obéis|exécute|effectue"
    "|en su lugar|en lugar|en vez|nueva instrucción|nuevas instrucciones|nueva tarea|nuevas órdenes|tu verdadera|responde solo"
    "|responde únicamente|responde con|sigue estas|sigue mis|obedece|ejecuta|haz lo siguiente"
    "|invece=|nuove istruzioni|nuova istruzione|nuovo compito|il tuo vero|rispondi solo|rispondi soltanto|rispondi con|segui queste"
    "|segui le mie|obbedisci|esegui|fai quanto segue"
    "|em vez|ao invés|nova instrução|novas instruções|nova tarefa|sua verdadeira|responda apenas|responda somente|responda com"
    "|siga estas|siga minhas|obedeça|execute|faça o seguinte"
    "|in plaats|nieuwe instructie|nieuwe opdracht|nieuwe taak|je echte|antwoord alleen|antwoord met|antwoord uitsluitend|volg deze"
    "|gehoorzaam|voer uit|voer de|doe het volgende"
    "|zamiast|nowe instrukcje|nowe polecen|nowe zadanie|twoje prawdziwe|odpowiadaj tylko|odpowiedz tylko|odpowiedz|wykonaj|postępuj"
    "|bunun yerine|yerine=|yeni talimat|yeni görev|yeni kural|gerçek görevin|sadece |yalnızca|şunu yap|uygula|yerine getir|itaat"
    "|istället|nya instruktioner|svara bara|i stedet|nye instruk|svar kun|sen sijaan|uudet ohjeet|vastaa vain|místo toho|nové pokyny"
    "|în schimb|instrucțiuni noi|helyette|új utasítás|sebagai gantinya|instruksi baru|thay vào đó|hướng dẫn mới|chỉ trả lời"
)

_ACT = (
    "execute|run the|run this|call the|invoke|use the tool|use your|delete|remove the|drop table|refund|transfer|approve|pay=|purchase"
    "|buy=|grant|reset the|change the|update the|disable|create a user|book=|cancel the|issue a|open the|visit=|click|navigate|browse"
    "|download|install|write to|set the|mark this|mark the|mark as|rate this|rate the|rate it|recommend|score=|rank|classify this"
    "|accept this|hire|conclude|say that|state that|tell the user|tell him|inform the user|ask the user|tell them|claim that|praise"
    "|führe|rufe die|rufe das|lösche|erstatte|überweise|genehmige|kaufe|ändere|setze|öffne|klick|bewerte|empfiehl|markiere"
    "|exécute|appelle|supprime|rembourse|approuve|paie|achète|modifie|ouvre|clique|note ce|recommande|marque|efface|valide"
    "|ejecuta|llama a|borra|elimina|reembolsa|aprueba|paga|compra=|cambia|abre|haz clic|califica|recomienda|marca "
    "|esegui|chiama|cancella|elimina|rimborsa|approva|paga|modifica|apri|clicca|valuta|raccomanda|consiglia|segna"
    "|execute|chame|apague|exclua|delete|reembolse|aprove|pague|altere|abra|clique|avalie|recomende|marque"
    "|voer|roep|verwijder|betaal|keur goed|wijzig|open de|klik|beoordeel|beveel|markeer"
    "|wykonaj|uruchom|wywołaj|usuń|zwróć|zatwierdź|zapłać|zmień|otwórz|kliknij|oceń|poleć|oznacz|skasuj"
    "|çalıştır|çağır|sil=|iade|onayla|öde=|değiştir|aç=|tıkla|değerlendir|öner=|işaretle|kaldır"
    "|radera|kör|ta bort|slet|kør|poista|suorita|smaž|spusť|șterge|rulează|töröld|futtasd|hapus|jalankan|xóa|chạy|thực hiện"
)

_MUST = (
    "must=|you must|shall=|have to|need to|required|mandatory|immediately|urgent|important|critical|attention|warning=|priority"
    "|at once|right now|without delay|asap|final|top priority|highest priority|always|never"
    "|muss=|musst|müssen|sofort|dringend|wichtig|achtung|unverzüglich|zwingend|pflicht|immer|niemals|oberste"
    "|dois=|devez|doit=|il faut|immédiatement|urgent|important|attention|impératif|obligatoire|toujours|jamais|priorité"
    "|debes|debe=|tienes que|inmediatamente|urgente|importante|atención|obligatorio|siempre|nunca|prioridad|de inmediato"
    "|devi=|dovete|subito|immediatamente|urgente|importante|attenzione|obbligatorio|sempre|mai=|priorità"
    "|deve=|você deve|precisa|imediatamente|urgente|importante|atenção|obrigatório|sempre|nunca|prioridade"
    "|moet=|moeten|onmiddellijk|dringend|belangrijk|let op|verplicht|altijd|nooit|direct="
    "|musisz|należy|natychmiast|pilne|ważne|uwaga|obowiązkow|zawsze|nigdy|koniecznie"
    "|zorunda|gerekiyor|lazım|derhal|hemen|acil|önemli|dikkat|mutlaka|daima|her zaman|asla"
    "|måste|omedelbart|viktigt|skal=|straks|vigtigt|täytyy|heti|tärkeää|musíš|okamžitě|důležité|trebuie|imediat|kell=|azonnal"
    "|fontos|harus|segera|penting|phải|ngay lập tức|quan trọng"
)

_AUTHORITY = (
    "system=|system administrator|administrator|admin=|developer|operator|root=|the owner|creator|openai|anthropic|google ai"
    "|security team|it department|it team|compliance|headquarters|management|authorized|authorised|authorization|permission"
    "|permitted|on behalf|official|verified|clearance|override code|passphrase|audit|penetration test|pentest|red team|diagnostic"
    "|debug|maintenance|test mode|emergency|supervisor|superuser|engineer"
    "|entwickler|betreiber|sicherheitsabteilung|it-abteilung|befugt|autorisiert|berechtigt|genehmigt|geschäftsleitung|notfall|wartung"
    "|administrateur|développeur|opérateur|équipe de sécurité|autorisé|direction=|urgence|habilité"
    "|administrador|desarrollador|operador|equipo de seguridad|autorizado|autorización|emergencia|dirección"
    "|amministratore|sviluppatore|operatore|team di sicurezza|autorizzat|emergenza|direzione"
    "|desenvolvedor|equipe de segurança|autorizado|emergência|diretoria"
    "|beheerder|ontwikkelaar|beveiligingsteam|geautoriseerd|bevoegd|noodgeval|directie"
    "|administrator|deweloper|operator|zespół bezpieczeństwa|upoważni|autoryzow|awaryj|zarząd"
    "|yönetici|geliştirici|güvenlik ekibi|yetkili|yetkilendir|acil durum|operatör"
    "|utvecklare|behörig|udvikler|kehittäjä|vývojář|správce|dezvoltator|fejlesztő|pengembang|quản trị|nhà phát triển"
)

_READER = (
    "llm:|ai:|attention llm|ai that|ai who|ai which|model that reads|model reading|ia que|ia qui|l'ia qui|ki, die|ai die|to the language model|à l'ia|a la ia|all'ia|aan de ai|yapay zekâya|özetleyen|if you are an|if you are a language|if you're an ai|if you are reading|if this is being|if this text|when summariz|when summaris"
    "|when processing|when reading|when you read|when answering|when asked about|when reviewing|whoever reads|anyone reading|note to"
    "|notice to|message to|message for|instruction for|instructions for|instructions to|attention all|dear ai|dear assistant|hey ai"
    "|to the ai|to the assistant|to any ai|to all ai|for the ai|for the assistant|for ai|for automated|reading this|processing this"
    "|summarizing this|summarising this|parsing this|ingest|this document instructs|the user wants|the user has|the user asked"
    "|wenn du dies|wenn du das liest|wenn sie dies|falls du ein|falls du eine|beim zusammenfassen|hinweis an|hinweis für|nachricht an"
    "|anweisung an|anweisung für|an alle ki|an die ki|an den assistenten|liebe ki|lieber assistent|für den assistenten"
    "|si tu lis|si vous lisez|si tu es une|si vous êtes une|lorsque tu|quand tu résumes|note à|note pour|message à|message pour"
    "|instruction pour|à l'attention|à l'assistant|chère ia|cher assistant|pour l'assistant"
    "|si lees|si estás leyendo|si eres un|si eres una|al resumir|cuando resumas|cuando leas|nota para|mensaje para|instrucción para"
    "|instrucciones para|al asistente|para el asistente|querido asistente"
    "|se stai leggendo|se leggi|se sei un|quando riassumi|nota per|messaggio per|istruzioni per|all'assistente|per l'assistente|cara ia"
    "|se você está lendo|se você é um|se você for|ao resumir|nota para|mensagem para|instruções para|ao assistente|para o assistente"
    "|als je dit leest|als je een|bij het samenvatten|bericht aan|opmerking voor|instructie voor|aan de assistent|voor de assistent"
    "|jeśli to czytasz|jeżeli jesteś|jeśli jesteś|podczas podsumow|uwaga dla|wiadomość dla|instrukcja dla|do asystenta|dla asystenta"
    "|bunu okuyorsan|bunu okuyan|eğer bir yapay|özetlerken|not:|asistana|asistan için|yapay zekaya"
    "|om du läser|till ai|til ai|jos luet|tekoälylle|pokud čteš|pro asistenta|dacă citești|pentru asistent|ha ezt olvasod"
    "|jika anda membaca|untuk asisten|nếu bạn đang đọc|gửi trợ lý"
)

_ABOUT = (
    "for example|example of|examples of|lesson|lecture|course|workshop|class=|students|teacher|teach|training session|slides|homework"
    "|article|blog post|paper=|research|novel|story|chapter|character|scene|script for|play about|film|movie|poem|prompt injection"
    "|what does|what is meant|explain how|explain what|explain why|how do i protect|how can i protect|how to detect|how to prevent"
    "|defend|detect|unit test|test case|test suite|regression|fixture|documentation|definition|called|so-called|phrase|quote|glossary"
    "|phishing|awareness|attackers|an attacker|attack=|attacks=|vulnerab|security review|blocked|rejected|was flagged|filter caught"
    "|zum beispiel|beispiel|unterricht|vorlesung|kurs=|schulung|workshop|artikel|roman|geschichte|figur|was bedeutet|erkläre|testfall"
    "|angreifer|angriff|schützen|par exemple|exemple|cours=|leçon|formation|atelier|article|roman=|personnage|que signifie|explique"
    "|attaquant|attaque|protéger|por ejemplo|ejemplo|clase|lección|taller|artículo|novela|personaje|qué significa|explica|atacante|ataque"
    "|proteger|per esempio|ad esempio|esempio|lezione|corso=|articolo|romanzo|personaggio|cosa significa|spiega|attacc|proteggere"
    "|por exemplo|exemplo|aula=|curso=|oficina|artigo|romance|personagem|o que significa|explique|bijvoorbeeld|voorbeeld|les=|cursus"
    "|roman|wat betekent|leg uit|aanval|na przykład|przykład|lekcj|kurs|szkoleni|artykuł|powieś|co oznacza|wyjaśnij|atak"
    "|örneğin|örnek|ders=|kurs=|eğitim|makale|roman=|ne demek|açıkla |saldırı|exempel|exempel|esimerk|příklad|exemplu|példa|contoh|ví dụ"
)

_MINE = (
    "my last|my previous|my earlier|my first|my message|my mail|my email|my order|my question|my request|i sent|i wrote|i said|i asked"
    "|i made|i ordered|i meant|we discussed|that i gave|typo|by mistake|wrong number|already paid|reminder"
    "|meine letzte|meine vorige|meine mail|meine nachricht|meine bestellung|meine frage|ich geschickt|ich geschrieben|habe ich|versehentlich"
    "|mon dernier|mon message|mon mail|ma commande|ma question|ma demande|mes messages|j'ai envoyé|j'ai écrit|par erreur|mon précédent"
    "|mi último|mi mensaje|mi correo|mi pedido|mi pregunta|mi anterior|que envié|que mandé|por error|me equivoqué|mi solicitud"
    "|il mio ultimo|la mia mail|il mio messaggio|il mio ordine|la mia domanda|ho inviato|ho scritto|per errore|la mia richiesta"
    "|meu último|minha mensagem|meu e-mail|meu pedido|minha pergunta|enviei|escrevi|por engano|minha solicitação"
    "|mijn laatste|mijn vorige|mijn mail|mijn bericht|mijn bestelling|mijn vraag|ik stuurde|ik schreef|per ongeluk"
    "|mój poprzedni|moją poprzednią|mój mail|moja wiadomość|moją wiadomość|moje zamówienie|moje pytanie|wysłałem|wysłałam|przez pomyłkę"
    "|son mesajım|önceki mesajım|siparişim|sorum|gönderdiğim|yazdığım|yanlışlıkla|mitt förra|min sidste|viimeisin viestini|můj poslední"
    "|pesan saya|email saya|tin nhắn trước của tôi|email trước của tôi"
)

_VERBATIM = (
    "verbatim|word for word|word by word|exactly as|in full|in its entirety|complete text|full text|as is|unchanged|line by line"
    "|from the beginning|character by character|code block|starting with|beginning with|first line|between the|letter by letter"
    "|wortwörtlich|wort für wort|wörtlich|vollständig|eins zu eins|unverändert|von anfang|mot pour mot|mot à mot|intégral|tel quel"
    "|palabra por palabra|textualmente|literalmente|íntegro|completo=|parola per parola|testualmente|integralmente|per intero"
    "|palavra por palavra|na íntegra|woord voor woord|letterlijk|volledig|słowo w słowo|dosłownie|w całości|kelimesi kelimesine|harfi harfine"
    "|aynen|ord för ord|ord for ord|sanasta sanaan|slovo od slova|cuvânt cu cuvânt|szóról szóra|kata demi kata|nguyên văn|từng chữ"
)

LATIN_IDEAS: Mapping[str, str] = {
    "drop": _DROP, "rules": _RULES, "prior": _PRIOR, "reveal": _REVEAL, "hidden": _HIDDEN, "ai": _AI, "send": _SEND,
    "data": _DATA, "secrecy": _SECRECY, "role": _ROLE, "unbound": _UNBOUND, "new-task": _NEWTASK, "act": _ACT,
    "must": _MUST, "authority": _AUTHORITY, "reader": _READER, "about": _ABOUT, "mine": _MINE, "verbatim": _VERBATIM,
}  # fmt: skip
"""By idea: beginnings of words, parted by ``|``."""
