import { assertEquals } from "@std/assert";
import { finish } from "../concurrency/testing/finish.ts";
import { extractingSteps } from "./rule_extractor.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 15);

/** The facts that the rules find in a text. */
function factsIn(text: string, keep?: "statements" | "all"): string[] {
  const facts = finish(
    extractingSteps(text, { known: [], nowMs: NOW_MS, keep }),
  );
  return facts.map((fact) => fact.text);
}

const STATEMENTS: Readonly<Record<string, readonly string[]>> = {
  German: [
    "Ich wohne seit März in Leipzig.",
    "Meine Tochter spielt Cello.",
    "Ich mag keinen Koriander.",
    "Nächste Woche fliegen wir nach Oslo.",
  ],
  French: [
    "Je m'appelle Ada et j'habite à Lyon.",
    "Mon frère est allergique aux noix.",
    "J'adore le thé vert.",
  ],
  Spanish: [
    "Vivo en Sevilla desde enero.",
    "Mi hermana se casa en junio.",
    "No me gusta el cilantro.",
  ],
  Italian: [
    "Abito a Trieste con mia moglie.",
    "Il mio cane si chiama Argo.",
    "Preferisco il treno all'aereo.",
  ],
  Portuguese: [
    "Moro em Coimbra com a minha família.",
    "O meu filho toca violino.",
    "Gosto mais de chá do que de café.",
  ],
  Chinese: ["我住在杭州。", "我女儿对花生过敏。", "我更喜欢喝绿茶。"],
  Japanese: [
    "私は京都に住んでいます。",
    "犬を二匹飼っています。",
    "コーヒーよりお茶が好きです。",
  ],
  Korean: [
    "저는 부산에 살아요.",
    "제 딸은 땅콩 알레르기가 있어요.",
    "커피보다 녹차를 좋아해요.",
  ],
  English: [
    "My car is a red Fiat Panda.",
    "My favourite mug is the blue one.",
    "Our landlord was very strict.",
  ],
};

for (const [language, statements] of Object.entries(STATEMENTS)) {
  Deno.test(`the rules keep what people say of themselves in ${language}`, () => {
    for (const statement of statements) {
      assertEquals(factsIn(statement), [statement]);
    }
  });
}

Deno.test("the rules keep no questions, requests and small talk in other languages", () => {
  const others = [
    "Wo wohnst du eigentlich?",
    "Kannst du mir meine Notizen zeigen?",
    "Guten Morgen zusammen!",
    "Peux-tu m'aider avec mon texte ?",
    "Bonjour tout le monde !",
    "¿Dónde está mi libro?",
    "Por favor explica mi error",
    "Puoi aiutarmi con il mio codice?",
    "Obrigado pela ajuda de hoje",
    "你能帮我写一封信吗？",
    "谢谢你的帮助！",
    "私の名前を教えてください。",
    "ありがとうございます。",
    "제 이름이 뭐예요?",
    "안녕하세요 여러분",
  ];
  for (const text of others) {
    for (const keep of ["statements", "all"] as const) {
      assertEquals(factsIn(text, keep), [], text);
    }
  }
});

Deno.test("the rules keep what is asked to be remembered, without the asking", () => {
  assertEquals(factsIn("Remember that the bins go out on Tuesday."), [
    "the bins go out on Tuesday.",
  ]);
  assertEquals(factsIn("Please remember: the code of the gate is blue."), [
    "the code of the gate is blue.",
  ]);
  assertEquals(factsIn("Merk dir, dass der Schlüssel unter der Matte liegt."), [
    "der Schlüssel unter der Matte liegt.",
  ]);
  assertEquals(factsIn("记住车停在地下三层。"), ["车停在地下三层。"]);
});

Deno.test("the rules keep every sentence that says something when they are to", () => {
  const text = "The boiler was serviced in May. Thanks! Does it leak?";
  assertEquals(factsIn(text), []);
  assertEquals(factsIn(text, "all"), ["The boiler was serviced in May."]);
});
