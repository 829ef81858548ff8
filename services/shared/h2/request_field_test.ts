import { assertEquals } from "@std/assert";
import { grpcTimeoutMs } from "./request_field.ts";

Deno.test("grpcTimeoutMs() reads a number and its unit", () => {
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
    assertEquals(grpcTimeoutMs(span), ms, text);
  }
});
