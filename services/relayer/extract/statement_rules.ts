/**
 * Rules that tell statements of people about themselves from questions,
 * requests and small talk, for languages other than English.
 *
 * @module
 */

/** The rules of one language. */
interface LanguageRules {
  /** Words of the first person, or verbs that stand without one. */
  readonly self: RegExp;
  /** Who a person is, lives with, or can't have: what matters most. */
  readonly lasting: RegExp;
  /** Questions, requests and small talk. */
  readonly other: RegExp;
}

/** Letters before and after a word, as `\b` knows only those of English. */
const START = "(?<!\\p{L})";
const END = "(?!\\p{L})";

function words(list: string): RegExp {
  return new RegExp(`${START}(?:${list})${END}`, "iu");
}

function atStart(list: string): RegExp {
  return new RegExp(`^(?:${list})${END}`, "iu");
}

const GERMAN: LanguageRules = {
  self: words(
    "ich|mir|mich|mein(?:e[mnrs]?)?|wir|uns|unser(?:e[mnrs]?)?",
  ),
  lasting: words(
    "heiße|heisse|name|geburtstag|wohn(?:e|en|te)|leb(?:e|en|te)|arbeit(?:e|en|ete)|" +
      "allergi\\p{L}*|unverträglich\\p{L}*|geboren|verheiratet|geschieden|" +
      "umgezogen|zieh(?:e|en)|studier(?:e|en)|vegetarier(?:in)?|veganer(?:in)?|" +
      "frau|mann|partner(?:in)?|freundin|freund|tochter|töchter|sohn|söhne|" +
      "kind(?:er)?|mutter|vater|eltern|bruder|schwester|oma|opa|hund|katze",
  ),
  other: atStart(
    "wer|was|wann|wo|wohin|woher|warum|wieso|wie|welche[rnsm]?|" +
      "kannst du|könntest du|können sie|bitte|schreib|erklär|zeig|hilf|sag|" +
      "hallo|hi|danke|tschüss|guten (?:morgen|tag|abend)|gute nacht|alles klar",
  ),
};

const FRENCH: LanguageRules = {
  self: new RegExp(
    `${START}(?:je|moi|mon|ma|mes|nous|notre|nos)${END}|${START}(?:j|m)['’]`,
    "iu",
  ),
  lasting: words(
    "m['’]appelle|nom|prénom|anniversaire|habit\\p{L}+|vis|vivons|travaill\\p{L}+|" +
      "allergi\\p{L}+|intoléran\\p{L}+|née?s?|mari|mariée?s?|divorcée?s?|" +
      "déménag\\p{L}+|étudi\\p{L}+|végétari\\p{L}+|végane?|femme|épouse|fille|fils|" +
      "enfants?|mère|père|parents|frères?|sœurs?|chien|chat",
  ),
  other: atStart(
    "qui|que|quoi|quand|où|pourquoi|comment|combien|quel(?:le)?s?|est-ce|" +
      "peux-tu|pouvez-vous|pourrais-tu|s['’]il (?:te|vous) plaît|écris|explique|" +
      "montre|aide|dis|bonjour|salut|merci|au revoir|bonne (?:nuit|soirée)|" +
      "bonsoir|d['’]accord",
  ),
};

const SPANISH: LanguageRules = {
  self: words(
    "yo|mí|mi|mis|nosotr[oa]s|nuestr[oa]s?|soy|tengo|vivo|trabajo|prefiero|" +
      "odio|quiero|me|estoy|voy|juego|hablo|como|bebo|compré|nos",
  ),
  lasting: words(
    "me llamo|nombre|cumpleaños|viv(?:o|imos|ía)|trabaj\\p{L}+|alergi\\p{L}+|" +
      "alérgic[oa]s?|intoleran\\p{L}+|nací|casad[oa]s?|divorciad[oa]s?|mud\\p{L}+|" +
      "estudi\\p{L}+|vegetarian[oa]|vegan[oa]|mujer|esposa|marido|espos[oa]|" +
      "novi[oa]|hij[oa]s?|madre|padre|padres|herman[oa]s?|perr[oa]|gat[oa]",
  ),
  other: atStart(
    "¿|quién|qué|cuándo|dónde|por qué|cómo|cuál(?:es)?|cuánt[oa]s?|puedes|" +
      "podrías|por favor|escribe|explica|muestra|ayúdame|dime|hola|gracias|" +
      "adiós|buen[oa]s (?:días|tardes|noches)|vale|de acuerdo",
  ),
};

const ITALIAN: LanguageRules = {
  self: words(
    "io|mio|mia|miei|mie|noi|nostr[oaie]|sono|ho|vivo|abito|lavoro|preferisco|" +
      "odio|voglio|mi|vado|gioco|parlo|bevo|ci|abbiamo",
  ),
  lasting: words(
    "mi chiamo|nome|compleanno|viv(?:o|iamo)|abit(?:o|iamo)|lavor\\p{L}+|" +
      "allergi\\p{L}+|intolleran\\p{L}+|nat[oa]|sposat[oa]|divorziat[oa]|" +
      "trasferit[oa]|studi\\p{L}+|vegetarian[oa]|vegan[oa]|moglie|marito|" +
      "fidanzat[oa]|figli[oa]?|madre|padre|genitori|fratell[oi]|sorell[ae]|" +
      "cane|gatt[oa]",
  ),
  other: atStart(
    "chi|che cosa|cosa|quando|dove|perché|come|qual[ei]?|quant[oaie]|puoi|" +
      "potresti|per favore|scrivi|spiega|mostra|aiutami|dimmi|ciao|grazie|" +
      "arrivederci|buon(?:giorno|asera|anotte)|va bene",
  ),
};

const PORTUGUESE: LanguageRules = {
  self: words(
    "eu|meus?|minhas?|nós|nossos?|nossas?|sou|tenho|moro|trabalho|prefiro|" +
      "odeio|quero|gosto|vou|jogo|falo|bebo|comprei|adoro|estou|mim",
  ),
  lasting: words(
    "chamo|nome|aniversário|mor(?:o|amos|ava)|viv(?:o|emos)|trabalh\\p{L}+|" +
      "alergi\\p{L}+|alérgic[oa]|intoleran\\p{L}+|nasci|casad[oa]|divorciad[oa]|" +
      "mudei|mudámos|mudamos|estud\\p{L}+|vegetarian[oa]|vegan[oa]|mulher|" +
      "esposa|marido|namorad[oa]|filh[oa]s?|mãe|pai|pais|irmã[os]?|irmãos|" +
      "cachorr[oa]|cão|gat[oa]",
  ),
  other: atStart(
    "quem|o que|quê|quando|onde|por que|porquê|como|qual|quais|quant[oa]s?|" +
      "pode|poderia|por favor|escreva|escreve|explique|explica|mostre|mostra|" +
      "ajude|ajuda|diga|olá|oi|obrigad[oa]|tchau|adeus|bom dia|boa (?:tarde|noite)",
  ),
};

const CHINESE: LanguageRules = {
  self: /我|咱/u,
  lasting:
    /叫|名字|生日|住|搬|工作|上班|过敏|過敏|出生|结婚|結婚|离婚|離婚|妻子|老婆|丈夫|老公|女儿|女兒|儿子|兒子|孩子|妈妈|媽媽|爸爸|父母|哥哥|弟弟|姐姐|妹妹|素食|狗|猫|貓/u,
  other:
    /[吗嗎呢吧][。？！?!]*$|什么|什麼|谁|誰|哪里|哪裡|哪儿|怎么|怎麼|为什么|多少|^(?:请|請|帮|幫|告诉|告訴|给我写|给我看|你好|您好|谢谢|謝謝|再见|再見|好的|早上好|晚安)/u,
};

const JAPANESE: LanguageRules = {
  self:
    /私|僕|俺|わたし|ぼく|うちの|住んで|働いて|勤めて|好き|嫌い|苦手|アレルギー|飼って|買いました|買った|引っ越|結婚|予定|つもり|行きます|習って|話せ/u,
  lasting:
    /名前|といいます|と申します|誕生日|住んで|引っ越|働いて|勤めて|アレルギー|生まれ|結婚|離婚|妻|夫|娘|息子|子供|子ども|母|父|兄|弟|姉|妹|ベジタリアン|犬|猫/u,
  other:
    /か[。？?]*$|[？?]$|ください[。！!]*$|教えて|書いて|見せて|手伝って|^(?:こんにちは|こんばんは|おはよう|ありがとう|はい|いいえ|了解|さようなら|おやすみ)/u,
};

const KOREAN: LanguageRules = {
  self:
    /(?:^|\s)(?:저|나|제|내|우리|저희|전|난)(?:는|가|의|도|를|와|에게|한테)?(?=\s)|살고|살아요|일해요|일합니다|좋아해|싫어해|알레르기|키워요|샀어요|이사|결혼|갈 거예요|할 거예요|예정/u,
  lasting:
    /이름|생일|살고|살아요|이사|일해요|일하고|일합니다|다녀요|알레르기|태어|결혼|이혼|아내|남편|딸|아들|아이|어머니|아버지|엄마|아빠|부모|형|오빠|누나|언니|동생|채식|강아지|고양이/u,
  other:
    /[?？]$|(?:까요|나요|인가요|습니까|니)[?.]*$|주세요[.!]*$|줘[.!]*$|알려|^(?:안녕|고마|감사|네[.!]*$|알겠|잘 자)/u,
};

const LANGUAGES: readonly LanguageRules[] = [
  GERMAN,
  FRENCH,
  SPANISH,
  ITALIAN,
  PORTUGUESE,
  CHINESE,
  JAPANESE,
  KOREAN,
];

const QUESTION = /[?？]["'”’)\]]*$/;

/** What a sentence of another language says, by its rules. */
export type Statement = "lasting" | "statement" | "other";

/**
 * Returns what a sentence is in the first language whose people would say it of
 * themselves; undefined when there is none.
 */
export function classifySentence(sentence: string): Statement | undefined {
  if (QUESTION.test(sentence)) return "other";
  for (const { self, lasting, other } of LANGUAGES) {
    if (!self.test(sentence)) continue;
    if (other.test(sentence)) return "other";
    return lasting.test(sentence) ? "lasting" : "statement";
  }
  // Greetings and requests hold no word of the first person.
  return LANGUAGES.some(({ other }) => other.test(sentence))
    ? "other"
    : undefined;
}
