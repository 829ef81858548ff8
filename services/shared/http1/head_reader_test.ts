import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { parseHead, type RequestHead } from "./head.ts";
import { findHeadEnd, HeadReader, RepeatedHead } from "./head_reader.ts";
import { DEFAULT_LIMITS } from "./settings.ts";
import type { Wire } from "../wire.ts";
import { InputBuffer } from "./input_buffer.ts";

const HEAD_UNFINISHED = -1;
const HEAD_MALFORMED = -2;

function toBytes(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

Deno.test("findHeadEnd() returns the length with the empty line", () => {
  const head = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  assertEquals(findHeadEnd(toBytes(head), 0), head.length);
  assertEquals(findHeadEnd(toBytes(`${head}GET /`), 0), head.length);
  assertEquals(findHeadEnd(toBytes("a: \t\xe9\r\n\r\n"), 0), 9);
});

Deno.test("findHeadEnd() returns the same wherever the head is torn", () => {
  for (
    const [text, expected] of [
      ["GET / HTTP/1.1\r\nhost: x\r\n\r\nrest", 27],
      ["GET / HTTP/1.1\r\nhost: x\r\r\n\r\n", HEAD_MALFORMED],
      ["GET / HTTP/1.1\nhost: x\r\n\r\n", HEAD_MALFORMED],
    ] as const
  ) {
    const bytes = toBytes(text);
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
    assertEquals(findHeadEnd(toBytes(text), 0), HEAD_MALFORMED, bad);
  }
});

const GET = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
const POST = "POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n";

/** All header fields of the heads here. */
const FIELDS = ["host", "x", "content-length", "connection", "expect", "long"];

/** Gives out pieces of a stream, one with each read. */
class PiecesWire implements Wire {
  readonly #pieces: Uint8Array[];

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = [...pieces];
  }

  opened(): Promise<void> {
    return Promise.resolve();
  }

  read(buffer: Uint8Array): Promise<number | null> {
    const piece = this.#pieces.shift();
    if (piece === undefined) return Promise.resolve(null);
    const length = Math.min(piece.length, buffer.length);
    buffer.set(piece.subarray(0, length));
    if (length < piece.length) this.#pieces.unshift(piece.subarray(length));
    return Promise.resolve(length);
  }

  write(): Promise<number> {
    return Promise.resolve(0);
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}

interface Reading {
  readonly reader: HeadReader;
  readonly input: InputBuffer;
}

function createReader(
  pieces: readonly (string | Uint8Array)[],
  maxBytes = 16_384,
): Reading {
  const wire = new PiecesWire(
    pieces.map((it) => typeof it === "string" ? Buffer.from(it, "latin1") : it),
  );
  const input = new InputBuffer(wire, maxBytes);
  const nothing = (): void => {};
  const deadline = { start: nothing, stop: nothing };
  const limits = { ...DEFAULT_LIMITS, maxHeaderBytes: maxBytes };
  const reader = new HeadReader(input, deadline, limits);
  return { reader, input };
}

function getHead(next: Awaited<ReturnType<HeadReader["next"]>>): RequestHead {
  if (next.kind !== "ok") throw new Error(JSON.stringify(next));
  return next.head;
}

function parsed(text: string): RequestHead {
  return getHead(parseHead(text));
}

/** All of a head, its header fields among it: they are private to it. */
function shown(head: RequestHead): unknown {
  const { headers, ...rest } = head;
  return {
    ...rest,
    lines: headers.size,
    values: FIELDS.map((name) => headers.all(name)),
  };
}

/** Takes `length` bytes of a body. */
async function takeBody(input: InputBuffer, length: number): Promise<string> {
  while (input.length < length) {
    if (await input.more() !== "bytes") throw new Error("The body ends early");
  }
  return Buffer.from(input.take(length)).toString("latin1");
}

Deno.test("RepeatedHead.match() knows nothing before a head is kept", () => {
  const last = new RepeatedHead();
  assertEquals(last.length, 0);
  assertEquals(last.match(toBytes("")), undefined);
  assertEquals(last.match(toBytes(GET)), undefined);
});

Deno.test("RepeatedHead.match() gives the same head for the same bytes, whatever follows", () => {
  const last = new RepeatedHead();
  const head = parsed(GET);
  last.keep(head, { bytes: toBytes(`${GET}hello`), length: GET.length });
  assertEquals(last.length, GET.length);
  assertStrictEquals(last.match(toBytes(GET)), head);
  assertStrictEquals(last.match(toBytes(GET + GET)), head);
  assertStrictEquals(last.match(toBytes(`${GET}\0\xff`)), head);
});

Deno.test("RepeatedHead.match() takes no head that differs in any byte or is not there in whole", () => {
  const last = new RepeatedHead();
  last.keep(parsed(GET), { bytes: toBytes(GET), length: GET.length });
  for (let at = 0; at < GET.length; at++) {
    const other = Buffer.from(GET, "latin1");
    other[at]! ^= 0x20;
    assertEquals([at, last.match(other)], [at, undefined]);
    assertEquals([at, last.match(toBytes(GET.slice(0, at)))], [at, undefined]);
  }
  assertEquals(last.match(toBytes(`\r\n${GET}`)), undefined);
});

Deno.test("RepeatedHead.keep() owns its bytes: the buffer may be written again", () => {
  const last = new RepeatedHead();
  const head = parsed(GET);
  const buffer = toBytes(GET);
  last.keep(head, { bytes: buffer, length: GET.length });
  buffer.fill(0);
  assertEquals(last.match(buffer), undefined);
  assertStrictEquals(last.match(toBytes(GET)), head);
});

Deno.test("RepeatedHead.keep() keeps the last head alone, also one of the same length", () => {
  const last = new RepeatedHead();
  const other = GET.replace("/a", "/c");
  const heads = [GET, POST, other].map(parsed);
  [GET, POST, other].forEach((text, index) => {
    last.keep(heads[index]!, { bytes: toBytes(text), length: text.length });
  });
  assertEquals(last.match(toBytes(GET)), undefined);
  assertEquals(last.match(toBytes(POST)), undefined);
  assertStrictEquals(last.match(toBytes(other)), heads[2]);
});

Deno.test("RepeatedHead.keep() keeps no long head, which would stay with an idle connection", () => {
  const last = new RepeatedHead();
  const long = (length: number): string => {
    const text = `GET /a HTTP/1.1\r\nhost: x\r\nx: `;
    return `${text}${"y".repeat(length - text.length - 4)}\r\n\r\n`;
  };
  const most = long(2_048);
  const head = parsed(most);
  last.keep(head, { bytes: toBytes(most), length: 2_048 });
  assertEquals(last.length, 2_048);
  const more = long(2_049);
  last.keep(parsed(more), { bytes: toBytes(more), length: 2_049 });
  assertEquals(last.length, 2_048);
  assertEquals(last.match(toBytes(more)), undefined);
  assertStrictEquals(last.match(toBytes(most)), head);
});

Deno.test("RepeatedHead.keep() keeps no head of many fields, which take more than their bytes", () => {
  const last = new RepeatedHead();
  const withFields = (count: number): string =>
    `GET /a HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(count - 1)}\r\n`;
  const [most, more] = [withFields(24), withFields(25)];
  last.keep(parsed(more), { bytes: toBytes(more), length: more.length });
  assertEquals(last.length, 0);
  last.keep(parsed(most), { bytes: toBytes(most), length: most.length });
  assertEquals(last.length, most.length);
});

Deno.test("HeadReader.next() gives one head object for heads that are the same to the byte", async () => {
  const { reader } = createReader([GET + GET, GET.slice(0, 9), GET.slice(9)]);
  const first = getHead(await reader.next());
  assertStrictEquals(getHead(await reader.next()), first);
  assertStrictEquals(getHead(await reader.next()), first);
  assertEquals((await reader.next()).kind, "ended");
});

Deno.test("HeadReader.next() takes nothing of the body with a head that is repeated", async () => {
  const { reader, input } = createReader([
    `${POST}hello${POST}HELLO\r\n${POST}hello`,
  ]);
  const first = getHead(await reader.next());
  assertEquals(await takeBody(input, 5), "hello");
  assertStrictEquals(getHead(await reader.next()), first);
  assertEquals(await takeBody(input, 5), "HELLO");
  // The empty line that some clients end a body with.
  assertStrictEquals(getHead(await reader.next()), first);
  assertEquals(await takeBody(input, 5), "hello");
});

Deno.test("HeadReader.next() does not take a longer head for the one it begins like", async () => {
  const longer = GET.replace("\r\n\r\n", "\r\nx: y\r\n\r\n");
  const texts = [GET, longer, GET, longer];
  const { reader } = createReader([texts.join("")]);
  for (const text of texts) {
    assertEquals(shown(getHead(await reader.next())), shown(parsed(text)));
  }
});

Deno.test("HeadReader.next() does not know a head again of which it was refused or cut off", async () => {
  const bad = "GET /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n";
  const { reader } = createReader([GET + bad]);
  getHead(await reader.next());
  assertEquals((await reader.next()).kind, "refused");
  const cut = createReader([GET + GET.slice(0, -1)]);
  getHead(await cut.reader.next());
  assertEquals((await cut.reader.next()).kind, "ended");
});

/** Heads of which some begin, end or are as long as others. */
const HEADS = [
  GET,
  GET.replace("/a", "/c"),
  GET.replace("\r\n\r\n", "\r\nx: y\r\n\r\n"),
  GET.replace("HTTP/1.1\r\n", "HTTP/1.0\r\nconnection: keep-alive\r\n"),
  POST,
  POST.replace(": 5", ": 6"),
  POST.replace("host", "Host"),
  POST.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n"),
  `GET /l HTTP/1.1\r\nhost: x\r\nlong: ${"z".repeat(3_000)}\r\n\r\n`,
];

Deno.test("HeadReader.next() reads a stream of repeated heads as one that parses each of them", async () => {
  let [rounds, repeats] = [0, 0];
  await eachRound({ rounds: 6 }, async ({ random }) => {
    rounds++;
    const messages: { readonly head: string; readonly body: string }[] = [];
    for (let left = 1 + random.below(25); left > 0; left--) {
      const before = messages.at(-1)?.head;
      const head = before !== undefined && random.chance(0.6)
        ? before
        : random.pick(HEADS);
      messages.push({ head, body: createBody(head, random) });
    }
    const stream = toBytes(
      messages.map(({ head, body }) =>
        (random.chance(0.1) ? "\r\n" : "") + head + body
      ).join(""),
    );
    const { reader, input } = createReader(splitPieces(stream, random));
    let previous: RequestHead | undefined;
    for (const [index, { head, body }] of messages.entries()) {
      const where = `message ${index}`;
      const read = getHead(await reader.next());
      assertEquals(shown(read), shown(parsed(head)), where);
      assertEquals(await takeBody(input, body.length), body, where);
      if (read === previous) repeats++;
      previous = read;
    }
    assertEquals((await reader.next()).kind, "ended");
  });
  assert(repeats > 3 * rounds, `only ${repeats} heads were known again`);
});

/** A body that fits the head; heads and ends of heads among what it holds. */
function createBody(head: string, random: SeededRandom): string {
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const from = random.pick([GET, "\r\n\r\n\r\n", "hello!", "\0\xff\r\n\n\x80"]);
  return from.slice(0, length).padEnd(length, "-");
}

function splitPieces(stream: Uint8Array, random: SeededRandom): Uint8Array[] {
  const most = random.pick([1, 7, 60, 500, 100_000]);
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < stream.length;) {
    const length = 1 + random.below(most);
    pieces.push(stream.subarray(from, from + length));
    from += length;
  }
  return pieces;
}
