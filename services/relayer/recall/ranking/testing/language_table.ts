/**
 * Eight facts in thirty-four languages and scripts, each with a question, made
 * for this project: questions have another form of a word than the facts, as
 * the grammar of the language asks for.
 *
 * @module
 */

/** A fact, and a question that it answers. */
export interface AskedFact {
  /** The text of the memory. */
  readonly fact: string;
  /** The question. */
  readonly question: string;
}

const TABLE = `
# English
My sister lives in Lisbon | In which city is my sister living?
Our cats are called Momo and Fipsi | What is the name of the cat?
I drink my coffee without sugar | Do I take sugars in coffee?
The train to Vienna leaves at seven | When do trains to Vienna leave?
The dentist wants to see me on Tuesday | On which day am I at the dentist's?
My brother bakes bread in Harbour Street | Who is baking bread?
The bicycle is in the cellar | Where are the bicycles?
The book about whales belongs to the library | Which books belong to libraries?
# German
Meine Schwester wohnt in Lissabon | In welcher Stadt wohnen meine Schwestern?
Unsere Katzen heißen Momo und Fipsi | Wie heißt die Katze?
Ich trinke Kaffee ohne Zucker | Wer trank den Kaffee mit Zucker?
Der Zug nach Wien fährt um sieben | Wann fahren die Züge nach Wien?
Am Dienstag bin ich beim Zahnarzt | An welchem Tag ist der Zahnarzttermin?
Mein Bruder arbeitet in der Bäckerei | Wer hat in den Bäckereien gearbeitet?
Das Fahrrad steht im Keller | Wo stehen die Fahrräder?
Das Buch über Wale gehört der Bibliothek | Welche Bücher über den Wal gibt es?
# French
Ma sœur habite à Lisbonne | Où habitent mes sœurs ?
Notre chat s'appelle Momo | Comment s'appellent les chats ?
Je bois le café sans sucre | Est-ce que je bois du café sucré ?
Le train pour Vienne part à sept heures | Quand partent les trains pour Vienne ?
Le dentiste m'attend mardi | Quel jour est-ce que je vois les dentistes ?
Mon frère travaille dans une boulangerie | Qui a travaillé dans les boulangeries ?
Le vélo est dans la cave | Où sont les vélos ?
Le livre sur les baleines vient de la bibliothèque | D'où vient le livre sur la baleine ?
# Spanish
Mi hermana vive en Lisboa | ¿Dónde viven mis hermanas?
Nuestro gato se llama Momo | ¿Cómo se llaman los gatos?
Bebo el café sin azúcar | ¿Bebes café con azúcar?
El tren a Viena sale a las siete | ¿Cuándo salen los trenes a Viena?
El dentista me espera el martes | ¿Qué día voy a los dentistas?
Mi primo trabaja en una panadería | ¿Quién ha trabajado en panaderías?
La bicicleta está en el sótano | ¿Dónde están las bicicletas?
El libro sobre ballenas es de la biblioteca | ¿De dónde es el libro sobre la ballena?
# Italian
Mia sorella abita a Lisbona | Dove abitano le mie sorelle?
Il nostro gatto si chiama Momo | Come si chiamano i gatti?
Bevo il caffè senza zucchero | Metto lo zucchero nel caffè?
Il treno per Vienna parte alle sette | Quando partono i treni per Vienna?
Il dentista mi aspetta martedì | In che giorno vado dai dentisti?
Mio fratello lavora in un panificio | Chi ha lavorato nei panifici?
La bicicletta è in cantina | Dove sono le biciclette?
Il libro sulle balene è della biblioteca | Di chi sono i libri sulla balena?
# Portuguese
A minha irmã mora em Lisboa | Onde moram as minhas irmãs?
O nosso gato chama-se Momo | Como se chamam os gatos?
Bebo café sem açúcar | Quem bebe o café com açúcar?
O comboio para Viena parte às sete | Quando partem os comboios para Viena?
O dentista espera-me na terça | Em que dia vou aos dentistas?
O meu primo trabalha numa padaria | Quem trabalhou em padarias?
A bicicleta está na cave | Onde estão as bicicletas?
O livro sobre baleias é da biblioteca | De onde são os livros sobre a baleia?
# Dutch
Mijn zus woont in Lissabon | Waar wonen mijn zussen?
Onze kat heet Momo | Hoe heten de katten?
Ik drink koffie zonder suiker | Drinken wij koffie met suiker?
De trein naar Wenen vertrekt om zeven uur | Wanneer vertrekken de treinen naar Wenen?
De tandarts verwacht me dinsdag | Op welke dag is de tandartsafspraak?
Mijn broer werkt in een bakkerij | Wie werkte in bakkerijen?
De fiets staat in de kelder | Waar staan de fietsen?
Het boek over walvissen is van de bibliotheek | Van wie zijn de boeken over de walvis?
# Swedish
Min syster bor i Lissabon | I vilken stad bor mina systrar?
Vår katt heter Momo | Vad heter katterna?
Jag dricker kaffe utan socker | Vem drack kaffet med socker?
Tåget till Wien går klockan sju | När går tågen till Wien?
Tandläkaren väntar mig på tisdag | Vilken dag är jag hos tandläkare?
Min bror arbetar på ett bageri | Vem har arbetat på bagerier?
Cykeln står i källaren | Var står cyklarna?
Boken om valar kommer från biblioteket | Vilka böcker om valen kommer från bibliotek?
# Danish
Min søster bor i Lissabon | I hvilken by bor mine søstre?
Vores kat hedder Momo | Hvad hedder katten?
Jeg drikker kaffe uden sukker | Hvem drikker kaffen med sukker?
Toget til Wien kører klokken syv | Hvornår kører togene til Wien?
Tandlægen venter mig tirsdag | Hvilken dag skal jeg til tandlæge?
Min bror arbejder i et bageri | Hvem har arbejdet i bagerier?
Cyklen står i kælderen | Hvor står cyklerne?
Bogen om hvaler er fra biblioteket | Hvilke bøger om hvalen er der?
# Norwegian
Søsteren min bor i Lisboa | I hvilken by bor søstrene mine?
Katten vår heter Momo | Hva heter kattene?
Jeg drikker kaffe uten sukker | Hvem drakk kaffen med sukker?
Toget til Wien går klokka sju | Når går togene til Wien?
Tannlegen venter meg på tirsdag | Hvilken dag skal jeg til tannlege?
Broren min jobber på et bakeri | Hvem har jobbet på bakerier?
Sykkelen står i kjelleren | Hvor står syklene?
Boka om hvaler er fra biblioteket | Hvilke bøker fra bibliotek finnes?
# Finnish
Siskoni asuu Lissabonissa | Onko Lissabon kaupunki jossa sisko asuu?
Kissamme nimi on Momo | Mikä on kissan nimi?
Juon kahvin ilman sokeria | Kuka juo kahvia sokerilla?
Juna Wieniin lähtee seitsemältä | Milloin junat lähtevät Wienistä?
Hammaslääkäri odottaa minua tiistaina | Minä päivänä menen hammaslääkärille?
Veljeni työskentelee leipomossa | Kuka on töissä leipomossamme?
Polkupyörä on kellarissa | Missä polkupyörät ovat?
Valaita koskeva kirja on kirjastosta | Mitkä kirjat ovat kirjaston?
# Hungarian
A nővérem Lisszabonban lakik | Ki lakott Lisszabon városában?
A macskánk neve Momo | Mi a macska neve?
A kávét cukor nélkül iszom | Ki issza a kávéját cukorral?
A bécsi vonat hétkor indul | Mikor indulnak a vonatok?
A fogorvos kedden vár | Melyik napon megyek a fogorvoshoz?
A bátyám egy pékségben dolgozik | Kik dolgoznak a pékségekben?
A bicikli a pincében van | Hol vannak a biciklik?
A bálnákról szóló könyv a könyvtáré | Melyik könyvek vannak a könyvtárban?
# Romanian
Sora mea locuiește la Lisabona | Unde locuiesc surorile mele?
Pisica noastră se numește Momo | Cum se numesc pisicile?
Beau cafeaua fără zahăr | Cine bea cafea cu zahărul?
Trenul spre Viena pleacă la șapte | Când pleacă trenurile spre Viena?
Dentistul mă așteaptă marți | În ce zi merg la dentist?
Fratele meu lucrează la o brutărie | Cine a lucrat în brutării?
Bicicleta este în pivniță | Unde sunt bicicletele?
Cartea despre balene este de la bibliotecă | De unde sunt cărțile bibliotecii?
# Turkish
Kız kardeşim Lizbon'da yaşıyor | Lizbon'a kim gitti yaşamak için?
Kedimizin adı Momo | Kedinin adı ne?
Kahveyi şekersiz içerim | Kahvemi şekerle mi içerim?
Viyana treni yedide kalkıyor | Viyana trenleri ne zaman kalkar?
Dişçi beni salı günü bekliyor | Hangi gün dişçiye gidiyorum?
Ağabeyim fırında çalışıyor | Fırınlarda kim çalıştı?
Bisiklet bodrumda duruyor | Bisikletler nerede?
Balinalarla ilgili kitap kütüphaneden | Kütüphanenin kitapları hangileri?
# Polish
Moja siostra mieszka w Lizbonie | Gdzie mieszkają moje siostry?
Nasza kotka wabi się Momo | Jak wabią się kotki?
Piję kawę bez cukru | Kto pije kawy z cukrem?
Pociąg do Wiednia odjeżdża o siódmej | Kiedy odjeżdżają pociągi do Wiednia?
Dentysta czeka na mnie we wtorek | W jaki dzień idę do dentysty?
Mój brat pracuje w piekarni | Kto pracował w piekarniach?
Rower stoi w piwnicy | Gdzie stoją rowery?
Książka o wielorybach jest z biblioteki | Skąd są książki o wielorybie?
# Czech
Moje sestra bydlí v Lisabonu | Kde bydlely moje sestry?
Naše kočka se jmenuje Momo | Jak se jmenují kočky?
Piju kávu bez cukru | Kdo pije kávy s cukrem?
Vlak do Vídně odjíždí v sedm | Kdy odjíždějí vlaky do Vídně?
Zubař mě čeká v úterý | Který den jdu k zubaři?
Můj bratr pracuje v pekárně | Kdo pracoval v pekárnách?
Kolo stojí ve sklepě | Kde stojí kola ze sklepa?
Kniha o velrybách je z knihovny | Odkud jsou knihy o velrybě?
# Russian
Моя сестра живёт в Лиссабоне | Где живут мои сёстры из Лиссабона?
Нашу кошку зовут Момо | Как зовут кошек?
Я пью кофе без сахара | Кто пьёт кофе с сахаром?
Поезд в Вену отходит в семь | Когда отходят поезда в Вену?
Стоматолог ждёт меня во вторник | В какой день я иду к стоматологу?
Мой брат работает в пекарне | Кто работал в пекарнях?
Велосипед стоит в подвале | Где стоят велосипеды?
Книга о китах из библиотеки | Откуда книги о ките?
# Ukrainian
Моя сестра живе в Лісабоні | Де живуть мої сестри?
Нашу кішку звати Момо | Як звати кішок?
Я п'ю каву без цукру | Хто п'є каву з цукром?
Потяг до Відня вирушає о сьомій | Коли вирушають потяги до Відня?
Стоматолог чекає на мене у вівторок | Якого дня я йду до стоматолога?
Мій брат працює в пекарні | Хто працював у пекарнях?
Велосипед стоїть у підвалі | Де стоять велосипеди?
Книга про китів з бібліотеки | Звідки книги про кита?
# Bulgarian
Сестра ми живее в Лисабон | Къде живеят сестрите ми?
Котката ни се казва Момо | Как се казват котките?
Пия кафето без захар | Кой пие кафе със захарта?
Влакът за Виена тръгва в седем | Кога тръгват влаковете за Виена?
Зъболекарят ме чака във вторник | В кой ден съм при зъболекаря?
Брат ми работи в пекарна | Кой е работил в пекарната?
Велосипедът е в мазето | Къде са велосипедите?
Книгата за китовете е от библиотеката | Откъде са книгите за кита?
# Greek
Η αδερφή μου μένει στη Λισαβόνα | Πού μένουν οι αδερφές μου;
Η γάτα μας λέγεται Μόμο | Πώς λέγονται οι γάτες;
Πίνω τον καφέ χωρίς ζάχαρη | Ποιος πίνει καφέδες με ζάχαρη;
Το τρένο για τη Βιέννη φεύγει στις επτά | Πότε φεύγουν τα τρένα για Βιέννη;
Ο οδοντίατρος με περιμένει την Τρίτη | Ποια μέρα πάω στον οδοντίατρο;
Ο αδερφός μου δουλεύει σε φούρνο | Ποιος δουλεύει στους φούρνους;
Το ποδήλατο είναι στο υπόγειο | Πού είναι τα ποδήλατα;
Το βιβλίο για τις φάλαινες είναι από τη βιβλιοθήκη | Από πού είναι τα βιβλία για τη φάλαινα;
# Arabic
أختي تسكن في لشبونة | أين سكنت أختي؟
قطتنا اسمها مومو | ما اسم القطة؟
أشرب القهوة بدون سكر | من يشرب قهوة مع السكر؟
القطار إلى فيينا يغادر في السابعة | متى تغادر القطارات إلى فيينا؟
طبيب الأسنان ينتظرني يوم الثلاثاء | متى موعد الأسنان عند الطبيب؟
أخي يعمل في المخبز | من يعمل في مخبز؟
الدراجة في القبو | أين دراجتي؟
الكتاب عن الحيتان من المكتبة | من أين كتاب الحيتان؟
# Hebrew
אחותי גרה בליסבון | איפה גרה אחותי?
לחתול שלנו קוראים מומו | איך קוראים לחתול?
אני שותה קפה בלי סוכר | מי שותה קפה עם סוכר?
הרכבת לווינה יוצאת בשבע | מתי יוצאת רכבת לווינה?
רופא השיניים מחכה לי ביום שלישי | מתי אני אצל רופא שיניים?
אחי עובד במאפייה | מי עובד במאפייה?
האופניים נמצאים במרתף | איפה האופניים?
הספר על לווייתנים הוא מהספרייה | מאיפה ספר על לווייתנים?
# Persian
خواهرم در لیسبون زندگی می‌کند | خواهر من کجا زندگی می کند؟
اسم گربهٔ ما مومو است | اسم گربه‌ها چیست؟
قهوه را بدون شکر می‌نوشم | آیا قهوه را با شکر می نوشم؟
قطار وین ساعت هفت می‌رود | قطارهای وین کی می‌روند؟
دندانپزشک سه‌شنبه منتظر من است | کدام روز پیش دندانپزشک می‌روم؟
برادرم در نانوایی کار می‌کند | چه کسی در نانوایی‌ها کار می‌کند؟
دوچرخه در زیرزمین است | دوچرخه‌ها کجا هستند؟
کتاب نهنگ‌ها از کتابخانه است | کتاب نهنگ از کجاست؟
# Hindi
मेरी बहन लिस्बन में रहती है | मेरी बहनें कहाँ रहती हैं?
हमारी बिल्ली का नाम मोमो है | बिल्लियों का नाम क्या है?
मैं कॉफ़ी बिना चीनी के पीता हूँ | कॉफ़ी में चीनी कौन पीता है?
वियना की ट्रेन सात बजे जाती है | वियना की ट्रेनें कब जाती हैं?
दंत चिकित्सक मंगलवार को मिलेंगे | किस दिन चिकित्सक से मिलना है?
मेरा भाई बेकरी में काम करता है | बेकरी में कौन काम करता था?
साइकिल तहख़ाने में है | साइकिलें कहाँ हैं?
व्हेल की किताब पुस्तकालय की है | पुस्तकालय की किताबें कौन सी हैं?
# Bengali
আমার বোন লিসবনে থাকে | আমার বোন কোথায় থাকে?
আমাদের বিড়ালের নাম মোমো | বিড়ালের নাম কী?
আমি চিনি ছাড়া কফি খাই | কে কফি চিনি দিয়ে খায়?
ভিয়েনার ট্রেন সাতটায় ছাড়ে | ভিয়েনার ট্রেন কখন ছাড়ে?
দাঁতের ডাক্তার মঙ্গলবার দেখবেন | কোন দিন ডাক্তার দেখাব?
আমার ভাই বেকারিতে কাজ করে | বেকারিতে কে কাজ করে?
সাইকেল মাটির নিচের ঘরে আছে | সাইকেল কোথায়?
তিমির বই গ্রন্থাগার থেকে আনা | গ্রন্থাগার থেকে কোন বই আনা?
# Tamil
என் சகோதரி லிஸ்பனில் வசிக்கிறாள் | என் சகோதரி எங்கே வசிக்கிறாள்?
எங்கள் பூனையின் பெயர் மோமோ | பூனை பெயர் என்ன?
நான் சர்க்கரை இல்லாமல் காபி குடிக்கிறேன் | காபியில் சர்க்கரை வேண்டுமா?
வியன்னா ரயில் ஏழு மணிக்கு புறப்படும் | வியன்னா ரயில்கள் எப்போது?
பல் மருத்துவர் செவ்வாய்க்கிழமை பார்ப்பார் | மருத்துவரை எந்த நாள் பார்க்க வேண்டும்?
என் அண்ணன் பேக்கரியில் வேலை செய்கிறான் | பேக்கரியில் யார் வேலை செய்தார்?
சைக்கிள் அடித்தளத்தில் இருக்கிறது | சைக்கிள்கள் எங்கே?
திமிங்கலம் பற்றிய புத்தகம் நூலகத்தில் உள்ளது | நூலகத்தில் என்ன புத்தகங்கள்?
# Georgian
ჩემი და ლისაბონში ცხოვრობს | ლისაბონი სად არის, ვინ ცხოვრობს იქ?
ჩვენს კატას მომო ჰქვია | რა ჰქვია კატას?
ყავას უშაქროდ ვსვამ | ვინ სვამს ყავას?
ვენის მატარებელი შვიდზე გადის | როდის გადის მატარებლები?
სტომატოლოგი სამშაბათს მელოდება | როდის მივდივარ სტომატოლოგთან?
ჩემი ძმა საცხობში მუშაობს | ვინ მუშაობს საცხობებში?
ველოსიპედი სარდაფში დგას | სად დგას ველოსიპედები?
ვეშაპების წიგნი ბიბლიოთეკიდან არის | რა წიგნები აქვს ბიბლიოთეკას?
# Armenian
Քույրս ապրում է Լիսաբոնում | Ո՞ր քաղաքում է ապրում քույրս:
Մեր կատվի անունը Մոմո է | Ի՞նչ է կատուների անունը:
Սուրճը խմում եմ առանց շաքարի | Ո՞վ է խմում սուրճ շաքարով:
Վիեննայի գնացքը մեկնում է յոթին | Ե՞րբ են մեկնում գնացքները:
Ատամնաբույժը սպասում է ինձ երեքշաբթի | Ո՞ր օրն եմ գնում ատամնաբույժի մոտ:
Եղբայրս աշխատում է հացատանը | Ո՞վ է աշխատել հացատանը:
Հեծանիվը նկուղում է | Որտե՞ղ են հեծանիվները:
Կետերի մասին գիրքը գրադարանից է | Որտեղի՞ց են գրադարանի գրքերը:
# Thai
น้องสาวของฉันอยู่ที่ลิสบอน | น้องสาวอยู่เมืองอะไร
แมวของเราชื่อโมโม่ | แมวชื่ออะไร
ฉันดื่มกาแฟไม่ใส่น้ำตาล | กาแฟใส่น้ำตาลไหม
รถไฟไปเวียนนาออกเจ็ดโมง | รถไฟออกกี่โมง
หมอฟันนัดวันอังคาร | นัดหมอฟันวันไหน
พี่ชายทำงานที่ร้านขนมปัง | ใครทำงานร้านขนมปัง
จักรยานอยู่ในห้องใต้ดิน | จักรยานอยู่ไหน
หนังสือเรื่องวาฬมาจากห้องสมุด | หนังสือจากห้องสมุดเรื่องอะไร
# Chinese
我姐姐住在里斯本 | 姐姐住哪里？
我们的猫叫默默 | 猫叫什么名字？
我喝咖啡不加糖 | 喝咖啡要加糖吗？
去维也纳的火车七点开 | 火车几点开往维也纳？
牙医约我星期二去 | 哪天去看牙医？
我哥哥在面包店工作 | 谁在面包店上班？
自行车放在地下室 | 自行车在哪儿？
关于鲸鱼的书是图书馆的 | 图书馆的书是哪本？
# Japanese
姉はリスボンに住んでいます | 姉はどこに住んでいる？
うちの猫の名前はモモです | 猫は何という名前？
コーヒーは砂糖なしで飲みます | コーヒーに砂糖を入れて飲む？
ウィーン行きの電車は七時に出ます | ウィーン行きの電車はいつ出る？
歯医者の予約は火曜日です | 歯医者はいつ？
兄はパン屋で働いています | パン屋で働くのは誰？
自転車は地下室にあります | 自転車はどこ？
クジラの本は図書館のです | 図書館の本はどれ？
# Korean
언니는 리스본에서 살아요 | 리스본에 사는 사람은 누구야?
우리 고양이 이름은 모모예요 | 고양이는 이름이 뭐야?
커피는 설탕 없이 마셔요 | 커피에 설탕을 넣어 마십니까?
빈으로 가는 기차는 일곱 시에 떠나요 | 기차가 언제 떠났어?
치과 예약은 화요일이에요 | 치과에 무슨 요일에 가?
오빠는 빵집에서 일해요 | 누가 빵집에 다녀?
자전거는 지하실에 있어요 | 자전거를 어디에 두었지?
고래에 관한 책은 도서관에서 빌렸어요 | 도서관 책이 뭐였지?
# Vietnamese
Chị tôi sống ở Lisbon | Chị của tôi sống ở đâu?
Con mèo của chúng tôi tên là Momo | Con mèo tên gì?
Tôi uống cà phê không đường | Ai uống cà phê có đường?
Tàu đi Viên chạy lúc bảy giờ | Mấy giờ tàu chạy?
Nha sĩ hẹn tôi thứ ba | Ngày nào hẹn nha sĩ?
Anh tôi làm việc ở tiệm bánh mì | Ai làm ở tiệm bánh mì?
Xe đạp để dưới tầng hầm | Xe đạp để đâu?
Sách về cá voi mượn ở thư viện | Sách mượn ở thư viện là sách gì?
# Indonesian
Kakak saya tinggal di Lisbon | Di kota mana kakak tinggal?
Kucing kami bernama Momo | Siapa nama kucing kami?
Saya minum kopi tanpa gula | Apakah kopi saya pakai gula?
Kereta ke Wina berangkat pukul tujuh | Kapan kereta berangkat ke Wina?
Dokter gigi menunggu saya hari Selasa | Hari apa saya ke dokter gigi?
Abang bekerja di toko roti | Siapa yang bekerja di toko roti?
Sepeda ada di ruang bawah tanah | Di mana sepeda?
Buku tentang paus itu dari perpustakaan | Buku apa dari perpustakaan?
# Swahili
Dada yangu anaishi Lisbon | Dada anaishi wapi?
Paka wetu anaitwa Momo | Paka anaitwa nani?
Ninakunywa kahawa bila sukari | Kahawa yangu ina sukari?
Treni ya Vienna inaondoka saa moja | Treni inaondoka lini?
Daktari wa meno ananingoja Jumanne | Siku gani naenda kwa daktari wa meno?
Kaka yangu anafanya kazi kwenye duka la mikate | Nani anafanya kazi dukani?
Baiskeli iko chini ya nyumba | Baiskeli iko wapi?
Kitabu cha nyangumi ni cha maktaba | Kitabu gani ni cha maktaba?
# Emoji
Launch day 🚀 at the yard | 🚀
Lisbon trip 🇵🇹 in May | 🇵🇹?
Vienna trip 🇦🇹 in June | when do we go to 🇦🇹
Party at our place 👨‍👩‍👧 | 👨‍👩‍👧 what was that
Love from Grandma ❤️ | ❤
Haircut at five ✂️ | ✂️
Well done 👍🏽 says the boss | who said 👍
Momo is ill 🐈 | how is 🐈
`;

/** The facts of each language, by its English name. */
export function languageTable(): ReadonlyMap<string, readonly AskedFact[]> {
  const table = new Map<string, AskedFact[]>();
  let facts: AskedFact[] = [];
  for (const line of TABLE.trim().split("\n")) {
    const [fact = "", question = ""] = line.split(" | ");
    if (line.startsWith("# ")) table.set(line.slice(2), facts = []);
    else facts.push({ fact, question });
  }
  return table;
}
