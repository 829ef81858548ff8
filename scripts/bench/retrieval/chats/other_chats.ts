/**
 * Chats in German and in Korean, made for this project: a sports club, a
 * family, and friends in Seoul.
 *
 * @module
 */

import type { ChatNamespace } from "../corpus.ts";

/** A volleyball club in German. */
export const CLUB: ChatNamespace = {
  name: "german club chat",
  messages: `
Basti: moin / wer kommt heut
jule: ich
Micha: bin dabei
anke: kann nich, rücken #1
jule: oh nein schon wieder
anke: jo / hexenschuss beim socken anziehen 🙈 #1
Basti: gute besserung!!
Micha: halle ist heut die kleine / die große haben die handballer #2
Basti: wieso das denn
Micha: turnier am we
jule: egal sind eh nur 5
Ole: 6 komme auch
Basti: ole lebt
Ole: haha ja / prüfungen rum
jule: und wie liefs
Ole: mathe naja rest gut #17
Basti: leute trikots / wer hat noch keins bestellt
anke: ich brauch M #3
Ole: XL lang
jule: wie teuer sind die jetz
Basti: 34 mit druck, verein gibt 10 dazu #4
jule: ok bezahl ich heut bar
Basti: lieber paypal pls / bargeld verlier ich
jule: 😂
Micha: netz ist gerissen übrigens
Basti: wie das
Micha: ole hat sich reingehängt
Ole: sorry
Micha: kann meine mutter nähen / bringt sie do mit #5
Basti: stark
anke: sommerfest?? wir wollten doch
jule: jaa / 12.7.?
Micha: da bin ich in dänemark
jule: 19.?
Micha: passt
anke: passt auch
Basti: also 19. bei mir im garten / grill hab ich #6
Ole: soll ich boxen mitbringen
Basti: nachbarn killen mich / kleine box reicht
jule: ich mach nudelsalat
anke: bitte ohne mayo, mir wird davon schlecht #7
jule: na klar
Micha: getränke hol ich beim großmarkt / brauch nur jmd der tragen hilft #8
Ole: ich #8
Basti: perfekt
Basti: achtung beitrag steigt ab januar / 9 statt 7 im monat #9
Ole: puh
anke: wegen der heizung in der halle oder
Basti: genau / stadt will mehr geld #9
jule: studis auch?
Basti: ne die bleiben bei 5
Ole: gott sei dank
Micha: hat wer meine knieschoner / schwarz mizuno
jule: lagen in der umkleide / hab sie eingesteckt #10
Micha: du bist die beste
anke: war beim arzt / bandscheibe / 6 wochen kein sport 😭 #11
Basti: ach mist
jule: willst du dann coachen
anke: haha warum nich
Basti: ernsthaft wir brauchen wen am spieltag / 3. mai gegen lehrte auswärts #12
anke: ok mach ich
Ole: wie kommen wir da hin
Micha: ich nehm 4 mit / bulli
Basti: rest mit mir / abfahrt 8:15 am netto #13
jule: viel zu früh
Basti: spiel ist um 10 jule
jule: 😴
Ole: gewonnen!! 3:1 #18
anke: wer coacht der kann 😎
Micha: jule hat 9 asse geschlagen #14
jule: hatte kaffee
Basti: neue is nächste woche da zum probetraining / heißt fenja, hat in kiel regionalliga gespielt #15
Micha: oha
anke: da können wir einpacken
Basti: ach ja schlüssel / hausmeister will den zurück, wer hat den
Ole: ich glaub ich
Ole: ja in der jacke / geb ihn mo ab #16
Basti: ole.
Ole: sorry
`,
  usual: `
1 was hat anke am rücken
2 warum sind wir in der kleinen halle
3 welche größe hat anke beim trikot bestellt
4 wie teuer sind die trikots
5 wer näht das netz
6 wann ist das sommerfest und bei wem
7 warum keine mayo im nudelsalat
8 wer holt die getränke
9 wie hoch ist der beitrag ab januar
10 wo waren michas knieschoner
11 was hat der arzt zu anke gesagt
12 gegen wen spielen wir am 3. mai
13 wann fahren wir zum spiel ab
14 wie viele asse hatte jule
15 wo hat fenja vorher gespielt
16 wer hat den schlüssel vom hausmeister
17 wie lief die mathe prüfung von ole
18 wie ist das spiel ausgegangen
`,
  other: `
1 Was hat Anke gehabt, dass sie nicht trainieren konnte
2 In welchem Raum trainieren wir und weshalb
3 Welche Größe braucht Anke beim Shirt
4 Was kostet die neue Spielkleidung
5 wer repariert das kaputte Netz
6 Wann und wo feiern wir im Juli
7 Was verträgt Anke beim Essen nicht
8 Wer kümmert sich ums Trinken fürs Fest
9 Warum müssen Mitglieder künftig mehr zahlen
10 Wo sind Michas Schützer für die Beine geblieben
11 Wie lange fällt Anke aus
12 Gegen wen ist die nächste Partie
13 Um wie viel Uhr und wo treffen wir uns zur Fahrt
14 Wer hat besonders gute Aufschläge gemacht
15 woher kommt die neue Spielerin
16 Wer muss noch etwas beim Hausmeister abgeben
`,
};

/** A family in German: parents, grown children, a grandmother. */
export const FAMILY: ChatNamespace = {
  name: "german family chat",
  messages: `
Mama: Hallo ihr Lieben / Oma ist im Krankenhaus, aber es geht ihr gut #1
Finn: was ist passiert
Lotta: omg
Mama: Gestürzt auf der Kellertreppe. Handgelenk gebrochen #1
Papa: links zum glück
Finn: welches kh
Mama: Marienstift Zimmer 214 #2
Lotta: ich fahr morgen hin
Finn: kann erst sonntag
Papa: sie braucht ihre brille und das radio / liegt alles bei ihr auf der kommode #3
Lotta: bring ich mit / schlüssel?
Papa: unterm blumentopf wie immer #4
Lotta: papa das ist sooo unsicher
Papa: seit 40 jahren nix passiert
Finn: andere frage / kann ich das auto haben am 9. / umzug
Mama: Da braucht Papa es für die Probe
Papa: nimm ruhig / ich lass mich von gerd mitnehmen #5
Finn: danke!!
Lotta: wohin ziehst du überhaupt
Finn: lindenau / mit 2 leuten aus der uni / 380 warm #6
Lotta: nice
Mama: Hast du schon eine Waschmaschine
Finn: ne
Mama: Tante Ruth gibt ihre ab
Finn: wie alt ist die
Mama: Drei Jahre #7
Finn: nehm ich 🙌
Lotta: war bei oma / sie schimpft übers essen also gehts ihr gut
Papa: haha
Lotta: sie darf freitag raus / kann aber nicht allein #8
Mama: Dann kommt sie zu uns ins Gästezimmer #8
Papa: da steht meine modelleisenbahn
Mama: Die kann weg Jürgen
Papa: die kann NICHT weg
Finn: 🍿
Papa: na gut auf den dachboden #17
Lotta: weihnachten / machen wir wieder raclette?
Mama: Lotta es ist August
Lotta: ich muss urlaub einreichen!! / hab 23. bis 2. eingegeben #9
Finn: bin dabei wenn kein fisch
Mama: Gibt Ente. Papas Wunsch #10
Lotta: ich ess kein fleisch mehr, hab ich doch gesagt
Mama: Seit wann
Lotta: seit ostern / du bekommst den nussbraten hin ich glaub an dich #11
Mama: Na schön, schick das Rezept
Papa: hat jemand das passwort vom streaming
Finn: welches
Papa: das mit den krimis
Finn: Dackel1956 großes D #12
Papa: danke
Lotta: jetzt wissens alle
Mama: Papa hat am 17. die OP am Knie, bitte dran denken #13
Finn: wie lang muss er bleiben
Mama: Eine Woche, danach Reha in Bad Elster #14
Papa: drei wochen ohne meine bahn
Lotta: wer passt dann auf oma auf
Mama: Ich hab mir frei genommen
Finn: ich kann mittwochs #18
Lotta: und ich am wochenende
Mama: Ihr seid goldig
Oma: Hier ist Oma. Lotta hat mir das Telefon eingerichtet
Finn: OMA!!!
Papa: willkommen mutter
Oma: Wie macht man die Bildchen
Lotta: die taste links unten mit dem gesicht #15
Oma: 🦆🦆🦆🦆
Mama: Oh weh
Oma: Finn, hast du eine Freundin
Finn: oma.
Lotta: er hat / heißt samira
Finn: LOTTA
Oma: Bring sie mit am Sonntag, ich backe Streusel #16
Papa: mit einer hand?
Oma: Du rührst
Finn: ok wir kommen um 3 #16
Mama: 🥰
Papa: gerd hat abgesagt / bin doch mit rad zur probe #19
Mama: Bei dem Regen
Papa: war nass
`,
  usual: `
1 was ist mit oma passiert
2 in welchem zimmer liegt oma im krankenhaus
3 was soll lotta oma mitbringen
4 wo liegt der schlüssel von oma
5 wann bekommt finn das auto
6 wohin zieht finn
7 wie alt ist die waschmaschine von tante ruth
8 wann darf oma aus dem krankenhaus
9 wann hat lotta urlaub an weihnachten
10 was gibt es an weihnachten zu essen
11 seit wann isst lotta kein fleisch
12 wie ist das passwort vom streaming
13 wann ist papas op am knie
14 wo macht papa reha
16 wann kommt finn mit samira zum kuchen
17 wohin kommt die modelleisenbahn
18 wann kann finn auf oma aufpassen
19 wie kommt papa zur probe
`,
  other: `
1 Was hat sich Oma beim Unfall verletzt
2 In welcher Klinik liegt sie
3 Welche Dinge wollte Großmutter gebracht haben
4 Wo ist Omas Hausschlüssel versteckt
5 Wie kam Papa zur Chorprobe geplant, als Finn den Wagen bekam
6 Wo wohnt Finn künftig und was zahlt er an Miete
7 Ist das Gerät von Ruth noch neu
8 Wo soll Oma nach der Entlassung unterkommen
9 Von wann bis wann hat Lotta zum Jahresende frei
10 Was wird am Heiligabend gekocht
11 Wie ernährt sich Lotta inzwischen
12 Wie komme ich in das Konto mit den Serien
13 Wann wird Papa operiert
14 Wohin muss Papa nach dem Eingriff
15 Wie findet Oma die Emojis
16 Wann lernt die Familie Samira kennen
`,
};

/** Friends in Korean. */
export const SEOUL: ChatNamespace = {
  name: "korean chat",
  messages: `
민지: 얘들아 / 주말에 뭐해
준호: 자야지
수아: ㅋㅋㅋㅋ
민지: 강릉 갈 사람 #1
준호: 언제
민지: 토욜 아침에 가서 일욜 저녁에 오는거 #1
수아: 나 갈래
준호: 차는
민지: 내가 렌트함 / 6만원이래 #2
태윤: 나도 껴줘
수아: 오 태윤이 살아있네
태윤: 야근 지옥이었음
준호: 나는 토욜 알바 있는데
수아: 몇시까지
준호: 2시 / 끝나고 ktx 타고 갈게 #3
민지: ㅇㅋㅇㅋ
태윤: 숙소는 어디
수아: 내가 찾아볼게
수아: 여기 어때 바다 보임 / 1박 12만 #4
민지: 오 좋다
준호: 비싸다
태윤: 넷이면 3만원인데 뭘
준호: 인정
수아: 예약 완료 / 입실 3시 #4
민지: 굿
민지: 근데 나 요즘 무릎 아파서 많이 못걸어
수아: 헐 왜
민지: 러닝하다가 삐끗 / 병원에서 한달 쉬래 #5
태윤: 그러게 무리하지 말라니까
민지: ㅠㅠ
준호: 누가 내 충전기 가져갔냐
태윤: 너 우리집에 두고 갔잖아 #6
준호: 아 맞다
태윤: 토욜에 가져감
수아: 저녁은 회 먹자
준호: 나 날거 못먹음 / 저번에 탈났어 #7
수아: 그럼 조개구이
민지: 콜
준호: 콜
태윤: 내가 아는 집 있음 / 안목해변 뒤에 #8
수아: 믿는다
민지: 수아 면접 어떻게 됨
수아: 떨어짐 ㅎ
민지: 아이고
수아: 괜찮아 다른데 또 있어 / 다음주 화요일에 판교 #9
태윤: 화이팅
준호: 거기 연봉 좋대
수아: 제발
준호: 야 나 고양이 키울까
민지: 갑자기?
준호: 알바하는 카페 앞에 새끼가 있어 / 비맞고 있더라
태윤: 집주인이 허락함?
준호: 물어봐야지
민지: 일단 병원부터 데려가
준호: ㅇㅇ 내일
준호: 데려왔다 / 이름 두부 #10
수아: 사진!!!!
민지: 헐 미쳤다 너무 귀여워
태윤: 사료값은 있고?
준호: 누나가 준대 #11
민지: 출발했다 다들
수아: 나 역 앞에 있어
민지: 5분
태윤: 커피 샀음
준호: 나 2시 반 기차 탔다 / 4시 20분 도착 #12
민지: 데리러 갈게
수아: 비온다 ㅠ
태윤: 일기예보 거짓말
민지: 그래서 바다는 못들어감 ㅋㅋ
수아: 대신 카페에서 보드게임 했잖아 / 준호가 꼴찌 #13
준호: 그 얘기 그만
태윤: 정산하자 / 인당 58000 #14
민지: 계좌 보내줘
태윤: 카뱅 3333-07 #18 / 이름 알지
수아: 보냄
준호: 월급날까지만 / 25일 #15
태윤: 이자 붙는다
준호: ㅋㅋㅋ
수아: 나 붙었다 #16
민지: 뭐가
수아: 판교!!! / 다음달부터 출근 #16
태윤: 와 대박
준호: 밥사
수아: 고기 쏜다
민지: 축하해 진짜 ㅠㅠ
태윤: 아 나 이사함 / 망원동으로 #17
준호: 언제
태윤: 지난주 / 회사 가까워서 #17
민지: 집들이 해
태윤: 휴지 사와
`,
  usual: `
1 강릉 언제 가
2 렌트 비용 얼마야
3 준호 알바 몇 시에 끝나
4 숙소 1박에 얼마야
5 민지 무릎 왜 아파
6 준호 충전기 누구 집에 있어
7 준호 회 왜 못 먹어
8 조개구이 집 어디 있어
9 수아 면접 어디서 봐
10 고양이 이름 뭐야
11 고양이 사료값 누가 줘
12 준호 기차 몇 시 도착
13 보드게임 누가 꼴찌 했어
14 정산 인당 얼마
15 준호 월급날 언제
16 수아 판교 면접 붙었어
17 태윤 어디로 이사했어
18 태윤 계좌 어느 은행이야
`,
  other: `
1 여행은 언제 어디로 가기로 했지
2 자동차 빌리는 데 얼마 들었어
3 준호는 왜 늦게 오고 뭐 타고 와
4 숙박비랑 체크인 시간 알려줘
5 민지는 다리를 왜 다쳤어
6 준호가 잃어버린 충전기 어디 있었지
7 준호가 못 먹는 음식이 뭐야
8 저녁 먹을 식당은 어디쯤이야
9 수아 다음 면접은 언제 어디서
10 준호 고양이 이름이 뭐였지
11 동물 먹이 비용은 누가 내
12 준호 기차는 몇 시에 도착해
13 누가 게임에서 졌어
14 여행 경비 한 사람당 얼마야
15 준호는 돈을 언제 갚는대
16 수아는 취직했어
17 태윤이 지금 사는 동네는 어디야
`,
};
