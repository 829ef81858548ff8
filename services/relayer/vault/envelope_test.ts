import { assert, assertEquals, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { openEnvelope, sealEnvelope } from "./envelope.ts";
import { EnvelopeReader, readEnvelope } from "./envelope_head.ts";

type OpenEnvelopeOptions = Parameters<typeof openEnvelope>[2];

const KEY = new Uint8Array(32).fill(7);
const CONTEXT = ["0xowner", "second"];

function sealed(text: Uint8Array): Uint8Array {
  return sealEnvelope(text, {
    kind: "blob",
    keyId: "key-1",
    key: KEY,
    context: CONTEXT,
  });
}

function opened(
  bytes: Uint8Array,
  options: Partial<OpenEnvelopeOptions> = {},
): Uint8Array | undefined {
  const outcome = readEnvelope(bytes);
  if (outcome.kind !== "ok") return undefined;
  const { head } = outcome;
  return openEnvelope(bytes, head, { key: KEY, context: CONTEXT, ...options });
}

Deno.test("openEnvelope() gives back what was sealed, of any length", () => {
  const random = new SeededRandom(3);
  for (const length of [0, 1, 15, 16, 17, 1_000, 70_000]) {
    const text = random.bytes(length);
    const bytes = sealed(text);
    assertEquals(opened(bytes), text);
    assertEquals(bytes.length, length + 8 + 5 + 4 + 12 + 16);
  }
});

Deno.test("sealEnvelope() lays out the head as documented", () => {
  const bytes = sealed(Uint8Array.of(1));
  assertEquals(new TextDecoder().decode(bytes.subarray(0, 4)), "TCTE");
  assertEquals([...bytes.subarray(4, 8)], [1, 1, 1, 5]);
  assertEquals(new TextDecoder().decode(bytes.subarray(8, 13)), "key-1");
  assertEquals(readEnvelope(bytes), {
    kind: "ok",
    head: { kind: "blob", keyId: "key-1", headBytes: 17 },
  });
});

Deno.test("openEnvelope() refuses every flipped bit and every cut", () => {
  const bytes = sealed(new TextEncoder().encode("a text"));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert(readEnvelope(flipped).kind !== "unknown", `bit ${bit}`);
    assertEquals(opened(flipped), undefined, `bit ${bit}`);
  }
  for (let length = 0; length < bytes.length; length++) {
    assertEquals(opened(bytes.subarray(0, length)), undefined);
  }
  assertEquals(opened(Uint8Array.of(...bytes, 0)), undefined);
});

Deno.test("openEnvelope() refuses another key and any other context", () => {
  const bytes = sealed(Uint8Array.of(1, 2));
  for (
    const context of [
      [],
      ["0xowner"],
      ["0xownersecond"],
      ["0xowne", "rsecond"],
      ["second", "0xowner"],
      [...CONTEXT, ""],
    ]
  ) {
    assertEquals(opened(bytes, { context }), undefined);
  }
  assertEquals(opened(bytes, { key: new Uint8Array(32) }), undefined);
  assertEquals(opened(bytes), Uint8Array.of(1, 2));
});

Deno.test("readEnvelope() tells a later version from damage", () => {
  for (const [at, value] of [[4, 2], [5, 9], [6, 77]] as const) {
    const later = sealed(Uint8Array.of(1));
    later[at] = value;
    assertEquals(readEnvelope(later), { kind: "damaged" });
    const check = createHash("sha256").update(later.subarray(0, 13)).digest();
    later.set(check.subarray(0, 4), 13);
    assertEquals(readEnvelope(later), {
      kind: "unknown",
      version: at === 4 ? 2 : 1,
    });
  }
});

Deno.test("readEnvelope() is not impressed by random bytes", () => {
  const random = new SeededRandom(5);
  for (let round = 0; round < 2_000; round++) {
    const bytes = random.bytes(random.below(80));
    if (random.chance(0.5)) {
      bytes.set([0x54, 0x43, 0x54, 0x45].slice(0, bytes.length));
    }
    assertEquals(readEnvelope(bytes), { kind: "damaged" });
  }
});

Deno.test("sealEnvelope() never uses a nonce twice and refuses odd key ids", () => {
  const nonces = new Set<string>();
  for (let round = 0; round < 500; round++) {
    nonces.add(sealed(Uint8Array.of(1)).subarray(17, 29).toHex());
  }
  assertEquals(nonces.size, 500);
  for (const keyId of ["", "a b", "a:b", "x".repeat(65)]) {
    assertThrows(
      () =>
        sealEnvelope(KEY, { kind: "blob", keyId, key: KEY, context: CONTEXT }),
      RangeError,
      "not a key id",
    );
  }
});

Deno.test("EnvelopeReader.read() reads as readEnvelope() does, whatever it read before", () => {
  const random = new SeededRandom(12);
  const reader = new EnvelopeReader();
  const samples = ["key-1", "key-2", "a-longer-key-id"].map((keyId) =>
    sealEnvelope(random.bytes(5), {
      ...{ kind: "index", keyId, key: KEY, context: CONTEXT },
    })
  );
  for (let round = 0; round < 2_000; round++) {
    const bytes = random.pick(samples).slice();
    const at = random.below(30);
    if (random.chance(0.3)) bytes[at] = (bytes[at] ?? 0) ^ 1;
    const cut = random.chance(0.3)
      ? bytes.subarray(0, random.below(bytes.length))
      : bytes;
    assertEquals(reader.read(cut), readEnvelope(cut));
  }
});
