import { assertEquals } from "@std/assert";
import { koreanStem } from "./korean.ts";

Deno.test("koreanStem() takes particles off", () => {
  const stems = [
    ["서울", "서울에서 서울은 서울로 서울에서는 서울까지"],
    ["도서관", "도서관에 도서관이에요 도서관입니다"],
    ["집", "집에 집에서 집으로"],
  ] as const;
  for (const [stem, forms] of stems) {
    for (const form of [stem, ...forms.split(" ")]) {
      assertEquals(koreanStem(form), stem, form);
    }
  }
});

Deno.test("koreanStem() gives forms of a verb one stem", () => {
  const families = [
    "가다 가요 갔다 갔어요 갑니다",
    "마시다 마셔요 마셨어요 마십니다",
    "일하다 일해요 일했어요 일합니다",
    "배우다 배워요 배웠다 배우고",
  ];
  for (const family of families) {
    const stems = new Set(family.split(" ").map(koreanStem));
    assertEquals(stems.size, 1, `${family}: ${[...stems].join()}`);
  }
});

Deno.test("koreanStem() leaves a syllable, single letters and what is too long", () => {
  assertEquals(koreanStem("이"), "이");
  assertEquals(koreanStem("ㅋㅋㅋ"), "ㅋㅋㅋ");
  assertEquals(koreanStem("가".repeat(40)), "가".repeat(40));
});
