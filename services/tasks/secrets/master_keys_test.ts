import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openMasterKeys } from "./master_keys.ts";

type MasterKeySource = Parameters<typeof openMasterKeys>[0];

const KEY = `main:${createBase64(11)}`;

function bytes(step: number): (length: number) => Uint8Array<ArrayBuffer> {
  return (length) => Uint8Array.from({ length }, (_, index) => index * step);
}

function source(
  files: Map<string, string>,
  patch: Partial<MasterKeySource> = {},
): MasterKeySource {
  return {
    keys: "",
    file: "",
    defaultFile: "data/master.key",
    read: (path) => Promise.resolve(files.get(path)),
    create: (path, text) => {
      if (files.has(path)) return Promise.reject(new Error("it is there"));
      files.set(path, text);
      return Promise.resolve();
    },
    randomBytes: bytes(37),
    ...patch,
  };
}

Deno.test("openMasterKeys() makes a key once when nothing is named", async () => {
  const files = new Map<string, string>();
  const first = await openMasterKeys(source(files));
  const second = await openMasterKeys(
    source(files, { randomBytes: bytes(41) }),
  );
  assertEquals(first.kind, "ok");
  assertEquals(second.kind, "ok");
  if (first.kind !== "ok" || second.kind !== "ok") return;
  assertEquals(first.masterKeys.ids(), second.masterKeys.ids());
  assertEquals([...files.keys()], ["data/master.key"]);
});

Deno.test("openMasterKeys() accepts the keys of the setting before any file", async () => {
  const files = new Map([["data/master.key", "broken"]]);
  const outcome = await openMasterKeys(source(files, { keys: KEY }));
  assertEquals(outcome.kind === "ok" && outcome.masterKeys.ids(), ["main"]);
});

Deno.test("openMasterKeys() never makes a file that was named and is not there", async () => {
  const files = new Map<string, string>();
  const outcome = await openMasterKeys(source(files, { file: "keys.txt" }));
  assertEquals(outcome.kind, "invalid");
  if (outcome.kind === "invalid") {
    assertStringIncludes(outcome.problem, '"keys.txt"');
  }
  assertEquals(files.size, 0);
});

Deno.test("openMasterKeys() goes without keys when told so", async () => {
  const outcome = await openMasterKeys(source(new Map(), { file: "none" }));
  assertEquals(outcome.kind, "none");
});

Deno.test("openMasterKeys() says where a malformed key is, without its text", async () => {
  const files = new Map([["keys.txt", "main:secretsecret"]]);
  const outcome = await openMasterKeys(source(files, { file: "keys.txt" }));
  assertEquals(outcome.kind, "invalid");
  if (outcome.kind === "invalid") {
    assertStringIncludes(outcome.problem, "(keys.txt)");
    assertEquals(outcome.problem.includes("secretsecret"), false);
  }
});

Deno.test("openMasterKeys() makes no key where that is not wanted", async () => {
  const { create: _create, ...rest } = source(new Map());
  const outcome = await openMasterKeys(rest);
  assertEquals(outcome.kind, "invalid");
  if (outcome.kind === "invalid") {
    assertStringIncludes(outcome.problem, '"data/master.key"');
  }
});

Deno.test("MasterKeys shows no key in logs and JSON", async () => {
  const first = createBase64(29);
  const outcome = await openMasterKeys(
    source(new Map(), { keys: `a:${first}` }),
  );
  assert(outcome.kind === "ok");
  const keys = outcome.masterKeys;
  const shown = Deno.inspect(keys, { depth: 10, showHidden: true }) +
    JSON.stringify([keys, keys.current]) + String(keys.current.secret);
  const bytes = Uint8Array.fromBase64(first);
  assert(!shown.includes(first.slice(0, 8)));
  assert(!shown.includes(bytes.toHex().slice(0, 8)));
  assert(!shown.includes(bytes.slice(0, 3).join(", ")));
});

Deno.test("MasterKeys.find() goes by the id, then by the fingerprint", async () => {
  const opened = async (keys: string) => {
    const outcome = await openMasterKeys(source(new Map(), { keys }));
    assert(outcome.kind === "ok");
    return outcome.masterKeys;
  };
  const bare = await opened(createBase64(11));
  const named = await opened(KEY);
  assertEquals(named.find(bare.current.id), named.current);
  assertEquals(named.find("other"), undefined);
  assertEquals(named.ids(), ["main"]);
});

function createBase64(step: number): string {
  return bytes(step)(32).toBase64();
}
