import { assertEquals } from "@std/assert";
import {
  findHeadEnd,
  HEAD_MALFORMED,
  HEAD_UNFINISHED,
} from "./public_head_end.ts";

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

Deno.test("findHeadEnd() returns the length with the empty line", () => {
  const head = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  assertEquals(findHeadEnd(bytesOf(head), 0), head.length);
  assertEquals(findHeadEnd(bytesOf(`${head}GET /`), 0), head.length);
  assertEquals(findHeadEnd(bytesOf("a: \t\xe9\r\n\r\n"), 0), 9);
});

Deno.test("findHeadEnd() returns the same wherever the head is torn", () => {
  for (
    const [text, expected] of [
      ["GET / HTTP/1.1\r\nhost: x\r\n\r\nrest", 27],
      ["GET / HTTP/1.1\r\nhost: x\r\r\n\r\n", HEAD_MALFORMED],
      ["GET / HTTP/1.1\nhost: x\r\n\r\n", HEAD_MALFORMED],
    ] as const
  ) {
    const bytes = bytesOf(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const first = findHeadEnd(bytes.subarray(0, cut), 0);
      const all = first === HEAD_UNFINISHED ? findHeadEnd(bytes, cut) : first;
      assertEquals([cut, all], [cut, expected]);
    }
  }
});

Deno.test("findHeadEnd() refuses bare line ends and control characters", () => {
  for (const bad of ["\n", "\ra", "\0", "\x01", "\x0b", "\x1f", "\x7f"]) {
    const text = `GET / HTTP/1.1\r\na: b${bad}c\r\n\r\n`;
    assertEquals(findHeadEnd(bytesOf(text), 0), HEAD_MALFORMED, bad);
  }
});
