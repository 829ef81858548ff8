import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { randomBytes } from "node:crypto";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import {
  createMasterKey,
  findMasterKey,
  parseMasterKeys,
  readMasterKeyFile,
} from "./master_keys.ts";

const KEY = new Uint8Array(32).fill(0xfb, 1);
const TEXT = KEY.toBase64();
const FIRST = base64();
const SECOND = base64();

Deno.test("parseMasterKeys() makes the first key the current one", () => {
  for (const text of [`b:${SECOND}, a:${FIRST}`, `b:${SECOND}\na:${FIRST}\n`]) {
    assertEquals(idsAndKeys(text), [["b", SECOND], ["a", FIRST]]);
  }
});

Deno.test("parseMasterKeys() accepts keys with and without an id", () => {
  const [first, second] = [
    computeFingerprint(FIRST),
    computeFingerprint(SECOND),
  ];
  assertEquals(idsAndKeys(`${FIRST},${SECOND},`), [
    [first, FIRST],
    [second, SECOND],
  ]);
  assertEquals(idsAndKeys(`# a, b\n${FIRST}\r\n\n new : ${SECOND} \n`), [
    [first, FIRST],
    ["new", SECOND],
  ]);
});

Deno.test("parseMasterKeys() accepts both alphabets, with and without padding", () => {
  assertStringIncludes(TEXT, "+");
  const spellings = [
    TEXT,
    TEXT.slice(0, -1),
    KEY.toBase64({ alphabet: "base64url" }),
    KEY.toBase64({ alphabet: "base64url", omitPadding: true }),
  ];
  for (const spelling of spellings) {
    assertEquals(idsAndKeys(`k:${spelling}`), [["k", TEXT]]);
    assertEquals(idsAndKeys(spelling)[0]?.[1], TEXT);
  }
});

Deno.test("parseMasterKeys() leaves out comments and empty lines", () => {
  const content =
    `\uFEFF# ours\r\n\r\n  new : ${SECOND}  \n#old2:x\nold:${FIRST}\n`;
  assertEquals(idsAndKeys(content), [["new", SECOND], ["old", FIRST]]);
});

Deno.test("parseMasterKeys() names the line of a file", () => {
  assertStringIncludes(
    getReason(`# one\nold:${FIRST}\nno key\n`),
    "Cannot read master keys: line 3 is not base64 of 32 bytes",
  );
});

Deno.test("parseMasterKeys() refuses what are no keys", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "there is none"],
    ["  ", "there is none"],
    ["# nothing\n", "there is none"],
    [",", "there is none"],
    ["hunter2", "entry 1 is not base64 of 32 bytes"],
    [`${FIRST},${FIRST.slice(0, 40)}`, "entry 2 is not base64 of 32 bytes"],
    [`${FIRST},${FIRST}`, "entry 2 is the key "],
    [`a:${FIRST},${FIRST}`, `entry 2 is the key "a" once more`],
    [new Uint8Array(32).toBase64(), "entry 1 is one byte over and over"],
    [`:${FIRST}`, "entry 1 has no key id"],
    [`${FIRST}:a`, "entry 1 has no key id"],
    [`a b:${FIRST}`, "entry 1 has no key id"],
    [`${"x".repeat(33)}:${FIRST}`, "entry 1 has no key id"],
    ["a:", 'the key "a" is not base64 of 32 bytes'],
    [`a:${FIRST.slice(1)}`, 'the key "a" is not base64 of 32 bytes'],
    [`a:A${FIRST}`, 'the key "a" is not base64 of 32 bytes'],
    [`a:${"!".repeat(43)}=`, 'the key "a" is not base64 of 32 bytes'],
    [`a:${"A".repeat(42)}B=`, 'the key "a" is not base64 of 32 bytes'],
    [`a:${"A".repeat(43)}=`, `the key "a" is one byte over and over`],
    [`a:${FIRST},a:${SECOND}`, `entry 2 has the id "a"`],
    [`a:${FIRST},b:${FIRST}`, `entry 2 is the key "a" once more`],
    [
      Array.from({ length: 33 }, (_, n) => `k${n}:${base64()}`)
        .join(),
      "there are 33 of them",
    ],
  ];
  for (const [text, reason] of cases) {
    const found = getReason(text);
    assertStringIncludes(found, `Cannot read master keys: ${reason}`);
  }
});

Deno.test("parseMasterKeys() shows no part of a key", () => {
  const texts = [
    `${FIRST},${FIRST}`,
    `${FIRST}x`,
    `${FIRST}:id`,
    `id:${FIRST}x`,
    `id ${FIRST}`,
    `id:${FIRST},other:${FIRST}`,
    `id:${FIRST},id:${FIRST}`,
  ];
  for (const text of texts) {
    const reason = getReason(text);
    for (let at = 0; at + 4 <= FIRST.length; at++) {
      assert(!reason.includes(FIRST.slice(at, at + 4)), reason);
    }
  }
});

Deno.test("parseMasterKeys() accepts no base64 of another length", () => {
  for (const bytes of [16, 31, 33, 64]) {
    const text = new Uint8Array(bytes).fill(7, 1).toBase64();
    assertStringIncludes(getReason(text), "entry 1 is not base64 of 32 bytes");
  }
});

Deno.test("parseMasterKeys() accepts no letter that is none of base64", () => {
  for (const letter of ["*", " ", "=", "é", "\n"]) {
    for (
      const text of [`k:x${letter}${TEXT.slice(2)}`, `k:${TEXT}${letter}x`]
    ) {
      assertStringIncludes(getReason(text), "is not base64 of 32 bytes");
    }
  }
  assertStringIncludes(getReason(`${TEXT}=`), "is not base64 of 32 bytes");
});

Deno.test("parseMasterKeys() accepts no bits beyond the last byte", () => {
  // The last letter of 43 holds four bits; the two below them must be zero.
  const letters = TEXT.slice(0, 42);
  assertEquals(idsAndKeys(`k:${letters}s=`), [["k", TEXT]]);
  assertStringIncludes(
    getReason(`k:${letters}t=`),
    "is not base64 of 32 " +
      "bytes",
  );
});

Deno.test("createMasterKey() gives a key a fingerprint and copies it", () => {
  const [first, second] = [FIRST, SECOND].map((text) =>
    createMasterKey(Uint8Array.fromBase64(text))
  );
  assertEquals(first?.fingerprint.length, 12);
  assert(first?.fingerprint !== second?.fingerprint);
  const bytes = KEY.slice();
  const named = createMasterKey(bytes, "prod");
  assertEquals(named.id, "prod");
  assertEquals(named.fingerprint, createMasterKey(KEY).id);
  bytes.fill(0);
  assertEquals(named.secret, KEY);
  assertThrows(
    () => createMasterKey(new Uint8Array(31)),
    RangeError,
    "has 31 bytes, not 32",
  );
});

Deno.test("findMasterKey() goes by the id, then by the fingerprint", () => {
  const [named, bare] = [createMasterKey(KEY, "prod"), createMasterKey(KEY)];
  const other = { ...bare, id: "other", fingerprint: "prod" };
  assertEquals(findMasterKey([other, named], "prod"), named);
  assertEquals(findMasterKey([other, named], bare.id), named);
  assertEquals(findMasterKey([other, named], "none"), undefined);
});

function base64(): string {
  return new Uint8Array(randomBytes(32)).toBase64();
}

function computeFingerprint(text: string): string {
  return createMasterKey(Uint8Array.fromBase64(text)).fingerprint;
}

function idsAndKeys(text: string): readonly (readonly [string, string])[] {
  const outcome = parseMasterKeys(text);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return outcome.keys.map(({ id, secret }) => [id, secret.toBase64()]);
}

function getReason(text: string): string {
  const outcome = parseMasterKeys(text);
  assert(outcome.kind === "invalid", text);
  return outcome.reason;
}

Deno.test("readMasterKeyFile() makes a file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const logger = new RecordingLogger();
    const read = (mayCreate: boolean) =>
      readMasterKeyFile(folder, { mayCreate, about: "A key.", logger });
    await assertRejects(() => read(false), Error, "restore it from its copy");
    const keys = await read(true);
    assertEquals(keys.length, 1);
    assertEquals(await read(false), keys);
    assertEquals(logger.messages.length, 1);
    const entries = await Array.fromAsync(Deno.readDir(folder));
    const names = entries.map(({ name }) => name);
    assertEquals(names, ["master.key"]);
    const path = `${folder}/master.key`;
    if (Deno.build.os !== "windows") {
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
      await Deno.chmod(path, 0o644);
      await read(false);
      assertEquals(logger.listMessages("warning").length, 1);
    }
    await Deno.writeTextFile(path, "no key");
    await assertRejects(() => read(true), Error, "entry 1 is not base64");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
