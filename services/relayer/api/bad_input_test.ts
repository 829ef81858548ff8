/**
 * Sends every kind of bad input to every signed route: each must refuse
 * clearly, reveal nothing of its inside, and store nothing.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { allRoutes } from "./handler.ts";
import { ANN, BEN } from "./testing/test_parts.ts";
import { storeSample } from "./testing/sample_rows.ts";
import { BAD_BODIES, REFUSALS, SAMPLES } from "./testing/signed_samples.ts";
import {
  openTestRelayer,
  type TestAnswer,
  type TestRelayer,
} from "./testing/test_relayer.ts";

/** Returns everything that a route could have stored. */
function kept(relayer: TestRelayer): unknown {
  const { store, blobs, catalog, vault, index, intake } = relayer;
  return {
    commits: store.commits.length,
    rows: [...store.memoryRows],
    blobs: [...blobs.blobs.keys()],
    entries: [...catalog.entries.keys()],
    keys: [...vault.keys],
    index: [...index.memories.keys()],
    accepted: intake.accepted.length,
  };
}

function assertClear(answer: TestAnswer, what: string): void {
  const { json, text } = answer;
  assert(typeof json === "object" && json !== null, what);
  const error = "error" in json ? json.error : undefined;
  assert(typeof error === "string", what);
  assertMatch(error, /^Cannot [a-z ]+: .+|^invalid cursor$/, what);
  assertEquals(Object.keys(json), ["error"], what);
  assertEquals(/\.ts|at async|Error:/.test(text), false, what);
}

Deno.test("samples cover every route that somebody has to sign for", () => {
  const { parts } = openTestRelayer();
  const routes = allRoutes(parts).flatMap(({ access, method, path }) =>
    access === "open" ? [] : `${method} ${path}`
  );
  const sampled = SAMPLES.map(({ method, target }) =>
    `${method} ${target.replace(ANN.owner, ":owner").replace("/m1", "/:id")}`
  );
  assertEquals(sampled.toSorted(), routes.toSorted());
});

Deno.test("every signed route takes its sample", async () => {
  for (const { method, target, good } of SAMPLES) {
    const relayer = openTestRelayer();
    await storeSample(relayer, ANN, { id: "m1" });
    const entry = await relayer.catalog.findEntry(ANN.owner, "m1");
    assert(entry !== undefined);
    // With a sealed index, as memories have it that clients seal themselves.
    await relayer.catalog.add({ ...entry, sealedIndex: Uint8Array.of(1) });
    const { status } = await relayer.call(method, target, { body: good });
    assert(status === 200 || status === 202, `${method} ${target}: ${status}`);
  }
});

Deno.test("every signed route refuses bad signatures without a body, and stores nothing", async () => {
  const relayer = openTestRelayer();
  await storeSample(relayer, ANN, { id: "m1" });
  const before = kept(relayer);
  for (const { method, target, good } of SAMPLES) {
    for (const code of REFUSALS) {
      const what = `${method} ${target} ${code}`;
      const { status, text, headers } = await relayer.call(method, target, {
        body: good,
        headers: { "x-test-refusal": code },
      });
      assertEquals(status, 401, what);
      assertEquals(text, "", what);
      assertEquals(headers["x-auth-error"], code, what);
    }
    const nobody = await relayer.call(method, target, {
      as: "nobody",
      body: good,
    });
    assertEquals([nobody.status, nobody.text], [401, ""]);
  }
  assertEquals(kept(relayer), before);
  assertEquals(relayer.asked, []);
  assertEquals(relayer.recall.requests, []);
});

Deno.test("every signed route refuses bad members with 400, and stores nothing", async () => {
  const relayer = openTestRelayer();
  const before = kept(relayer);
  let count = 0;
  for (const { method, target, good, bad = [] } of SAMPLES) {
    for (const members of bad) {
      const what = `${method} ${target} ${
        JSON.stringify(members).slice(0, 200)
      }`;
      const answer = await relayer.call(method, target, {
        body: { ...good, ...members },
      });
      assertEquals(answer.status, 400, what);
      assertClear(answer, what);
      count++;
    }
  }
  assert(count > 200, `${count} cases`);
  assertEquals(kept(relayer), before);
  assertEquals(relayer.asked, []);
  assertEquals(relayer.recall.requests, []);
});

Deno.test("every signed route refuses bodies that are no JSON object, and stores nothing", async () => {
  const relayer = openTestRelayer();
  const before = kept(relayer);
  for (const { method, target, good } of SAMPLES) {
    if (good === undefined) continue;
    for (const [place, body] of BAD_BODIES.entries()) {
      const what = `${method} ${target} body ${place}`;
      const answer = await relayer.call(method, target, { body });
      assertEquals(answer.status, 400, what);
      assertClear(answer, what);
    }
    const large = await relayer.call(method, target, {
      body: new Uint8Array(2_097_153),
    });
    assertEquals(large.status, 413, target);
  }
  assertEquals(kept(relayer), before);
  assertEquals(relayer.asked, []);
});

Deno.test("numbers beyond all bounds are refused", async () => {
  const { call, intake, recall } = openTestRelayer();
  const bodies = [
    ["/api/recall", '{"query":"tea","limit":1e999}'],
    ["/api/recall/manual", '{"vector":[1e999,0,0,0]}'],
    [
      "/api/remember/manual",
      '{"encrypted_data":"AAAA","vector":[-1e999,0,0,0]}',
    ],
    ["/api/remember", '{"text":"tea","importance":1e999}'],
    ["/api/remember", '{"text":"tea","metadata":{"a":1e999}}'],
    ["/api/restore", '{"limit":1e999}'],
  ] as const;
  for (const [target, body] of bodies) {
    assertEquals((await call("POST", target, { body })).status, 400, body);
  }
  assertEquals(intake.accepted, []);
  assertEquals(recall.requests, []);
});

Deno.test("other owners' memories, jobs and listings stay out of reach", async () => {
  const relayer = openTestRelayer();
  const { call, store } = relayer;
  await storeSample(relayer, BEN, { id: "bens" });
  const before = kept(relayer);
  assertEquals((await call("GET", "/api/remember/bens")).status, 404);
  assertEquals((await call("DELETE", "/api/memories/bens")).status, 404);
  const bulk = await call("POST", "/api/remember/bulk/status", {
    body: { job_ids: ["bens"] },
  });
  assertEquals(bulk.json, {
    results: [{ job_id: "bens", status: "not_found" }],
  });
  const stats = await call("POST", "/api/stats", { body: {} });
  assertEquals(stats.json, {
    memory_count: 0,
    storage_bytes: 0,
    namespace: "default",
    owner: ANN.owner,
  });
  const forget = await call("POST", "/api/forget", { body: {} });
  assertEquals(forget.status, 200);
  assertEquals(store.memoryRows.size, 1);
  assertEquals(relayer.index.size, 1);
  for (const listing of ["namespaces", "memories", "agents"]) {
    const target = `/v1/owners/${BEN.owner}/${listing}`;
    const answer = await call("GET", target);
    assertEquals(answer.status, 403);
    assertClear(answer, target);
  }
  const { commits: _after, ...rest } = kept(relayer) as { commits: number };
  const { commits: _before, ...then } = before as { commits: number };
  assertEquals(rest, then);
});

Deno.test("listings refuse bad cursors and limits", async () => {
  const { call } = openTestRelayer();
  const cursors = [
    "",
    "x",
    "!!",
    "bnVsbA",
    btoa("{}"),
    "a".repeat(257),
    encodeURIComponent(btoa('{"listing":"memories","change":-1}')),
  ];
  const limits = ["0", "-1", "x", "1.5", "1e9", "", "%20"];
  for (const listing of ["namespaces", "memories"]) {
    const path = `/v1/owners/${ANN.owner}/${listing}`;
    for (const cursor of cursors) {
      const answer = await call("GET", `${path}?updated_after=${cursor}`);
      assertEquals(answer.status, 400, cursor);
      assertEquals(answer.json, { error: "invalid cursor" });
    }
    for (const limit of limits) {
      const answer = await call("GET", `${path}?limit=${limit}`);
      assertEquals(answer.status, 400, limit);
      assertClear(answer, limit);
    }
    const many = await call("GET", `${path}?limit=1000000000`);
    assertEquals(many.status, 200);
  }
});

Deno.test("job status refuses bad waits and finds no job by what is no id", async () => {
  const { call } = openTestRelayer();
  for (const wait of ["-1", "x", "1.5", "", "1e9"]) {
    const answer = await call("GET", `/api/remember/a?wait=${wait}`);
    assertEquals(answer.status, 400, wait);
    assertClear(answer, wait);
  }
  for (const id of ["a%20b", "..", "a.b", "x".repeat(65), "%00"]) {
    assertEquals((await call("GET", `/api/remember/${id}`)).status, 404, id);
    assertEquals((await call("DELETE", `/api/memories/${id}`)).status, 404, id);
  }
});
