import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { readIfThere } from "../shared/missing_file.ts";
import { readSettings } from "../shared/settings.ts";
import {
  configurationFaults,
  createPrivately,
  settingFaults,
  settingWarnings,
} from "./configuration.ts";
import { tasksSettings } from "./settings.ts";

Deno.test("createPrivately() writes a whole file for its owner alone, once", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/made`;
    const text = "a key\n".repeat(50_000);
    await createPrivately(path, text);
    assertEquals(await readIfThere(path), text);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
    await assertRejects(
      () => createPrivately(path, "other"),
      Deno.errors.AlreadyExists,
    );
    assertEquals(await readIfThere(path), text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("createPrivately() leaves no part of a file when the disk is full", async () => {
  const folder = await Deno.makeTempDir();
  const { write } = Deno.FsFile.prototype;
  let writes = 0;
  Deno.FsFile.prototype.write = function (bytes) {
    if (writes++ > 0) throw new Error("No space left on device");
    return write.call(this, bytes.subarray(0, 3));
  };
  try {
    const path = `${folder}/made`;
    await assertRejects(
      () => createPrivately(path, "a key"),
      Error,
      "No space left",
    );
    assertEquals(await readIfThere(path), undefined);
  } finally {
    Deno.FsFile.prototype.write = write;
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "createPrivately() waits until the disk has the file and its name",
  ignore: Deno.build.os === "windows",
  async fn() {
    const folder = await Deno.makeTempDir();
    const { sync } = Deno.FsFile.prototype;
    const synced: boolean[] = [];
    Deno.FsFile.prototype.sync = async function () {
      synced.push((await this.stat()).isDirectory);
      await sync.call(this);
    };
    try {
      await createPrivately(`${folder}/made`, "a key");
      assertEquals(synced, [false, true]);
    } finally {
      Deno.FsFile.prototype.sync = sync;
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("readIfThere() gives undefined when there is no such file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    assertEquals(await readIfThere(`${folder}/none`), undefined);
  } finally {
    await Deno.remove(folder);
  }
});

const TOKEN = "0123456789abcdefghijkl";

Deno.test("settingFaults() accepts what a service usually has", () => {
  assertEquals(findFaults({}), []);
  assertEquals(
    findFaults({
      ACCOUNTS_TOKEN: TOKEN,
      OPERATOR_TOKEN: TOKEN,
      IDP_ISSUER: "https://idp.test/",
      IDP_AUDIENCE: "tasks",
      IDP_URL: "http://127.0.0.1:8080/realms/a",
      IDP_ACCESS_TOKEN: "x",
      IDP_MIRROR_USERS: "true",
    }),
    [],
  );
});

Deno.test("configurationFaults() names the settings of all files that can't be used", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const env: Readonly<Record<string, string>> = {
      PLANS_FILE: folder,
      MASTER_KEYS_FILE: `${folder}/none`,
      TLS_CERT_FILE: `${folder}/cert.pem`,
      TLS_KEY_FILE: `${folder}/key.pem`,
    };
    const read = readSettings(tasksSettings, (name) => env[name]);
    assert(read.kind === "ok");
    const faults = await configurationFaults(read.values);
    assertEquals(faults.length, 4, faults.join("\n"));
    for (const [index, name] of Object.keys(env).entries()) {
      assertStringIncludes(faults[index] ?? "", name);
    }
    const unreadable = { ...read.values, masterKeysFile: folder };
    assertStringIncludes(
      (await configurationFaults(unreadable))[1] ?? "",
      `"${folder}" (MASTER_KEYS_FILE): `,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("settingFaults() names addresses that cannot be called", () => {
  const bad = [
    "idp.test",
    "ftp://idp.test",
    "https:idp.test",
    "https://",
    "https:///x",
    "https://idp test",
    "https://idp.test/?a=b",
    "https://idp.test/#a",
    "https://idp.test:99999",
  ];
  for (const text of bad) {
    const rest = { IDP_AUDIENCE: "tasks", IDP_ACCESS_TOKEN: "x" };
    const faults = findFaults({ ...rest, IDP_ISSUER: text, IDP_URL: text });
    assertEquals(faults.length, 2, text);
    assertStringIncludes(faults[0] ?? "", `IDP_ISSUER "${text}"`);
    assertStringIncludes(faults[1] ?? "", `IDP_URL "${text}"`);
  }
});

Deno.test("settingFaults() accepts any issuer whose keys are named, by an address", () => {
  const issuer = { IDP_ISSUER: "accounts.idp.test", IDP_AUDIENCE: "tasks" };
  const keys = "https://idp.test/keys?v=3";
  assertEquals(findFaults({ ...issuer, IDP_JWKS_URL: keys }), []);
  const [fault] = findFaults({ ...issuer, IDP_JWKS_URL: "idp.test/keys" });
  assertStringIncludes(fault ?? "", 'IDP_JWKS_URL "idp.test/keys"');
});

Deno.test("settingFaults() asks the same of both tokens, and repeats neither", () => {
  for (const name of ["ACCOUNTS_TOKEN", "OPERATOR_TOKEN"]) {
    for (const token of ["abc", "p@ss word! p@ss word! p@ss"]) {
      const [fault, ...more] = findFaults({ [name]: token });
      assertStringIncludes(fault ?? "", `Cannot use ${name}`);
      assert(!fault?.includes(token), "the token is repeated");
      assertEquals(more, []);
    }
  }
});

function findFaults(
  given: Readonly<Record<string, string>>,
): readonly string[] {
  const read = readSettings(tasksSettings, (name) => given[name]);
  assert(read.kind === "ok", JSON.stringify(read));
  return settingFaults(read.values);
}

Deno.test("settingWarnings() says that no caller can create tenants", () => {
  const cases = [
    ["token", "", "", "No caller can"],
    ["token", "", "op", "Only the operator can"],
    ["token", "acc", "", undefined],
    ["open", "", "", undefined],
    ["closed", "", "", undefined],
  ] as const;
  for (const [accountsMode, accountsToken, operatorToken, begin] of cases) {
    const warnings = settingWarnings({
      accountsMode,
      accountsToken,
      operatorToken,
    });
    const shown = begin === undefined ? [] : [
      `${begin} create tenants: ACCOUNTS_MODE is token and ACCOUNTS_TOKEN is ` +
      'not set; make one with "openssl rand -hex 32", or set ACCOUNTS_MODE',
    ];
    assertEquals(warnings, shown);
  }
});
