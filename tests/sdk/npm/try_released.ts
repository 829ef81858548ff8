/**
 * Tests the oldest released client, as npm has it, with a running relayer.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { createAccount, startRelayer } from "../../support/relayer_process.ts";
import { TempFolder } from "../temp_folder.ts";
import { NpmProject } from "./npm_project.ts";

/** Sends each call twice, both within one second. */
const PROGRAM = `
import { MemWal } from "@mysten-incubation/memwal";
const [, , url, key, accountId] = process.argv;
const mem = MemWal.create({ key, accountId, serverUrl: url });
const settle = async (call) => {
  try {
    return await call();
  } catch (error) {
    return error.message;
  }
};
async function twice(call) {
  while (Date.now() % 1_000 > 300) await new Promise((go) => setTimeout(go, 20));
  const second = Math.floor(Date.now() / 1_000);
  const both = [await settle(call), await settle(call)];
  return Math.floor(Date.now() / 1_000) === second ? both : await twice(call);
}
console.log(JSON.stringify({
  remember: await twice(() => mem.remember("Ada drinks tea")),
  recall: await twice(() => mem.recall("tea", 1)),
}));
`;

Deno.test({
  name:
    "the oldest released client recalls twice in a second, and is told why it does not remember twice",
  timeout: 240_000,
  async fn() {
    await using project = await NpmProject.make();
    await project.install("@mysten-incubation/memwal@0.0.1");
    await project.write("program.mjs", PROGRAM);
    await using folder = await TempFolder.make();
    const account = await createAccount({ dataDir: folder.path });
    await using relayer = await startRelayer({
      dataDir: folder.path,
      env: { LEGACY_AUTH: "true" },
    });
    const { key, accountId } = account;
    const text = await project.run("node", [
      ...["program.mjs", relayer.url, key, accountId],
    ]);
    const { remember, recall } = JSON.parse(text);
    assertEquals(typeof remember[0], "object");
    assertStringIncludes(remember[1], "MemWal API error (401): {");
    assertStringIncludes(remember[1], "can repeat it a second later");
    assertEquals(recall.map((one: unknown) => typeof one), [
      "object",
      "object",
    ]);
    assertEquals(relayer.stderr.includes(key), false);
  },
});
