/**
 * Tests of access tokens and of `tercet memory` against a relayer in a process
 * of its own.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Mem } from "../../mod.ts";
import { createAccessToken } from "../../sdk/account.ts";
import { waitUntil } from "../support/wait_until.ts";
import { runRelayerCommand } from "../support/relayer_process.ts";
import { runTercet } from "../../services/cli/main.ts";
import { RelayerHome } from "./relayer_home.ts";

Deno.test("relayer takes access tokens from the SDK, plain HTTP and tercet memory until the key is removed", async () => {
  await using home = await RelayerHome.open({ env: { LOG_LEVEL: "debug" } });
  const { key, accountId, publicKey } = home.account();
  const made = async (
    options: Partial<Parameters<typeof createAccessToken>[0]>,
  ) => {
    const common = { key, accountId, access: "write" } as const;
    return (await createAccessToken({ ...common, ...options })).token;
  };
  const all = await made({});
  const habits = await made({ namespaces: ["habits"] });
  const reads = await made({ access: "read" });
  const send = async (
    token: string,
    path: string,
    body?: Readonly<Record<string, unknown>>,
  ) => {
    const response = await fetch(home.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}` },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, json: text === "" ? {} : JSON.parse(text) };
  };

  // The SDK.
  const mem = Mem.create({ accessToken: habits, serverUrl: home.url });
  const { id } = await mem.rememberAndWait("Ada drinks tea");
  await home.mem().rememberAndWait("Ada plans a trip", "plans");
  const { results } = await mem.recall({ query: "tea", ranking: "fused" });
  assertEquals(results.map(({ text }) => text), ["Ada drinks tea"]);
  const { memories } = await mem.listMemories();
  assertEquals(memories.map(({ memory_id }) => memory_id), [id]);
  assertEquals(memories[0]?.agent_id, publicKey);
  mem.destroy();

  // Plain HTTP.
  const recall = { query: "trip", namespace: "plans" };
  assertEquals((await send(reads, "/api/recall", recall)).status, 200);
  const refused = await send(habits, "/api/recall", recall);
  assertEquals([refused.status, refused.json.code], [403, "NAMESPACE_REFUSED"]);
  assertEquals((await send(habits, `/api/remember/${id}`)).status, 200);
  const write = await send(reads, "/api/remember", { text: "x" });
  assertEquals([write.status, write.json.code], [403, "INSUFFICIENT_SCOPE"]);
  const wrong = await send(`${all.slice(0, -4)}AAAA`, "/api/whoami");
  assertEquals(wrong.status, 401);
  assertStringIncludes(
    wrong.headers.get("www-authenticate") ?? "",
    'error="invalid_token"',
  );
  assertEquals((await send(all, "/api/whoami")).json.account_id, accountId);

  // The command.
  const tercet = async (...args: readonly string[]) => {
    const said = { out: "", err: "" };
    const variables: Readonly<Record<string, string>> = {
      TERCET_RELAYER: home.url,
      TERCET_TOKEN: all,
    };
    const never = () => Promise.reject(new Error("not asked for"));
    const code = await runTercet(args, {
      out: (text) => void (said.out += `${text}\n`),
      err: (text) => void (said.err += `${text}\n`),
      readVariable: (name) => variables[name],
      ...{ readText: never, readInput: never, writeSecret: never },
    });
    return { code, ...said };
  };
  const stored = await tercet("memory", "remember", "Bob has a dog");
  assertEquals([stored.code, stored.err], [0, ""]);
  const found = await tercet("memory", "recall", "Who has a dog?");
  assertStringIncludes(found.out, "Bob has a dog");
  const exported = await tercet("memory", "export", "--all");
  assertEquals(exported.code, 0);
  for (const text of ["Ada drinks tea", "Ada plans a trip", "Bob has a dog"]) {
    assertStringIncludes(exported.out, JSON.stringify(text));
  }
  const notes = await Deno.makeTempDir();
  try {
    for (let at = 0; at < 45; at++) {
      const text = `# Chest\n\nDrawer ${at} has key ${at * 7}.`;
      await Deno.writeTextFile(`${notes}/${at}.md`, text);
    }
    const imported = ["memory", "import", notes, "--namespace", "chest"];
    const journal = ["--journal", `${home.dataDir}/journal`];
    const first = await tercet(...imported, ...journal);
    assertEquals([first.code, first.err], [0, "45 texts are imported\n"]);
    const again = await tercet(...imported, ...journal);
    assertStringIncludes(again.err, "0 texts are imported, 45 were before");
    // Without the journal, the relayer knows the batches.
    const anew = ["--journal", `${home.dataDir}/journal_2`];
    assertEquals((await tercet(...imported, ...anew)).code, 0);
    const owner = home.mem();
    await owner.rememberAndWait("The chest is made of oak.", "chest");
    const count = async () => (await owner.stats("chest")).memory_count;
    await waitUntil(async () => await count() >= 46, {
      what: "all notes are stored",
    });
    assertEquals(await count(), 46);
  } finally {
    await Deno.remove(notes, { recursive: true });
  }
  const forgotten = await tercet("memory", "forget", stored.out.trim());
  assertEquals([forgotten.code, forgotten.out], [0, stored.out]);

  // The key is removed, and its tokens with it.
  const removed = await runRelayerCommand({
    dataDir: home.dataDir,
    args: [
      ...["account", "remove-key", "--account", accountId],
      ...["--public-key", publicKey],
    ],
  });
  assertEquals(removed.code, 0);
  const late = await send(all, "/api/whoami");
  assertEquals([late.status, late.json.code], [401, "ERR_KEY_NOT_DELEGATE"]);
  const told = await tercet("memory", "list");
  assertEquals(told.code, 1);
  assertStringIncludes(told.err, "not, or no longer");

  // Neither the log nor the disk has a token.
  const log = home.service.stdout + home.service.stderr;
  for (const token of [all, habits, reads]) {
    assert(!log.includes(token.split(".")[2] ?? ""), "the log has a token");
    assertEquals(await home.storage.traces([token.split(".")[2] ?? ""]), []);
  }
});
