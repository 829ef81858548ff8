import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  masterKeysOf,
  parseMasterKeys,
  readMasterKeyFile,
} from "./master_keys.ts";

const FIRST = Uint8Array.from({ length: 32 }, (_, at) => at);
const SECOND = Uint8Array.from({ length: 32 }, (_, at) => at * 3 + 1);

Deno.test("parseMasterKeys() reads settings and files, the current one first", () => {
  const [one, two] = [FIRST.toBase64(), SECOND.toBase64()];
  const keys = { kind: "ok", keys: [FIRST, SECOND] } as const;
  assertEquals(parseMasterKeys(`${one},${two}`), keys);
  assertEquals(parseMasterKeys(`# a, b\n${one}\r\n\n ${two} \n`), keys);
  const url = SECOND.toBase64({ alphabet: "base64url", omitPadding: true });
  assertEquals(parseMasterKeys(`${one}, ${url},`), keys);
});

Deno.test("parseMasterKeys() says what is wrong without a word of the key", () => {
  const good = FIRST.toBase64();
  for (
    const [text, reason] of [
      ["", "there is none"],
      ["# nothing\n", "there is none"],
      ["hunter2", "key 1 is no base64 of 32 bytes"],
      [`${good},${good.slice(0, 40)}`, "key 2 is no base64 of 32 bytes"],
      [`${good},${good}`, "key 2 is there before it already"],
      [new Uint8Array(32).toBase64(), "key 1 is one byte over and over"],
      [Array(17).fill(good).join(), "there are 17 of them, 16 is the most"],
    ] as const
  ) {
    const outcome = parseMasterKeys(text);
    assert(outcome.kind === "invalid");
    assertEquals(
      outcome.reason.split(";")[0],
      `Cannot read master keys: ${reason}`,
    );
    assert(!outcome.reason.includes("hunter2"));
    assert(!outcome.reason.includes(good.slice(0, 8)));
  }
});

Deno.test("masterKeysOf() names keys by what they are", () => {
  const [first, second] = masterKeysOf([FIRST, SECOND]);
  assertEquals(first?.id.length, 12);
  assert(first?.id !== second?.id);
  assertEquals(masterKeysOf([FIRST])[0]?.id, first?.id);
  assertThrows(
    () => masterKeysOf([new Uint8Array(31)]),
    RangeError,
    "has 31 bytes, not 32",
  );
});

Deno.test("readMasterKeyFile() makes a file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const logger = new RecordingLogger();
    const read = (mayCreate: boolean) =>
      readMasterKeyFile(folder, { mayCreate, logger });
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
      assertEquals(logger.messagesOf("warning").length, 1);
    }
    await Deno.writeTextFile(path, "no key");
    await assertRejects(() => read(true), Error, "key 1 is no base64");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
