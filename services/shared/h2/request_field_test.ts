import { assertEquals } from "@std/assert";
import { FIELD, RequestFields } from "./request_field.ts";

Deno.test("RequestFields.meaning() reads the number and the unit of a timeout", () => {
  const fields = new RequestFields([]);
  for (
    const [text, ms] of [
      ["20m", 20],
      ["0m", 0],
      ["1S", 1_000],
      ["2M", 120_000],
      ["3H", 10_800_000],
      ["1500u", 2],
      ["1n", 1],
      ["0n", 0],
      ["99999999H", 359_999_996_400_000],
      ["00000020m", 20],
      ["", -1],
      ["m", -1],
      ["20", -1],
      ["20s", -1],
      ["-1m", -1],
      ["2 m", -1],
      ["2.5S", -1],
      ["123456789m", -1],
    ] as const
  ) {
    const bytes = new TextEncoder().encode(`xx${text}xx`);
    const span = { bytes, start: 2, end: bytes.length - 2 };
    const { kind, value } = fields.meaning(FIELD.TIMEOUT, span);
    assertEquals([kind, value], [FIELD.TIMEOUT, ms], text);
  }
});
