/**
 * Tests `/api/mcp` of a relayer process: agents that speak each version of the
 * Model Context Protocol, with real memories.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { PlainMcpClient, readEvents } from "../mcp/mcp_client.ts";
import { RelayerHome } from "./relayer_home.ts";

/** The header fields of an agent with an account's key. */
function agentOf(
  home: RelayerHome,
  index = 0,
): Readonly<Record<string, string>> {
  const { key, accountId } = home.account(index);
  return {
    authorization: `Bearer ${key}`,
    "x-memwal-account-id": accountId,
  };
}

Deno.test("/api/mcp remembers and recalls when an agent opens a session", async () => {
  await using home = await RelayerHome.open();
  const agent = new PlainMcpClient(`${home.url}/api/mcp`, agentOf(home));
  const opened = await agent.open();
  assertEquals(opened.status, 200);
  assertEquals(opened.answer.result.protocolVersion, "2025-06-18");
  const { answer: listed } = await agent.ask("tools/list");
  assertEquals(
    listed.result.tools.map(({ name }: { name: string }) => name).sort(),
    [
      "memwal_analyze",
      "memwal_ask",
      "memwal_forget",
      "memwal_health",
      "memwal_list",
      "memwal_recall",
      "memwal_remember",
      "memwal_remember_bulk",
      "memwal_restore",
    ],
  );
  const stored = await agent.call("memwal_remember", {
    text: "Ada drinks green tea",
  }, { progressToken: "p" });
  assertEquals(stored.isError, undefined, JSON.stringify(stored));
  assertMatch(stored.content[0].text, /namespace "default".*blob \S+/);
  const found = await agent.call("memwal_recall", { query: "tea" });
  assertMatch(
    found.content[0].text,
    /\n1\. \(score [\d.-]+, relevance [\d.]+, \d{4}-\d\d-\d\d, id [^)]+\) "Ada drinks green tea"\n/,
  );
  assertEquals(
    found.structuredContent.results[0].text,
    "Ada drinks green tea",
  );
  const { id } = stored.structuredContent;
  const asked = await agent.call("memwal_ask", {
    question: "What does Ada drink?",
  });
  assertEquals(asked.structuredContent.memories_used, 1);
  const page = await agent.call("memwal_list");
  assertEquals(page.structuredContent.memories[0].text, "Ada drinks green tea");
  const { answer: resources } = await agent.ask("resources/list");
  assertEquals(resources.result.resources[0].uri, `memory://default/${id}`);
  const { answer: read } = await agent.ask("resources/read", {
    uri: `memory://default/${id}`,
  });
  assertEquals(read.result.contents[0].text, "Ada drinks green tea");
  const { answer: prompt } = await agent.ask("prompts/get", {
    name: "what_is_known",
    arguments: { subject: "Ada" },
  });
  assertMatch(prompt.result.messages[0].content.text, /Ada drinks green tea/);
  const bulk = await agent.call("memwal_remember_bulk", {
    items: [{ text: "Ben lives in Oslo" }, { text: "Ben has a dog" }],
    namespace: "people",
  });
  assertEquals(bulk.structuredContent.succeeded, 2);
  const facts = await agent.call("memwal_analyze", {
    text: "I live in Bergen. I work as a baker.",
  });
  assert(facts.structuredContent.succeeded > 0, JSON.stringify(facts));
  const health = await agent.call("memwal_health");
  assertEquals(health.structuredContent.status, "ok");
  const restored = await agent.call("memwal_restore", { namespace: "people" });
  assertEquals(restored.structuredContent.skipped, 2);
  const forgot = await agent.call("memwal_forget", { memory_id: id });
  assertEquals(forgot.structuredContent.forgotten, 1);
  const gone = await agent.call("memwal_forget", { namespace: "people" });
  assertEquals(gone.structuredContent.forgotten, 2);
  const nothing = await agent.call("memwal_recall", {
    query: "dog",
    namespace: "people",
  });
  assertEquals(nothing.content[0].text, "No memories were found.");
  const ended = await fetch(agent.url, {
    method: "DELETE",
    headers: agent.headers,
  });
  assertEquals(ended.status, 204);
  await ended.body?.cancel();
  assertEquals((await agent.ask("ping")).status, 404);
});

Deno.test("/api/mcp/sse serves the flow of the older transport when its stream is lost", async () => {
  await using home = await RelayerHome.open();
  const fields = agentOf(home);
  const openStream = async () => {
    const ending = new AbortController();
    const response = await fetch(`${home.url}/api/mcp/sse`, {
      headers: { ...fields, accept: "text/event-stream" },
      signal: ending.signal,
    });
    assertEquals(response.status, 200);
    const events = readEvents(response);
    const { value } = await events.next();
    assertEquals(value?.event, "endpoint");
    const url = new URL(value?.data ?? "", home.url).href;
    return { ending, events, url };
  };
  const post = async (url: string, message: object): Promise<number> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...fields, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    await response.body?.cancel();
    return response.status;
  };
  const initialize = {
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2024-11-05",
      capabilities: {},
      clientInfo: { name: "old", version: "1" },
    },
  };
  const remember = {
    id: 1,
    method: "tools/call",
    params: {
      name: "memwal_remember",
      arguments: { text: "Ada drinks tea" },
    },
  };
  const first = await openStream();
  assertEquals(await post(first.url, initialize), 202);
  const { value: answered } = await first.events.next();
  assertEquals(
    JSON.parse(answered?.data ?? "").result.protocolVersion,
    "2024-11-05",
  );
  assertEquals(await post(first.url, remember), 202);
  first.ending.abort();
  await first.events.next().catch(() => {});

  // The client opens another stream and repeats what is unanswered.
  const second = await openStream();
  while (await post(first.url, remember) !== 404);
  assertEquals(await post(second.url, initialize), 202);
  await second.events.next();
  assertEquals(await post(second.url, remember), 202);
  const { value: stored } = await second.events.next();
  assertEquals(JSON.parse(stored?.data ?? "").id, 1);
  const mem = home.mem();
  const { results } = await mem.recall({ query: "tea" });
  assertEquals(results.map(({ text }) => text), ["Ada drinks tea"]);
  second.ending.abort();
  await second.events.next().catch(() => {});
});
