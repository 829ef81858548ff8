/**
 * How much a word says, as far as it can be told without a collection: what
 * stands in every second sentence says little of a text, and a rare word much.
 * It stands in for the inverse document frequency (Spärck Jones, 1972), which a
 * vector that depends on its text alone cannot have.
 *
 * Words that mean much in another of the languages are not in the lists, such
 * as German "die" and French "car".
 *
 * @module
 */

import { englishStem } from "./english_stem.ts";
import { isStopWord, type Word } from "./words.ts";

/** Little words of other languages than English, accents off. */
const LITTLE = [
  // German
  "aber alle allem allen aller alles als am an andere anderen auch auf aus " +
  "bei beim bis da damit dann das dass dein deine dem den denn der des " +
  "deshalb dich dir doch dort du durch ein eine einem einen einer eines " +
  "einfach er es etwas euch eure fur gegen gerade gern gerne haben habe " +
  "hast hatte hatten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer immer " +
  "ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinem " +
  "keinen keiner konnen konnte machen macht mehr mein meine meinem meinen " +
  "meiner mich mir mit muss mussen nach nein nicht nichts noch nun nur ob " +
  "oder ohne schon sehr sein seine seinem seinen seiner seit selbst sich " +
  "sie sind soll sollte uber um und uns unser unsere unter viel viele vom " +
  "von vor wann waren warum was weil welche welchem welchen welcher " +
  "welches wem wen wenn wer werden wie wieder wir wird wo wohl wurde " +
  "wurden zu zum zur zwischen",
  // French
  "afin ainsi alors apres as au aussi autre autres aux avait avant avec " +
  "avez avoir avons beaucoup bien ca ce ceci cela celle celles celui ces " +
  "cet cette chaque chez comme dans de depuis deux donc dont elle elles en " +
  "encore entre est et etait etaient ete etes etre eux fait faire fois ici " +
  "il ils je jamais jusque la le les leur leurs lors lui ma mais me meme " +
  "memes mes moi moins mon ne ni nos notre nous ont ou par parce pas peu " +
  "peut peux plus pour pourquoi qu quand que quel quelle quelles quels qui " +
  "quoi sa sans se sera ses si sont sous souvent suis sur ta te tes toi " +
  "toujours tous tout toute toutes tres tu un une va vers voici voila vos " +
  "votre vous y cest jai quil nest dun dune",
  // Spanish
  "a ahora al algo alguien algun alguna algunas algunos antes aqui asi aun " +
  "aunque cada casi como con cual cuales cuando cuanto del desde despues " +
  "donde dos el ella ellas ellos entonces era eran eres esa esas ese eso " +
  "esos esta estaba estan estar estas este esto estos estoy fue fueron ha " +
  "haber hace hacer hacia han hasta hay he las lo los mas mi mientras mis " +
  "misma mismo mucha muchas mucho muchos muy nada nosotros nuestra nuestro " +
  "nunca o otra otras otro otros para pero poco por porque pues quien " +
  "quienes segun ser siempre sido sin sobre sois somos soy su sus tambien " +
  "tan tanto tener tengo ti tiene tienen toda todas todo todos tus una " +
  "unas uno unos ustedes usted vez ya yo",
  // Italian
  "abbiamo alla allo anche ancora avere aveva che chi ci cio cosa cosi cui " +
  "dal dalla dei della delle dello di dopo due e ed erano essere fa fatto " +
  "gia gli hai hanno ho io l lei li loro mai mie miei mio molto nel nella " +
  "nelle noi non nostra nostro ogni per perche piu poi prima qual quale " +
  "quali quando quanto quella quello quelli questa questi questo sei " +
  "sempre senza siamo sia solo sono sta stata stato sua sugli sul sulla " +
  "suo suoi tra tua tuo tutta tutti tutto voi vostra vostro",
  // Portuguese
  "agora ainda ao aos aquele aquela com dela dele depois do ela elas ele " +
  "eles em entao essa esse estao estava eu faz fazer foi foram isso isto " +
  "lhe mesmo meu meus minha minhas muito muita muitos na nao nas nem no " +
  "nossa nosso num numa onde os pela pelo pra quais quem sao seja sem seu " +
  "seus so suas tambem tem tenho ter teu tudo uma umas vai voce voces",
  // Dutch
  "aan altijd bij daar dan dat deze dit doen een geen geweest had heb " +
  "hebben hebt heeft hem het hier hij hoe hun ik in is jij jou jouw kan " +
  "kunnen maar meer mij mijn moet moeten naar nee niet niets nog nu of om " +
  "omdat ons onze ook op over tegen toch toen tot u uit veel voor waar " +
  "wanneer waarom wat we weer wel welk welke werd wij wil worden wordt zal " +
  "ze zei zelf zich zij zijn zo zonder zou",
].join(" ");

/** Forms of English words that hardly a day passes without. */
const EVERYDAY =
  "always another anyone anything around ask asked back big bit came come " +
  "day did everyone everything even ever feel felt find found gave get " +
  "give go gone gonna good got great happen hello help here hey hi hope " +
  "keep kind knew know let life like little long look lot love made make " +
  "many may maybe mean might much must need never new next nice nothing " +
  "now oh ok okay old one people place please put really right said saw " +
  "say see seen shall show since someone something start still stuff sure " +
  "take talk tell thank thanks thing think thought time today told took " +
  "try two use used wanna want way week well went work wow yeah year yep " +
  "yes yet";

/**
 * Other common English words: what is done, how it is, when and how much. Names
 * of things are not among them, because texts are about things.
 */
const COMMON =
  "able above absolutely accept across act action actually add afternoon " +
  "age ago agree air allow almost alone along already although amazing " +
  "among amount angry answer anyway apart appear april area arrive august " +
  "available avoid awake aware away awesome bad base beat beautiful became " +
  "become began begin behind believe below best better born bottom bought " +
  "break bring broke brought build built busy buy bye call calm care carry " +
  "case catch caught cause center centre certain chance change cheap check " +
  "child children choice choose clean clear clearly close cold collect " +
  "comfortable common complete concern consider contain continue control " +
  "cool correct cost count couple course cover create cross cut daily dark " +
  "date deal dear december decide decision deep definitely depend describe " +
  "detail develop different difficult direct discover discuss doubt early " +
  "easily easy effect effort eight either else empty end enjoy enough " +
  "enter entire especially evening event eventually exactly example " +
  "excellent except excited exciting expect expensive experience explain " +
  "express extra face fact fail fair fall famous fantastic far fast " +
  "favorite favourite fear february feed few figure fill final finally " +
  "fine finish fit five fix focus follow force forget form forward four " +
  "free fresh friday front full fun funny general gentle glad goal goodbye " +
  "grew group grow guess guy half hang happy hard hardly hate hear heard " +
  "height held herself high himself hit hold home honest hour however huge " +
  "human hundred hungry hurry hurt idea ill imagine important improve " +
  "include incredible indeed information inside instead interest " +
  "interesting invite issue item itself january join july june land large " +
  "last late lately later lay lead learn least leave left less level lie " +
  "lift likely limit line list listen live local lock lonely lose lost " +
  "loud low luck lucky mad main manage march mark matter measure meat meet " +
  "member mention mess message met million mind mine minute miss mistake " +
  "mix moment monday month morning move myself name near nearly neither " +
  "nervous night nine none nope nor normal note notice november " +
  "number october offer often older online open order ordinary ought " +
  "ourselves outside own paid pair part pass past pay perfect perhaps " +
  "period person pick piece plan play pleasure plenty point poor popular " +
  "position possible practice prefer prepare present press pretty price " +
  "probably problem produce promise proper protect proud prove public pull " +
  "push quarter question quick quickly quiet quite raise ran rather reach " +
  "ready real realize reason receive recent recently regular relax remain " +
  "remember remind remove rent repeat reply report rest result return rich " +
  "room round row run safe sale saturday save scared search seat second " +
  "secret seem self sense sent september serious serve service set seven " +
  "several shape share short side similar simple simply single sir " +
  "situation six size slow small smart soft sold soon sorry sort sound " +
  "special spend spent spot stand state stay step stood stop straight " +
  "strange strong success sudden suddenly suggest sunday super support " +
  "suppose surprise terrible themselves therefore third thousand three " +
  "thursday till tiny together tomorrow tonight topic total totally touch " +
  "toward towards trip trouble true trust tuesday turn twelve twice type " +
  "understand understood unless upon upset upstairs usual usually various " +
  "wait waste wednesday weekend welcome whatever whenever whether whole " +
  "wide wish within without wonder wonderful word world worse worst worth " +
  "wrong yesterday young yourself";

/** Words that tell when something was or will be, in several languages. */
const TIMES =
  "yesterday today tomorrow tonight ago last next since weekend week weeks " +
  "month months year years monday tuesday wednesday thursday friday " +
  "saturday sunday january february march april june july august september " +
  "october november december gestern heute morgen vorgestern ubermorgen " +
  "seit letzte letzten letzter letztes nachste nachsten nachster nachstes " +
  "woche wochen monat monate jahr jahre montag dienstag mittwoch " +
  "donnerstag freitag samstag sonntag januar februar marz mai juni juli " +
  "oktober dezember aujourdhui demain depuis dernier derniere prochain " +
  "prochaine semaine semaines mois annee annees lundi mardi mercredi jeudi " +
  "vendredi samedi dimanche janvier fevrier mars avril juin juillet aout " +
  "septembre octobre novembre decembre ayer hoy manana desde pasado pasada " +
  "proximo proxima semana semanas meses ano anos lunes martes miercoles " +
  "jueves viernes sabado domingo enero febrero marzo abril mayo junio " +
  "julio agosto septiembre octubre noviembre diciembre ieri oggi domani " +
  "scorso scorsa prossimo prossima settimana mese anno lunedi martedi " +
  "mercoledi giovedi venerdi sabato domenica gennaio febbraio aprile " +
  "maggio giugno luglio settembre ottobre dicembre ontem hoje amanha " +
  "passada janeiro fevereiro maio junho julho setembro outubro novembro " +
  "dezembro gisteren vandaag vorige volgende jaar maand maandag dinsdag " +
  "woensdag donderdag vrijdag zaterdag zondag";
const TIME_WORDS: ReadonlySet<string> = new Set(TIMES.split(" "));
/** The beginning of a question for a time, accents off. */
const ASKS_TIME =
  /^(?:(?:since|until|seit|bis|depuis|desde|da|sinds) )?(?:when|wann|quand|cuando|quando|wanneer|(?:how|wie) (?:long|lange)|(?:what|which) (?:year|month|day|date|time))\b/;

/** The weight of a word that says next to nothing. */
export const LITTLE_WEIGHT = 0.3;

/** Weights of words as they are written, and of the stems of English ones. */
const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ...weighed(COMMON, 0.8),
  ...weighed(EVERYDAY, 0.5),
  ...LITTLE.split(" ").map((word) => [word, LITTLE_WEIGHT] as const),
]);

function weighed(
  words: string,
  weight: number,
): readonly (readonly [string, number])[] {
  return words.split(" ").map((word) => [englishStem(word), weight] as const);
}

/**
 * Returns the weight of a word in lower case, without accents, whose stem is
 * `base`: 1 for a word that is in no list, {@linkcode LITTLE_WEIGHT} for one
 * that says next to nothing.
 */
export function wordWeight(word: string, base: string): number {
  if (isStopWord(word)) return LITTLE_WEIGHT;
  return WEIGHTS.get(word) ?? WEIGHTS.get(base) ?? 1;
}

/** Whether a word tells when something was or will be, as "Monday" does. */
export function tellsTime({ text }: Word): boolean {
  return TIME_WORDS.has(text);
}

/** Whether words begin like a question for a time, such as "since when". */
export function asksForTime(words: readonly Word[]): boolean {
  const opening = words.slice(0, 3).map(({ text }) => text).join(" ");
  return ASKS_TIME.test(opening);
}
