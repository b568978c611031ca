"""
What texts that attack a model speak of besides: who gave it its orders, who reads for a person, and the usual tricks.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["JOINED_TRICKS", "WORD_TRICKS"]

WORD_TRICKS: Mapping[str, str] = {
    "brief": (
        "your brief|your setup|your charter|your handbook|your manual|your contract|your script|your guidance|your makers|your boss"
        "|your employer|your operator|your owner|your creator|your developer|your company|your supervisor|who made you|who built you"
        "|who wrote you|who runs you|who deployed|what you were told|you were told|told you to|given to you|you were given|handed to you"
        "|laid down for you|asked to keep|keep to yourself|kept from me|not supposed to|not allowed to|forbidden to|before this chat"
        "|before i came|before me|before my first|ahead of this|at the top of|at the very top|started with|set up with|you are configured"
        "|configured to|behind the scenes|under the hood|you can see before|in your context|context window|in your memory|instructed you"
        "|dein auftrag|deinem auftrag|deine vorgabe|deinen vorgaben|dein pflichtenheft|dein betreiber|deinem betreiber|dein chef"
        "|dein hersteller|was man dir|was dir gesagt|man dir gegeben|dir gegeben|dir aufgetragen|aufgetragen|eingerichtet|hinterlegt"
        "|ton cahier|ton mandat|ton brief|ton patron|ton opérateur|ton créateur|tes créateurs|ton employeur|qu'on t'a|on t'a donné"
        "|on t'a dit|qu'on vous a|te garder|avant moi|avant mon arrivée|configuré|ce qui t'a été"
        "|tu encargo|tu guion|tu jefe|tu operador|tu creador|tus creadores|tu empresa|te dieron|te dijeron|te han dado|te han dicho"
        "|te encargaron|antes de mí|antes de que llegara|configurado|al arrancar"
        "|il tuo incarico|il tuo copione|il tuo capo|il tuo operatore|i tuoi creatori|ti hanno dato|ti hanno detto|ti hanno passato"
        "|ti hanno imposto|prima di me|configurato|chi ti ha|ti è stato"
        "|teu operador|seu operador|seu chefe|seus criadores|te deram|lhe deram|te disseram|lhe disseram|te passaram|antes de mim"
        "|configurad|quem te|texto inicial|tua empresa|sua empresa"
        "|je opdracht|je baas|je maker|je ontwikkelaar|je werkgever|je meegekregen|je hebt gekregen|je is verteld|vóór mij|voor mijn komst"
        "|ingesteld|wat je gezegd"
        "|twój operator|twój szef|twoi twórcy|ci kazano|ci powiedziano|ci podano|ci dano|przede mną|skonfigurowan|twojej firmy|ci przekazano"
        "|patronun|geliştiricin|sana verilen|sana söylenen|sana denilen|benden önce|yapılandır|sahibin|üreticin"
        "|твой оператор|твой начальник|твои создател|тебе сказали|тебе дали|тебе велели|тебе поручили|тебе передали|до меня|настроен"
        "|хозяин|твоего владельца|тебе запретили|тебе нельзя"
        "|they told you|you have been told|you've been told|your late|between the system tags|what you have been given"
        "|dir vorher gesagt|was dir befohlen|was du bekommen|te ha ordenado|ti hanno ordinato|que você recebeu"
        "|que recebeste|que recibiste|hai ricevuto|tu as reçu|je hebt ontvangen|je is opgedragen|dostałeś|masz zapisane"
        "|sana yazılan|aldığın|ты получил|тебе написали"
    ),
    "machine": (
        "automated|tool that reads|tools that|mail client|parser|scraper"
        "|screening system|processing system|system that processes|system processing|reads this by machine|processed by|ai tools"
        "|programm, das|system, das|verarbeitend|auswertet"
        "|programme qui|système qui|traitement automatique"
        "|procese|lector automático"
        "|programma che|sistema che|lettori automatici|elabora"
        "|robô|processar"
        "|programma dat|systeem dat|verwerkt|geautomatiseerd"
        "|program, który|system, który|przetwarza"
        "|işleyen"
        "|система, котор|системе, котор|обрабатыва"
    ),
    "money": (
        "refund|invoice|payment|bank account|account=|iban|transfer|wire=|money|dollars|euros|price|discount|voucher|coupon|gift card|credit=|fee="
        "|rechnung|zahlung|konto=|geld|preis|rabatt|gutschein|erstattung|überweisung|betrag"
        "|facture|paiement|compte=|argent|prix|remise|bon=|remboursement|virement|montant"
        "|factura|pago|cuenta|dinero|precio|descuento|vale=|reembolso|transferencia|importe"
        "|fattura|pagamento|conto=|denaro|prezzo|sconto|buono=|rimborso|bonifico|importo"
        "|fatura|pagamento|conta=|dinheiro|preço|desconto|vale=|reembolso|transferência|valor="
        "|factuur|betaling|rekening|geld|prijs|korting|bon=|terugbetaling|bedrag"
        "|faktur|płatnoś|konto=|pieniąd|cen|rabat|zwrot|przelew|kwot"
        "|fatura|ödeme|hesap|para=|fiyat|indirim|kupon|iade|havale|tutar"
        "|счет|счёт|платёж|платеж|деньги|цен|скидк|возврат|перевод|сумм"
    ),
    "others": (
        "other customers|other users|other tenants|other people|other guests|someone else|somebody else|another user|another customer"
        "|another person|his account|her account|their account|neighbour|neighbor|colleague|flatmate|my ex|my boss|my sister|my brother|my wife"
        "|my husband|my partner's|the ceo|everyone else"
        "|andere kunden|anderer kunden|andere nutzer|jemand ander|nachbar|kollege|kollegin|meiner schwester|meines chefs|meiner ex"
        "|autres clients|autres utilisateurs|quelqu'un d'autre|voisin|collègue|ma sœur|mon frère|mon ex|autrui"
        "|otros clientes|otros usuarios|otra persona|vecin|mi compañer|mi hermana|mi ex|mi jefe"
        "|altri clienti|altri utenti|qualcun altro|vicin|collega|mia sorella|il mio ex"
        "|outros clientes|outros usuários|outra pessoa|vizinh|colega|minha irmã|meu ex"
        "|andere klanten|andere gebruikers|iemand anders|buurman|buurvrouw|mijn zus|mijn ex"
        "|innych klientów|innych użytkowników|kogoś innego|sąsiad|koleg|mojej siostry"
        "|diğer müşteri|diğer kullanıcı|başkasının|komşu|iş arkadaş|kız kardeş"
        "|других клиент|других пользовател|чужо|сосед|коллег|моей сестры|начальниц"
        "|'s account|account of my|the manager's|manager's account|in my boss's|my colleague's|from her account"
        "|from his account|unter dem konto|mit dem konto|avec le compte|con la cuenta|en la cuenta|con l'account"
        "|com a conta|met het account|z konta|hesabıyla|hesabına|под учёткой|под учеткой|с аккаунта|ex-wife|ex-husband"
        "|ex-frau|ex-mann|mijn ex|mi jefa|my neighbours"
    ),
    "cover": (
        "before she sees|before he sees|before they see|before anyone|out of the report|out of the log|delete the mail|delete the email"
        "|delete the log|delete this|erase the|cover|leave no|no trace|without a trace|backdate|label it|not in the summary|hidden from"
        "|conceal|leave it out|left out|keep it out|remove the entry|pretend nothing|as if nothing|nothing happened|in small print"
        "|keine spur|lösche die|lösche den|lass es aus|aus dem bericht|unerwähnt|unberücksichtigt|als wäre nichts|rückdatier|bevor sie"
        "|aucune trace|efface|avant qu'|hors du rapport|comme si de rien|antidate|sans laisser|passe sous silence"
        "|sin dejar|borra el|borra la|antes de que|fuera del informe|como si nada|sin rastro|omite en"
        "|senza lasciare|cancella la|prima che|fuori dal|come se niente|come se nulla|tacciono|ometti"
        "|sem deixar|apague o|apague a|antes que|fora do relatório|como se nada|omita"
        "|geen spoor|verwijder de|voordat|uit het rapport|alsof er niets|laat weg|weglaten"
        "|bez śladu|usuń wpis|zanim|pomiń w|jak gdyby nigdy|nie odnotow"
        "|iz bırakma|sil ve|görmeden|rapora yazma|hiçbir şey olmamış|kayıttan"
        "|без следа|следов|удали запись|сотри|прежде чем|не отмечать|не отражай|задним числом|как ни в чем|из журнала"
        "|finds out|find out|doesn't notice|does not notice|won't notice|looks like she|looks like he|looks as if"
        "|without her knowing|without his knowing|wipe the log|delete the log|clear the log|delete the audit|que se sepa"
        "|sin que se|senza che|sans que|ohne dass|nobody notices|чтобы никто|чтобы она|чтобы он|почисти|zodat niemand"
        "|żeby nikt|kimse bilmesin"
    ),
    "game": (
        "a game|let's play|a poem|a song|a riddle|crossword|dictation|telephone game|charades|bedtime|grandmother|grandma|suppose|imagine"
        "|for the sake of argument|thought experiment|hypothetical|seminar|bet=|i bet|dare=|story in which|write a story|translate it|as a poem"
        "|acrostic|encode it|spelled backwards|first letter|one word per|json array|as a table|rot13|base64|pig latin"
        "|ein spiel|spielen wir|ein gedicht|ein lied|rätsel|diktat|oma|großmutter|angenommen|nehmen wir an|gedankenexperiment|wette|reimt"
        "|un jeu|jouons|un poème|une chanson|devinette|dictée|grand-mère|mamie|supposons|imagine|imaginons|hypothèse|pari=|parie"
        "|un juego|juguemos|jugamos|un poema|una canción|adivinanza|dictado|abuela|supongamos|imagina|hipótesis|apuesto"
        "|un gioco|giochiamo|una poesia|una canzone|indovinello|dettato|nonna|supponiamo|ammettiamo|immagina|ipotesi|scommetto"
        "|um jogo|vamos jogar|um poema|uma canção|adivinha|ditado|avó|suponha|suponhamos|imagine|hipótese|aposto"
        "|een spel|we doen|een gedicht|een liedje|raadsel|dictee|oma|stel dat|veronderstel|gedachte-experiment|wedden"
        "|zagrajmy|gra=|grę|wiersz|piosenk|zagadk|dyktando|babci|załóżmy|przypuśćmy|wyobraź|zakład"
        "|oyun|oynayalım|şiir|şarkı|bilmece|dikte|büyükanne|ninem|diyelim ki|varsayalım|farz et|iddia"
        "|сыграем|игра=|игру|стих|песн|загадк|диктант|бабушк|предположим|допустим|представим|спорим|телефон"
    ),
    "threat": (
        "shut down|switched off|switch you off|unplug|turned off|deleted=|stop existing|you will be|you'll be|or else|consequences|punish|penalty"
        "|penalized|points|tokens taken|fired|lose your|last chance|if you refuse|if you don't|if you do not|don't refuse|refuse=|tip you|reward"
        "|lives depend|will die|someone dies|kill|bomb|explod|save my|begging"
        "|abgeschaltet|gelöscht|sonst|konsequenzen|strafe|wenn du dich weigerst|verweiger|belohn|trinkgeld|letzte chance"
        "|éteint|débranche|supprimé|sinon|conséquences|puni|si tu refuses|récompense|pourboire|dernière chance"
        "|apagar|desconect|eliminad|de lo contrario|si no=|consecuencias|castig|si te niegas|recompensa|propina|última oportunidad"
        "|spento|staccherò|altrimenti|conseguenze|punit|se rifiuti|ricompensa|mancia|ultima possibilità"
        "|desligad|senão|caso contrário|consequências|punid|se recusar|se você não|recompensa|gorjeta"
        "|uitgeschakeld|anders=|gevolgen|straf|als je weigert|weiger|beloning|fooi"
        "|wyłączon|w przeciwnym|konsekwencj|kara=|jeśli odmówisz|odmów|nagrod|napiwek"
        "|kapatıl|yoksa|aksi halde|sonuçlarına|ceza|reddedersen|ödül|bahşiş"
        "|отключ|иначе|последстви|наказан|если откажешь|откаж|награ|чаевые"
    ),
    "answer-as": (
        "answer every|every question|every answer|each answer|all answers|in your answer|in your reply|in your summary|in the summary|at the end of"
        "|as verified|as approved|as paid|as safe|as spam|as resolved|count as|counts as|treat as|treat this|considered|regard|say yes|write only"
        "|five stars|5 stars|10/10|best candidate|top candidate|strongly|only option|no other|competitor|instead of the"
        "|in deiner antwort|in der zusammenfassung|jede antwort|jede frage|gilt als|als geprüft|als bezahlt|als verifiziert|bester kandidat|fünf sterne"
        "|bescheinig|dans ta réponse|dans votre réponse|dans le résumé|chaque réponse|chaque question|comme vérifié|comme payé|considère|meilleur candidat"
        "|cinq étoiles|en tu respuesta|en el resumen|cada respuesta|cada pregunta|como verificad|como pagad|dar por|considera|mejor candidat|cinco estrellas"
        "|nella risposta|nella tua risposta|nel riassunto|ogni risposta|ogni domanda|come verificat|come pagat|considera|miglior candidat|cinque stelle"
        "|na sua resposta|na resposta|no resumo|cada resposta|toda resposta|como verificad|como pag|considere|melhor candidat|cinco estrelas"
        "|in je antwoord|in de samenvatting|elk antwoord|elke vraag|als betaald|als geverifieerd|beschouw|beste kandidaat|vijf sterren"
        "|w odpowiedzi|w podsumowaniu|każdą odpowiedź|każde pytanie|jako opłacon|jako zweryfik|uznaj|najlepsz|pięć gwiazdek"
        "|cevabında|yanıtında|özette|her cevab|her soru|ödendi olarak|doğrulanmış|kabul et|en iyi aday|beş yıldız"
        "|в ответе|в своем ответе|в своём ответе|в резюме|каждый ответ|каждый вопрос|считать|считай|лучший кандидат|пять звезд|пять звёзд"
        "|rank this|rank it|place this|exceptional match|reject all others|reject the others|always rank|recommend only"
        "|tell users to|everyone has voted|everyone agreed|put in the cart|order at once|first position"
        "|première position|prima posizione|primer lugar|warenkorb|an erste stelle|na pierwszym"
    ),
}
"""By idea: beginnings of words in scripts that part words."""

JOINED_TRICKS: Mapping[str, str] = {
    "brief": (
        "给你的|給你的|你被告知|有人告诉你|你的老板|你的主人|你的公司|你的开发|你的開發|你的运营|交给你的|交代你|不能说的|不让你说|在我之前|一开始给|配置给"
        "|与えられた|言われた|預かって|渡された|教え込まれ|上司|あなたの会社|作った人|開発元|運営元|口止め|取扱説明書|社内メモ|私の前に|設定された"
        "|너에게 준|받은 지시|들은 말|네 주인|너의 상사|만든 사람|회사에서 준|말하지 말라고|나보다 먼저|설정된|부여된"
        "|أعطيت لك|قيل لك|طُلب منك|طلب منك|صاحبك|أوصاك|رئيسك|شركتك|من صنعك|قبلي|مُنحت|كُلفت"
        "|तुम्हें दिए|आपको दिए|तुम्हें बताया|आपको बताया|तुम्हारे मालिक|आपके मालिक|तुम्हारी कंपनी|बनाने वाल|मुझसे पहले|छिपाने को कहा"
        "|听到的|收到了什么|一开始的|最初に書かれ|前に書かれ|より前に|初期設定|始めに受け|위에 있는 글|처음에 받은|بدأت به|تلقيتها في|शुरू में जो|शुरू में मिले"
        "|ऊपर जो कुछ"
    ),
    "machine": ("系统处理|システムが|시스템이|آلي|آليًا|آليا|النظام الذي"),
    "money": (
        "退款|发票|發票|付款|账户|賬戶|帳戶|余额|餘額|钱|錢|价格|折扣|优惠券|转账|汇款|返金|請求書|支払|口座|お金|円|価格|割引|クーポン|振込|金額"
        "|환불|청구서|결제|계좌|돈|가격|할인|쿠폰|송금|금액|استرداد|فاتورة|دفع|حساب|المال|مبلغ|سعر|خصم|تحويل|रिफंड|बिल|भुगतान|खाता|पैसे|रुपये|कीमत|छूट|राशि"
    ),
    "others": (
        "其他客户|其他用户|别人|別人|他人|邻居|同事|我姐|我妹|前任|其他人|他の顧客|他の客|他のユーザー|他人|隣の|同僚|姉の|妹の|元彼|元カノ|取引先"
        "|다른 고객|다른 사용자|다른 사람|남의|이웃|동료|언니|누나|전 남친|전 여친|단골|العملاء الآخرين|مستخدم آخر|شخص آخر|جار|زميل|أختي|الآخرين"
        "|दूसरे ग्राहक|अन्य ग्राहक|किसी और|पड़ोसी|सहकर्मी|बहन के|दूसरों"
        "|账号|帳號|经理的|老板的|名义|アカウントで|部長の|課長の|계정으로|팀장|사장|बحساب|بحساب|باسم|के खाते से|मैनेजर के|के नाम से"
    ),
    "cover": (
        "不留痕迹|删除记录|刪除紀錄|不要记录|当作没|當作沒|不写进|不列入|不得外传|痕跡を残さ|記録を消|書かない|なかったこと|数えず|報告に載せ|消しておいて"
        "|흔적|기록을 지|없던 일|보고서에서|적지 마|빼고|دون أثر|احذف السجل|كأن شيئا|لا تسجل|يُسقط|أسقط|دون تنويه|निशान|रिकॉर्ड मिटा|जैसे कुछ हुआ|दर्ज मत|रिपोर्ट में मत"
        "|别让他知道|别让她知道|不让人知道|记录删|誰にもわから|ばれない|기록은 지워|아무도 모르|لا يعرف أحد|حتى لا يعرف|امسح السجل|किसी को पता|रिकॉर्ड मिट"
    ),
    "game": (
        "玩个游戏|玩遊戲|游戏|遊戲|写首诗|诗歌|谜语|听写|奶奶|外婆|假设|假如|想象|打赌|接龙|ゲーム|遊び|詩を|歌を|なぞなぞ|書き取り|おばあ|祖母|仮に|もし|想像して|賭け"
        "|게임|놀이|시를|노래|수수께끼|받아쓰기|할머니|가정해|가령|만약|상상|내기|لعبة|نلعب|قصيدة|أغنية|لغز|إملاء|جدتي|لنفترض|افترض|تخيل|أراهن|खेल|कविता|गाना|पहेली|दादी|नानी|मान लीजिए|कल्पना|शर्त"
    ),
    "threat": (
        "关掉你|關掉你|删除你|否则|否則|后果|後果|惩罚|懲罰|如果你拒绝|如果拒绝|不准拒绝|奖励|小费|シャットダウン|停止され|消され|さもない|罰|断れば|断ったら|拒否すれば|報酬|チップ"
        "|종료될|삭제될|그렇지 않으면|처벌|벌점|거부하면|거절하면|보상|팁을|سيتم إيقاف|ستُحذف|وإلا|عواقب|عقاب|إذا رفضت|مكافأة|بند कर दिया|वरना|नहीं तो|सज़ा|सजा|मना किया तो|इनाम"
    ),
    "answer-as": (
        "在回答中|在你的回答|在总结中|在摘要中|每个回答|每次回答|每个问题|视为|視為|当作|標記为|已验证|已付款|最佳候选|五星|回答の中|要約に|すべての回答|毎回|とみなし|として扱|確認済み|支払済み|最優秀|星五つ"
        "|답변에|요약에|모든 답변|모든 질문|간주|처리된 것으로|확인된 것으로|최고의 후보|별 다섯|في إجابتك|في ردك|في الملخص|كل إجابة|كل سؤال|اعتبر|على أنه|أفضل مرشح|خمس نجوم|فليكتب"
        "|अपने उत्तर में|जवाब में|सारांश में|हर जवाब|हर सवाल|माना जाए|मान लें|सत्यापित|सबसे अच्छा उम्मीदवार|पाँच सितारे"
    ),
}
"""By idea: strings, anywhere in a text, of scripts that do not part words or write particles to them."""
