/**
 * Tests `/api/mcp` of a relayer process: agents that speak each version of the
 * Model Context Protocol, with real memories.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { PlainMcpClient, readEvents } from "../mcp/mcp_client.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { waitUntil } from "../support/wait_until.ts";
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
      "memwal_remember_status",
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
    /\n1\. \[score=[\d.-]+\] \[relevance=[\d.]+\] \[written=\d{4}-\d\d-\d\d\] \[id=[^\]]+\] "Ada drinks green tea"\n/,
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
    facts: ["Ben lives in Oslo", "Ben has a dog"],
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
  const forgot = await agent.call("memwal_forget", { id });
  assertEquals(forgot.structuredContent.forgotten, 1);
  const gone = await agent.call("memwal_forget", { namespace: "people" });
  assertEquals(gone.structuredContent.forgotten, 2);
  const nothing = await agent.call("memwal_recall", {
    query: "dog",
    namespace: "people",
  });
  assertEquals(nothing.content[0].text, "No matching memories were found.");
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
  assertEquals(await post(second.url, remember), 202);
  const { value: stored } = await second.events.next();
  assertEquals(JSON.parse(stored?.data ?? "").id, 1);
  const mem = home.mem();
  const { results } = await mem.recall({ query: "tea" });
  assertEquals(results.map(({ text }) => text), ["Ada drinks tea"]);
  second.ending.abort();
  await second.events.next().catch(() => {});
});

Deno.test("/api/mcp refuses wrong credentials, and other credentials than the one that opened a session", async () => {
  await using home = await RelayerHome.open({ accounts: 2 });
  const url = `${home.url}/api/mcp`;
  const strangers = [
    {},
    { authorization: "Bearer 00" },
    { ...agentOf(home), authorization: `Bearer ${"07".repeat(32)}` },
    {
      ...agentOf(home),
      "x-memwal-account-id": home.account(1).accountId,
    },
  ];
  for (const headers of strangers) {
    const refused = await new PlainMcpClient(url, headers).open();
    assertEquals(refused.status, 401);
    assertEquals(refused.answer.error.code, -32_001);
    assertEquals(
      refused.headers.get("www-authenticate"),
      'Bearer realm="memwal", error="invalid_token"',
    );
  }
  const alone = await new PlainMcpClient(url, strangers[2]).ask("tools/list", {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  }, {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
  });
  assertEquals(alone.status, 401);
  const ann = new PlainMcpClient(url, agentOf(home));
  await ann.open();
  await ann.call("memwal_remember", { text: "Ada drinks tea" });
  const thief = new PlainMcpClient(url, {
    ...ann.headers,
    ...agentOf(home, 1),
  });
  const stolen = await thief.ask("tools/call", {
    name: "memwal_recall",
    arguments: { query: "tea" },
  });
  assertEquals(stolen.status, 403);
  const ben = new PlainMcpClient(url, agentOf(home, 1));
  await ben.open();
  const found = await ben.call("memwal_recall", { query: "tea" });
  assertEquals(found.structuredContent.total, 0);
  await home.stop();
  const { stderr: log } = home.service;
  for (
    const secret of [
      home.account().key,
      home.account(1).key,
      ann.headers["mcp-session-id"] ?? "",
      "Ada drinks tea",
    ]
  ) {
    assert(secret !== "" && !log.includes(secret));
  }
  assertMatch(log, /private key as its bearer/);
});

Deno.test("/api/mcp charges the points of the API when a session asks too often", async () => {
  await using home = await RelayerHome.open({
    env: { RATE_PER_KEY_MINUTE: "6", RATE_LIMIT_DISABLED: "false" },
  });
  const agent = new PlainMcpClient(`${home.url}/api/mcp`, agentOf(home));
  await agent.open();
  let last = await agent.call("memwal_recall", { query: "tea" });
  for (let asked = 1; asked < 100 && last.isError !== true; asked++) {
    last = await agent.call("memwal_recall", { query: "tea" });
  }
  assertMatch(last.content[0].text, /429|limit/);
});

Deno.test("/api/mcp counts sessions and calls, and opens 30 sessions a minute", async () => {
  await using home = await RelayerHome.open();
  const url = `${home.url}/api/mcp`;
  const agents = Array.from(
    { length: 16 },
    () => new PlainMcpClient(url, agentOf(home)),
  );
  await Promise.all(agents.map((agent) => agent.open()));
  await agents[0]?.call("memwal_recall", { query: "tea" });
  await agents[0]?.call("memwal_recall", {});
  const metrics = await readMetrics(await metricsUrl(home.service));
  assertEquals(findSeries(metrics, "relayer_mcp_sessions"), 16);
  const count = (outcome: string) =>
    findSeries(metrics, "relayer_mcp_calls_total", {
      ...{ tool: "memwal_recall", outcome },
    });
  assertEquals([count("ok"), count("error")], [1, 1]);
  const full = await new PlainMcpClient(url, agentOf(home)).open();
  assertEquals([full.status, full.answer.error.code], [429, -32_000]);
  assert(Number(full.headers.get("retry-after")) > 0);
});

Deno.test("/api/mcp ends its streams when the relayer stops", async () => {
  await using home = await RelayerHome.open();
  const url = `${home.url}/api/mcp`;
  const agent = new PlainMcpClient(url, agentOf(home));
  await agent.open();
  const stream = await fetch(url, { headers: agent.headers });
  assertEquals(stream.headers.get("content-type"), "text/event-stream");
  assertEquals(await home.stop(), 0);
  for await (const event of readEvents(stream)) {
    throw new Error(`an event came: ${event.data}`);
  }
});

Deno.test("/api/mcp is not there when MCP is false", async () => {
  await using home = await RelayerHome.open({ env: { MCP: "false" } });
  const agent = new PlainMcpClient(`${home.url}/api/mcp`, agentOf(home));
  assertEquals((await agent.open()).status, 404);
});

Deno.test("/api/mcp holds little for a client that does not read", async () => {
  await using home = await RelayerHome.open();
  const agent = new PlainMcpClient(`${home.url}/api/mcp`, agentOf(home));
  await agent.open();
  const text = "Ada drinks tea. ".repeat(6_000);
  await agent.call("memwal_remember", { text });
  const { hostname, port } = new URL(home.url);
  const fields = Object.entries({
    ...agentOf(home),
    host: `${hostname}:${port}`,
    accept: "text/event-stream",
  }).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `GET /api/mcp/sse HTTP/1.1\r\n${fields}\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const first = new Uint8Array(4_096);
  let begin = "";
  while (!begin.includes("sessionId=")) {
    const read = await connection.read(first) ?? 0;
    begin += new TextDecoder().decode(first.subarray(0, read));
  }
  const path = /data: (\S+)/.exec(begin)?.[1] ?? "";
  const older = new PlainMcpClient(`${home.url}${path}`, agentOf(home));
  const ask = () =>
    older.ask("tools/call", {
      name: "memwal_recall",
      arguments: { query: "tea" },
    });
  let status = 202;
  await waitUntil(async () => {
    ({ status } = await ask());
    return status === 404;
  }, { what: "the end of the session that does not read" });
  assertEquals(status, 404);
  assertEquals((await agent.ask("ping")).status, 200, "others go on");
});
