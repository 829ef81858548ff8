/**
 * The module paths of the SDK: each loads in every runtime, and brings along only what
 * its users need.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { withStd } from "../../scripts/launch/deno_process.ts";
import { serviceTest } from "../support/services.ts";
import { TempFolder } from "./temp_folder.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const RUN_MS = 60_000;
/** The modulus of BLS12-381 begins with it. */
const BLS = "1a0111ea397fe69a4b1ba7b6434bacd764774b";

/** Calls what needs no ledger, and then what needs the package that is not there. */
const PROGRAM = `
import { createAccount, generateDelegateKey } from "./account.mjs";
const { privateKey, publicKey, suiAddress } = await generateDelegateKey();
const failure = await createAccount({
  key: privateKey,
  packageId: "0x1",
  registryId: "0x2",
}).catch(({ name, code, message }) => ({ name, code, message }));
console.log(JSON.stringify({
  lengths: [privateKey.length, publicKey.length, suiAddress.length],
  name: failure.name,
  code: failure.code,
  tellsCommand: failure.message.includes("npm install @mysten/sui"),
}));
`;

for (const runtime of ["node", "bun"] as const) {
  serviceTest([runtime], {
    name: `account functions load in ${runtime} without the ledger's package`,
    fn: async () => {
      await using folder = await TempFolder.make();
      await bundleAlone("sdk/account.ts", `${folder.path}/account.mjs`);
      const program = `${folder.path}/program.mjs`;
      await Deno.writeTextFile(program, PROGRAM);
      const { code, stdout, stderr } = await new Deno.Command(runtime, {
        // Bun would fetch what is missing by itself.
        args: runtime === "bun" ? ["--no-install", program] : [program],
        clearEnv: true,
        env: { PATH: Deno.env.get("PATH") ?? "" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
        signal: AbortSignal.timeout(RUN_MS),
      }).output();
      const said = new TextDecoder().decode(stderr);
      assertEquals({ code, said }, { code: 0, said: "" });
      assertEquals(JSON.parse(new TextDecoder().decode(stdout)), {
        lengths: [64, 32, 66],
        name: "AccountError",
        code: "PACKAGE_MISSING",
        tellsCommand: true,
      });
    },
  });
}

Deno.test("the base module has no package of the ledger and no pairings", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/mod.js`;
  await bundleAlone("mod.ts", path, ["--minify"]);
  const text = await Deno.readTextFile(path);
  assertEquals(text.includes("@mysten/"), false);
  assertEquals(text.includes(BLS), false);
});

Deno.test("the account module imports the ledger's package only dynamically, and has no pairings", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/account.mjs`;
  await bundleAlone("sdk/account.ts", path);
  const text = await Deno.readTextFile(path);
  assertEquals(text.match(/^\s*(?:import|export)\b.*\bfrom\b.*/gm) ?? [], []);
  assertEquals(text.includes(BLS), false);
  assert(text.includes(`import("@mysten/sui/transactions")`));
});

Deno.test("the manual module has pairings, by which the tests above would find them", async () => {
  await using folder = await TempFolder.make();
  const path = `${folder.path}/manual.mjs`;
  await bundleAlone("sdk/manual.ts", path, ["--minify"]);
  assert((await Deno.readTextFile(path)).includes(BLS));
});

/** Makes one file of a module, without the packages that are optional. */
async function bundleAlone(
  entry: string,
  into: string,
  flags: readonly string[] = [],
): Promise<void> {
  const source = import.meta.resolve("@std/assert").startsWith("file:")
    ? "offline"
    : "jsr";
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...withStd(["bundle", "--platform", "browser"], source),
      ...["--external", "@mysten/sui/*", ...flags],
      ...["--output", into, `${ROOT}${entry}`],
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
}
