import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { randomBytes } from "node:crypto";
import {
  type MasterKeys,
  type MasterKeysOutcome,
  MAX_MASTER_KEYS,
  parseMasterKeyFile,
  parseMasterKeys,
} from "./master_keys.ts";

const FIRST = base64();
const SECOND = base64();

Deno.test("parseMasterKeys() takes the first key for the current one", () => {
  const keys = keysOf(parseMasterKeys(`2026-b:${SECOND}, 2026-a:${FIRST}`));
  assertEquals(keys.current.id, "2026-b");
  assertEquals(keys.ids(), ["2026-b", "2026-a"]);
  assertEquals(bytesOf(keys, "2026-a"), FIRST);
  assertEquals(bytesOf(keys, "2026-b"), SECOND);
  assertEquals(keys.find("2026-c"), undefined);
});

Deno.test("parseMasterKeys() takes both alphabets, with and without padding", () => {
  const bytes = new Uint8Array(32).fill(0xfb, 1);
  const standard = bytes.toBase64();
  assertStringIncludes(standard, "+");
  const spellings = [
    standard,
    standard.slice(0, -1),
    bytes.toBase64({ alphabet: "base64url" }),
    bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
  ];
  for (const spelling of spellings) {
    assertEquals(
      bytesOf(keysOf(parseMasterKeys(`k:${spelling}`)), "k"),
      standard,
    );
  }
});

Deno.test("parseMasterKeyFile() leaves out comments and empty lines", () => {
  const content =
    `\uFEFF# ours\r\n\r\n  new : ${SECOND}  \n#old2:x\nold:${FIRST}\n`;
  const keys = keysOf(parseMasterKeyFile(content));
  assertEquals(keys.ids(), ["new", "old"]);
  assertEquals(bytesOf(keys, "new"), SECOND);
});

Deno.test("parseMasterKeyFile() names the line", () => {
  assertEquals(
    reasonOf(parseMasterKeyFile(`# one\nold:${FIRST}\nno key\n`)),
    `Cannot read master keys: line 3 has no ":" between a key id and the key in base64`,
  );
});

Deno.test("parseMasterKeys() refuses what are no keys", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "there is none"],
    ["  ", "there is none"],
    [FIRST, `entry 1 has no ":"`],
    [`a:${FIRST},`, `entry 2 has no ":"`],
    [`:${FIRST}`, "entry 1 has no key id"],
    [`${FIRST}:a`, "entry 1 has no key id"],
    [`a b:${FIRST}`, "entry 1 has no key id"],
    [`${"x".repeat(33)}:${FIRST}`, "entry 1 has no key id"],
    ["a:", `the key "a" is no base64 of 32 bytes`],
    [`a:${FIRST.slice(1)}`, `the key "a" is no base64 of 32 bytes`],
    [`a:A${FIRST}`, `the key "a" is no base64 of 32 bytes`],
    [`a:${"!".repeat(43)}=`, `the key "a" is no base64 of 32 bytes`],
    [`a:${"A".repeat(42)}B=`, `the key "a" is no base64 of 32 bytes`],
    [`a:${"A".repeat(43)}=`, `the key "a" is one byte over and over`],
    [`a:${FIRST},a:${SECOND}`, `entry 2 has the id "a"`],
    [`a:${FIRST},b:${FIRST}`, `entry 2 is the key "a" once more`],
    [
      Array.from({ length: MAX_MASTER_KEYS + 1 }, (_, n) => `k${n}:${base64()}`)
        .join(),
      "there are 33 of them",
    ],
  ];
  for (const [text, reason] of cases) {
    const found = reasonOf(parseMasterKeys(text));
    assertStringIncludes(found, `Cannot read master keys: ${reason}`);
  }
});

Deno.test("parseMasterKeys() shows no part of a key", () => {
  const texts = [
    FIRST,
    `${FIRST}:id`,
    `id:${FIRST}x`,
    `id ${FIRST}`,
    `id:${FIRST},other:${FIRST}`,
    `id:${FIRST},id:${FIRST}`,
  ];
  for (const text of texts) {
    const reason = reasonOf(parseMasterKeys(text));
    for (let at = 0; at + 4 <= FIRST.length; at++) {
      assert(!reason.includes(FIRST.slice(at, at + 4)), reason);
    }
  }
});

Deno.test("MasterKeys shows no key in logs and JSON", () => {
  const keys = keysOf(parseMasterKeys(`a:${FIRST}`));
  const shown = Deno.inspect(keys, { depth: 10, showHidden: true }) +
    JSON.stringify([keys, keys.current]) + String(keys.current.secret);
  const bytes = Uint8Array.fromBase64(FIRST);
  assert(!shown.includes(FIRST.slice(0, 8)));
  assert(!shown.includes(bytes.toHex().slice(0, 8)));
  assert(!shown.includes(bytes.slice(0, 3).join(", ")));
});

function base64(): string {
  return new Uint8Array(randomBytes(32)).toBase64();
}

function bytesOf(keys: MasterKeys, id: string): string | undefined {
  const secret = keys.find(id)?.secret.export();
  return secret === undefined ? undefined : new Uint8Array(secret).toBase64();
}

function keysOf(outcome: MasterKeysOutcome): MasterKeys {
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.masterKeys;
}

function reasonOf(outcome: MasterKeysOutcome): string {
  assert(outcome.kind === "invalid");
  return outcome.reason;
}
