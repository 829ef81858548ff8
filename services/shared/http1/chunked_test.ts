import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { ChunkedDecoder } from "./chunked.ts";

interface Decoded {
  readonly state: ChunkedDecoder["state"];
  readonly data: string;
  readonly used: number;
}

/** Decodes text that comes in pieces which end at `cuts`. */
function decode(text: string, cuts: readonly number[] = []): Decoded {
  const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
  const decoder = new ChunkedDecoder();
  let data = "";
  let used = 0;
  for (const end of [...cuts, bytes.length]) {
    if (decoder.state !== "open") break;
    used += decoder.push(bytes.subarray(used, end), (part) => {
      data += String.fromCharCode(...part);
      return true;
    });
  }
  return { state: decoder.state, data, used };
}

Deno.test("ChunkedDecoder takes a body apart", () => {
  const text = "5\r\nhello\r\n00A ;x=y\r\n, dear all\r\n0\r\na: b\r\n\r\n";
  assertEquals(decode(text.replace(" ;", ";") + "GET"), {
    state: "done",
    data: "hello, dear all",
    used: text.length - 1,
  });
  assertEquals(decode("0\r\n\r\n"), { state: "done", data: "", used: 5 });
  assertEquals(decode("5\r\nhel").state, "open");
  assertEquals(decode("0\r\n").state, "open");
});

Deno.test("ChunkedDecoder gives back what was encoded, however it is torn", () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < 300; round++) {
    const chunks = random.list(6, () => {
      const bytes = random.bytes(1 + random.below(40));
      return String.fromCharCode(...bytes);
    });
    const body = chunks.map((chunk) =>
      `${chunk.length.toString(16)}${
        random.chance(0.3) ? ";e=1" : ""
      }\r\n${chunk}\r\n`
    ).join("");
    const text = `${body}0\r\n${random.chance(0.3) ? "t: 1\r\n" : ""}\r\n`;
    const cuts = random.list(20, () => random.below(text.length))
      .sort((a, b) => a - b);
    assertEquals(decode(`${text}next`, cuts), {
      state: "done",
      data: chunks.join(""),
      used: text.length,
    });
  }
});

Deno.test("ChunkedDecoder refuses a broken coding", () => {
  for (
    const text of [
      "zz\r\nhi\r\n",
      "\r\n",
      ";x\r\nhi\r\n",
      "2\nhi\r\n",
      "2\r\nhi\n",
      "2\r\nhi0\r\n\r\n",
      "2\r\nh\r\n0\r\n\r\n",
      " 2\r\nhi\r\n",
      "2 \r\nhi\r\n",
      "+2\r\nhi\r\n",
      "0x2\r\nhi\r\n",
      "2;a\nb\r\nhi\r\n",
      "2;a\rb\r\nhi\r\n",
      "2;\0\r\nhi\r\n",
      "100000000\r\n",
      "000000000\r\n",
      `2;${"x".repeat(300)}\r\nhi\r\n`,
      `0\r\na: ${"x".repeat(9000)}\r\n\r\n`,
      "0\r\na: b\n\r\n",
      "-1\r\n",
    ]
  ) {
    assertEquals([text, decode(text).state], [text, "malformed"]);
  }
});

Deno.test("ChunkedDecoder refuses much ado about little data", () => {
  const chunk = `1;${"x".repeat(200)}\r\na\r\n`;
  assertEquals(decode(chunk.repeat(200)).state, "open");
  assertEquals(decode(chunk.repeat(400)).state, "malformed");
  // Single bytes are foolish, but plainly written they pass.
  assertEquals(decode("1\r\na\r\n".repeat(50_000)).state, "open");
});

Deno.test("ChunkedDecoder stops when the taker has had enough", () => {
  const decoder = new ChunkedDecoder();
  decoder.push(new TextEncoder().encode("2\r\nhi\r\n0\r\n\r\n"), () => false);
  assertEquals(decoder.state, "stopped");
});
