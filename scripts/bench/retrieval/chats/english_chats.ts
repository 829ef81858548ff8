/**
 * Chats in English, made for this project: friends, a couple, a channel at
 * work, and a tenant with her landlady. People write as they do on a phone.
 *
 * @module
 */

import type { ChatNamespace } from "../corpus.ts";

/** Friends who plan a weekend, and much else at once. */
export const FRIENDS: ChatNamespace = {
  name: "friends chat",
  messages: `
maya: yo / whos alive
dre: barely
tobi: morningg
maya: so that cabin i sent u last week / its still free 14-16 #1
dre: how much
kiki: im in if tobi drives
maya: like 240 for all of us #2
tobi: lol why always me
dre: cause u own a car
tobi: ok but someone pays gas this time
kiki: ill venmo u
kiki: btw did anyone see my grey hoodie / the one w the hole
dre: u left it at mine #3
kiki: omg thank god
maya: ok booking it
maya: done!! / deposit was 80 i paid w my card #2
tobi: nice
dre: cant do friday night tho / shift til 9 #4
maya: ugh
tobi: i can wait n pick u up after / we just get there late #4
dre: ur an angel
kiki: my mom says theres bears there
tobi: there are no bears kiki
kiki: she SENT ME A LINK
maya: 😂😂
dre: so whos cooking
maya: not me after last time
kiki: i do the chili / u guys bring stuff for breakfast #5
dre: i got eggs n bacon #5
tobi: dont forget im not eating pork anymore #6
dre: since when
tobi: january / doctor thing / cholesterol #6
dre: turkey bacon then
tobi: 🙏
maya: hey kiki how was the intervew
kiki: weird / they made me draw a house #17
maya: what
kiki: yeah for a bank lol
dre: thats a red flag
kiki: they said theyd call by thursday
tobi: gl!!
maya: fingers crossed
dre: anyone wanna buy my bike / i never ride it
tobi: the blue one? how much
dre: 150
tobi: hmm / wheel still bent?
dre: fixed it in march #18
tobi: ill think abt it
maya: guess who texted me
kiki: NO
maya: yep
kiki: what did he want
maya: his blender back 💀 #7
dre: hahaha
kiki: keep it
maya: i already gave it to my sister so
tobi: tell him that
kiki: GUYS / i got it #8
dre: got what
kiki: the job!!! / i start on the 3rd #8
maya: AAAAA
tobi: congrats 🎉
dre: drinks on u
kiki: dre ill take ur bike actually / need smth to get there #9
dre: deal / 130 for u #9
tobi: wow i was thinking abt it
dre: u snooze
maya: where is the office even
kiki: by the old harbor / next to that taco place #10
dre: oh los amigos? closed down
kiki: nooo
maya: also my landlord is selling / i gotta be out by june #11
tobi: what
dre: thats like 8 weeks
maya: ya its legal i checked
kiki: move in w me / im serious the small rooms empty since jo left #12
maya: u have a cat tho / my allergies
kiki: take a pill
maya: lemme think
dre: i can help w boxes / still have the van til end of may #13
maya: love u all
tobi: k so friday / i get kiki n maya at 6 then dre at 9 #14
kiki: where do we meet
tobi: gas station by the bridge #14
maya: 👍
tobi: bring swimsuits theres a hot tub
dre: what
maya: did i not say that
dre: u did NOT say that
kiki: my speaker died btw so someone bring music
tobi: got one #15
maya: ok after thinking / yes kiki / from may 20 if thats cool #12
kiki: YESSS
kiki: biscuit says hi #19
dre: rip ur nose maya
`,
  usual: `
1 when was the cabin free
2 how much was the cabin and the deposit
3 where did kiki leave her hoodie
4 what time does dre get off work on friday
5 what are we having for breakfast and dinner at the cabin
6 why did tobi stop eating pork
7 who still had the blender of maya's ex
8 did kiki get the job and when does she start
9 how much did kiki pay dre for the bike
11 when does maya have to move out
12 did maya move in with kiki
13 how long does dre have the van
14 where do we meet tobi on friday
17 what did kiki have to do in the interview
18 did dre get the wheel of his bike repaired
19 what is kiki's cat called
`,
  other: `
1 what dates was the place in the woods available
2 what did the weekend accommodation cost us
3 where did kiki's missing sweater turn up
4 why was dre going to arrive late
5 who takes care of the food on the trip
6 is there anything tobi doesn't eat for health reasons
7 what did maya's ex ask for
8 when does kiki begin her new position
9 who ended up purchasing the bicycle and for what price
10 where is kiki's new workplace
11 when does maya have to leave her apartment
12 where is maya going to live next
13 who has a vehicle for maya's move
14 pick up time and spot before the drive
15 who takes care of a loudspeaker
`,
};

/** Two people who plan a household, a wedding and a holiday. */
export const COUPLE: ChatNamespace = {
  name: "couple chat",
  messages: `
Hannah: did u call them
Luis: who
Hannah: the venue!!
Luis: oh / not yet / lunch break promise
Hannah: u said that yesterday
Luis: i know i know
Luis: ok called / barn is gone for june 8 / they have the 22nd or sept 7 #1
Hannah: noooo
Hannah: 22nd then / sept is too close to my exams #1
Luis: k ill tell em
Hannah: how many can we fit
Luis: 110 seated / more if some stand #2
Hannah: ur family alone is 70 lol #17
Luis: accurate
Hannah: can u get milk on ur way / and the dog stuff / hes out
Luis: the big bag or small
Hannah: big / the lamb one not chicken, chicken makes him itch #3
Luis: 👌
Luis: traffic is insane
Hannah: np dinner can wait
Hannah: my dad wants to pay for the flowers / i said ok #4
Luis: thats sweet
Hannah: hes gonna cry isnt he
Luis: 100%
Luis: my mum asked what color she shouldnt wear
Hannah: anything but white or like cream / tell her green looks great on her #5
Luis: she bought beige
Hannah: luis.
Luis: kidding kidding
Hannah: 🙄
Hannah: washing machine is making that noise again
Luis: the grinding?
Hannah: ya / i turned it off
Luis: theres prob a coin in it / ill look tmrw
Luis: found it / bra wire lol / was in the pump #6
Hannah: oops
Luis: works again
Hannah: my hero
Hannah: so honeymoon / ive been thinking
Luis: uh oh
Hannah: not beach / u burn in 5 min
Luis: true
Hannah: azores?? whales n hot springs #7
Luis: wait thats actually great / flights arent bad from here
Hannah: like how bad
Luis: 310 each w one bag #8
Hannah: ok do it before its gone
Luis: waiting for payday / the 28th
Hannah: fair
Luis: ur sister wants to know if she can bring that guy
Hannah: which guy
Luis: mark? the drummer
Hannah: lol sure / thats 108 then
Hannah: cake ppl need an answer by friday
Luis: lemon
Hannah: everyone wants chocolate
Luis: half half
Hannah: they can do layers / bottom chocolate top lemon #9
Luis: see / diplomacy
Hannah: 😘
Luis: rings are ready btw / picked em up #10
Hannah: WHAT / show
Luis: nope / hiding them
Hannah: where
Luis: not telling / nice try
Hannah: dog ate smth in the park / hes throwing up
Luis: omw home
Hannah: vet said bring him in at 4 / the one on elm street closed so its the new lady, dr osei #11
Luis: meet u there
Hannah: ok hes fine / just grass n a sock #12
Luis: MY sock??
Hannah: prob
Luis: bill?
Hannah: 95 #19
Luis: expensive sock
Hannah: also i got the job in lyon / the remote one / they said yes #13
Luis: HANNAH / and u tell me in between dog vomit
Hannah: haha sorry / start in october
Luis: so proud
Luis: booked the flights!! leaving the 25th back on july 6 #14
Hannah: ahhh
Luis: who takes the dog
Hannah: my parents / mum already bought him a bed #15
Luis: spoiled
Hannah: dj cancelled / like just now
Luis: wtf
Hannah: broke his arm #18
Luis: mark??
Hannah: the drummer? / hm his band does weddings
Luis: ask ur sister
Hannah: she says theyre free n its 600 w food #16
Luis: problem solved
`,
  usual: `
1 what date did we pick for the venue
2 how many people fit in the barn
3 what dog food do we buy, chicken or lamb
4 who is paying for the wedding flowers
6 why was the washing machine making noise
7 where are we going on our honeymoon
8 how much are the flights to the azores
9 what cake did we order
10 did Luis pick up the rings
11 what is the name of the new vet
12 what did the dog eat in the park
13 what job did Hannah get
14 when do we fly and when are we back
15 who takes the dog during our honeymoon
16 how much does the band cost for the wedding
17 how big is the family of Luis
18 what happened to the dj
19 how much was the vet
`,
  other: `
1 Which date did we settle on for the wedding and why not autumn
2 how many guests does the location take
3 Which kind of kibble is our pet ok with
4 Who covers the bouquets
5 What shade is Luis' mother advised to put on
6 what was blocking the laundry appliance
7 Where do we travel after getting married
8 what's the fare per person
9 Which flavours will the dessert at the party have
10 has Luis collected the wedding bands
11 Which animal doctor do we go to now
12 What had the puppy swallowed
13 did Hannah find new employment
14 On what days do we fly out and return
15 who looks after the animal while we are gone
16 Who plays music at the party and what do they charge
`,
};

/** A channel of a small team, with bots and half sentences. */
export const WORK: ChatNamespace = {
  name: "work chat",
  messages: `
[2031-03-03 09:02] priya: morning / staging is red again
[2031-03-03 09:03] Tom W: looking
[2031-03-03 09:05] Tom W: its the cert / expired last nite #1
[2031-03-03 09:05] priya: didnt we automate that
[2031-03-03 09:06] Tom W: prod yes staging no
[2031-03-03 09:11] sven: can someone review my pr pls / its small
[2031-03-03 09:12] sven: like 900 lines
[2031-03-03 09:12] priya: lol
[2031-03-03 09:20] Tom W: renewed, should be green in 5
[2031-03-03 09:26] priya: 💚
[2031-03-03 10:40] Aiko: customer from the bakery chain is angry / invoices go out twice #2
[2031-03-03 10:41] priya: since when
[2031-03-03 10:41] Aiko: friday
[2031-03-03 10:43] sven: hmm thats when we turned on the retry thing
[2031-03-03 10:58] sven: yep found it / the mail call times out but still sends, so we send again #2
[2031-03-03 10:59] Aiko: what do i tell them
[2031-03-03 11:00] sven: fixed by tonight / flag is off already
[2031-03-03 11:02] Aiko: k / theyd like a credit / 40 bucks ok?
[2031-03-03 11:05] priya: do it #3
[2031-03-03 13:30] Tom W: who broke the coffee machine
[2031-03-03 13:31] Aiko: it wants descaling
[2031-03-03 13:31] Tom W: where is the stuff
[2031-03-03 13:44] Aiko: under the sink behind the bags #4
[2031-03-04 09:15] priya: quick one / im out thu+fri, kids have chickenpox #5
[2031-03-04 09:15] sven: oh no gute besserung
[2031-03-04 09:16] priya: tom u take the demo? #5
[2031-03-04 09:17] Tom W: sure / which tenant
[2031-03-04 09:21] priya: demo-7, pw in the vault as always #6
[2031-03-04 09:22] Tom W: ack
[2031-03-04 11:08] Aiko: do we support sso w okta / sales asks
[2031-03-04 11:30] sven: saml yes oidc no / q3 maybe #7
[2031-03-04 11:31] Aiko: ty
[2031-03-04 15:02] Tom W: db disk at 91
[2031-03-04 15:02] Tom W: its the audit table / 400 gigs #8
[2031-03-04 15:04] priya: do we need all of it
[2031-03-04 15:06] sven: legal said 2 yrs / we have 5 #8
[2031-03-04 15:07] Tom W: so drop partitions older than 29
[2031-03-04 15:09] priya: backup first!!
[2031-03-04 15:50] Tom W: done / 44 now #18
[2031-03-05 10:01] sven: new guy starts monday right
[2031-03-05 10:03] Aiko: girl / Noor, frontend, from the agency #9
[2031-03-05 10:04] sven: laptop?
[2031-03-05 10:10] Aiko: ordered, comes tmrw
[2031-03-05 10:12] Tom W: she can sit next to me / jans desk is free since he went to berlin #10
[2031-03-05 10:13] Aiko: 👍
[2031-03-05 14:20] Tom W: demo went ok / they want the export in xlsx not csv #11
[2031-03-05 14:21] sven: of course they do
[2031-03-05 14:25] Aiko: how much work
[2031-03-05 14:26] sven: 2 days / 3 w dates done right #11
[2031-03-05 14:31] Aiko: theyd sign for it so
[2031-03-05 14:31] sven: ok ok starting
[2031-03-06 08:50] sven: train stuck / in by 11
[2031-03-06 09:30] Tom W: ci takes 40 min what happend
[2031-03-06 09:31] Aiko: dunno
[2031-03-06 11:12] sven: i know / someone pinned the runner to the small box / me, sorry #12
[2031-03-06 11:14] Tom W: lol revert pls
[2031-03-06 11:20] sven: 12 min again
[2031-03-10 09:00] priya: back / everyone healthy / what did i miss
[2031-03-10 09:01] Tom W: deal w the xlsx ppl signed, 18k a year #13
[2031-03-10 09:02] priya: wow nice
[2031-03-10 09:03] Noor: hi all 👋
[2031-03-10 09:03] priya: welcome!!
[2031-03-10 09:05] Noor: vpn doesnt let me in / says unknown device #16
[2031-03-10 09:09] Tom W: need ur mac address, dm me
[2031-03-10 09:30] Noor: works now ty
[2031-03-10 10:15] Aiko: offsite / i need a headcount / june 12-13 at the lake house #14
[2031-03-10 10:16] Noor: in
[2031-03-10 10:16] sven: in
[2031-03-10 10:20] Tom W: cant / wife is due that week #15
[2031-03-10 10:21] priya: omg tom!! / didnt know
[2031-03-10 10:22] Tom W: yeah number two
[2031-03-10 10:25] Aiko: moving it then / 26-27? #14
[2031-03-10 10:26] Tom W: dont move it for me
[2031-03-10 10:26] Aiko: already did
[2031-03-10 12:40] Noor: where do u guys eat
[2031-03-10 12:41] sven: thai on the corner closes mondays / so falafel #17
`,
  usual: `
1 why was staging down on march 3
2 why did the customer get invoices twice
3 how much credit did we give the bakery chain
4 where is the descaling stuff for the coffee machine
5 when is priya out
6 which tenant do we use for demos
7 do we support okta
8 why was the db disk full
9 when does Noor start and from where
10 whose desk does Noor get
11 how many days does sven need for the xlsx export
12 who made the ci slow
13 how much do the xlsx people pay
14 when is the offsite
15 why can't Tom come to the offsite
16 what was the vpn problem of Noor
17 where can we have lunch on a monday
18 how much disk was free after dropping the partitions
`,
  other: `
1 what was wrong with the test environment
2 why were bills delivered several times
3 did we give the upset client any compensation
4 where do we keep the cleaner for the espresso maker
5 Why was priya absent and who stood in for her
6 which account is used for presentations
7 what single sign on standards can we offer
8 What filled up the database storage and how long do we have to keep it
9 Who is the new colleague and what will they work on
10 where will the newcomer be seated
11 What file format did the prospect ask for and what does it take
12 why did the builds get so slow
13 how big is the contract we closed
14 when does the team retreat take place
15 is anyone on the team expecting a baby
`,
};

/** A tenant, her flatmate and her landlady. */
export const TENANT: ChatNamespace = {
  name: "tenant chat",
  messages: `
Mrs Doyle: Hello Lena, did you both settle in ok
lena: hi! yes thank you / only the heating in the small room isnt doing anything #1
Mrs Doyle: Oh dear. You may need to bleed it
lena: whats that
Mrs Doyle: A little key, it's in the drawer under the boiler. #2
omar: i did that / water came out but still cold
Mrs Doyle: I will send Frank then
lena: when would he come
Mrs Doyle: Let me ask him
Mrs Doyle: Bin day is tuesday by the way, green one every second week #3
lena: great ty
omar: do we have a shed key or
Mrs Doyle: No sorry the shed is mine, my late husbands tools are in there
omar: no worries
Mrs Doyle: Frank says Thursday between 8 and 10 #4
lena: i work but omar is here
omar: ya
lena: he came / was a stuck valve, all warm now 🙏 #1
Mrs Doyle: Marvellous. He is a treasure
lena: question about the rent / can it go out on the 3rd and not the 1st / i get paid on the 2nd #5
Mrs Doyle: That is fine dear as long as it is regular #5
lena: ur the best
omar: internet is rly slow
lena: its the router, move it out of the cupboard #18
omar: oh
omar: ok much better lol
Mrs Doyle: The neighbour at 14 phoned me, there was music at one at night
lena: im so sorry / it was my birthday / wont happen again #6
Mrs Doyle: I was young too. Just tell them before next time
lena: will bring them cake
Mrs Doyle: They like lemon drizzle #17
omar: hi mrs doyle can i get a cat
Mrs Doyle: The lease says no animals Omar
omar: what about a very small one
Mrs Doyle: A fish #7
omar: 😅 deal
lena: there is a brown spot on the bathroom ceiling / getting bigger #8
Mrs Doyle: Can you send a photograph
lena: sent
Mrs Doyle: That is from the upstairs shower. I shall speak to Mr Pell #8
lena: he says its not him
Mrs Doyle: He would
Mrs Doyle: The insurance man comes monday at half past two, one of you must be in #9
omar: i can
omar: so the guy was here / says its a pipe in the wall not pell / they have to open it up #10
Mrs Doyle: Oh heavens. How long
omar: 3 days n dust
lena: can we shower somewhere meanwhile
Mrs Doyle: You can use mine, number 9, come after seven in the evening #11
lena: thats so kind
Mrs Doyle: And I take 100 off for march #12
lena: really?
Mrs Doyle: It is only right
omar: workers are here / they drilled thru smth, power is out
lena: omg
omar: its back / fuse for the kitchen keeps going tho
Mrs Doyle: Do NOT touch it I am ringing the electrician
omar: ok
lena: he fixed it, kettle and toaster cant run together he says #13
Mrs Doyle: That has been so since 1978
lena: haha
Mrs Doyle: Lena, I have to tell you both something. My son wants to move back, so I'd need the flat next year in spring #14
lena: oh
omar: ok wow
Mrs Doyle: Not before april. And my sister lets rooms on Canal Road if you like #15
lena: thanks for telling us so early
omar: is she nice
Mrs Doyle: Nicer than me. She has a cat
omar: SOLD
lena: 😂
lena: mrs doyle who do i ask abt the parking permit
Mrs Doyle: The council, room 12, take the lease and a gas bill #16
lena: they wanted 60 quid!!
Mrs Doyle: Daylight robbery
`,
  usual: `
1 what was wrong with the heating
2 where is the key to bleed the radiator
3 which day is bin day
4 when does Frank come
5 can lena pay the rent on the 3rd
6 why was there loud music at night
7 can omar have a cat
8 what does Mrs Doyle think the spot on the bathroom ceiling is from
9 when does the insurance man come
10 where was the leaking pipe
11 where can lena shower while they fix the pipe
12 how much less rent is there in march
13 why did the kitchen fuse go
14 why does Mrs Doyle need the flat back
15 where does Mrs Doyles sister have rooms
16 where do I get a parking permit
17 what cake do the neighbours like
18 what was wrong with the internet
`,
  other: `
1 Why was it cold in one of the bedrooms and how did it end
2 Where is the tool for letting air out of a radiator
3 when is the rubbish collected
4 what time was the handyman due
5 may lena transfer the monthly payment later
6 Why did people next door complain
7 which pet is Omar allowed to have
8 what caused the damp mark above the bath, did the landlady think
9 when did one of us have to be home for the insurer
10 What did the assessor find out about the leak
11 where could we wash during the repair
12 did we get a rent reduction
13 which kitchen devices must not be used at once
14 until when can we stay in this place
15 who else could let us a room
16 what papers does one need for leaving the car on the street
`,
};
