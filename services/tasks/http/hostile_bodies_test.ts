import { assert, assertEquals } from "@std/assert";
import type { Pausing } from "../../shared/slices.ts";
import { openOperations } from "../routes/tasks/bulk_routes.ts";
import { leaseRoutes } from "../routes/leases/lease_routes.ts";
import { taskRoutes } from "../routes/tasks/task_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../routes/testing/test_api.ts";
import { testRequest } from "../routes/testing/test_request.ts";

/**
 * Most characters of JSON that may be parsed or written in one go. Strings
 * count a tenth, since they take a tenth of the time.
 */
const MAX_CHARS = 262_144;
const ITEMS = 40_000;

/** Data of bodies that take long to parse, by a description. */
const SHAPES: readonly (readonly [string, string])[] = [
  ["empty lists", createList(() => "[]")],
  ["nested lists", createList((index) => index % 40 === 0 ? nested(40) : "[]")],
  ["objects", createList((index) => `{"k${index}":{}}`)],
  ["numbers", createList(() => "0")],
  ["long numbers", createList(() => "1.2345678901234567")],
  ["strings", createList((index) => `"${index * 131_072}"`)],
  ["members", createObject((index) => `"k${index}":[]`)],
  [
    "members with numbers as names",
    createObject((index) => `"${index * 7}":0`),
  ],
  [
    "one member, deep down",
    `${'{"a":'.repeat(40)}${createList(() => "{}")}${"}".repeat(40)}`,
  ],
];

for (const [name, data] of SHAPES) {
  Deno.test(`POST /v1/tasks gives way again and again while it takes ${name}, and shows them as they are`, async () => {
    await watched(async ({ send }) => {
      const made = await send(
        "POST",
        "/v1/tasks",
        `{"worker":"mailer","data":${data}}`,
      );
      assertEquals(made.status, 201, made.text);
      const { id, data: shown } = JSON.parse(made.text);
      assertEquals(JSON.stringify(shown), JSON.stringify(JSON.parse(data)));
      const again = await send("GET", `/v1/tasks/${id}`);
      assertEquals(again.text, made.text);
      const list = await send("GET", "/v1/tasks");
      assertEquals(
        JSON.stringify(JSON.parse(list.text).data[0].data),
        JSON.stringify(shown),
      );
      const changed = await send(
        "PATCH",
        `/v1/tasks/${id}`,
        `{"data":{"k1":1,"new":${data}}}`,
      );
      assertEquals(changed.status, 200);
    });
  });
}

Deno.test("POST /v1/tasks/batch gives way again and again while it makes tasks", async () => {
  await watched(async ({ send }) => {
    const task = `{"worker":"mailer","data":[${"[],".repeat(200)}0]}`;
    const made = await send("POST", "/v1/tasks/batch", createBatch(() => task));
    assertEquals(made.status, 200);
    assertEquals(JSON.parse(made.text).results.length, 400);
    const [name, data] = SHAPES[0]!;
    const few = await send(
      "POST",
      "/v1/tasks/batch",
      createBatch((index) =>
        index < 4 ? `{"worker":"mailer","data":${data}}` : '{"worker":"mailer"}'
      ),
    );
    assertEquals(JSON.parse(few.text).results[3].status, 201, name);
  });
});

Deno.test("POST /v1/tasks/batch tells a thousand faults, then one of each task", async () => {
  await watched(async ({ send }) => {
    const bad = Array.from({ length: 200 }, (_, index) => `"x${index}":0`);
    const answer = await send(
      "POST",
      "/v1/tasks/batch",
      createBatch(() => `{${bad.join(",")}}`),
    );
    const { results } = JSON.parse(answer.text);
    const counts: number[] = results.map((
      one: { readonly problem: { readonly errors: unknown[] } },
    ) => one.problem.errors.length);
    assertEquals(counts.slice(0, 20), new Array(20).fill(50));
    assertEquals(counts.slice(20), new Array(380).fill(1));
  });
});

Deno.test("POST /v1/leases/batch gives way again and again while it reads reports", async () => {
  await watched(async ({ send }) => {
    const [, data] = SHAPES[0]!;
    const words = Array.from(
      { length: 10 },
      () =>
        `{"id":"lse_01h455vb4pex5vsknk084sn02q_1","token":"lt_x","action":"complete","result":${data}}`,
    );
    const answer = await send(
      "POST",
      "/v1/leases/batch",
      `{"leases":[${words.join(",")}]}`,
    );
    assertEquals(answer.status, 200);
  });
});

interface Watched {
  readonly api: TestApi;
  readonly send: (
    method: string,
    path: string,
    body?: string,
  ) => Promise<{ readonly status: number; readonly text: string }>;
}

/**
 * Answers requests while it measures how much JSON is read and written between
 * two pauses. The clock has no part in it.
 */
async function watched(
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  let sinceChance = 0;
  let most = 0;
  const pausing: Pausing = {
    pause() {
      most = Math.max(most, sinceChance);
      sinceChance = 0;
      return undefined;
    },
  };
  const api = await openTestApi({
    routes: (parts) => [
      ...taskRoutes(parts, { operations: openOperations(parts.engine) }),
      ...leaseRoutes(parts),
    ],
    pausing,
  });
  await api.addWorker();
  const { parse, stringify } = JSON;
  const send: Watched["send"] = async (method, path, body) => {
    JSON.parse = (text: string, ...rest) => {
      sinceChance += countChars(text);
      return parse(text, ...rest);
    };
    JSON.stringify = (value: unknown, ...rest: never[]) => {
      const text = stringify(value, ...rest);
      sinceChance += countChars(text ?? "");
      return text;
    };
    sinceChance = 0;
    try {
      const { status, body: text = "" } = await api.handler(testRequest({
        method,
        target: `/api${path}`,
        headers: {
          host: `acme.${SERVICE_HOST}`,
          authorization: `Bearer ${api.ownerKey}`,
          ...(body === undefined ? {} : {
            "content-type": method === "PATCH"
              ? "application/merge-patch+json"
              : "application/json",
          }),
        },
        ...(body === undefined ? {} : { body }),
      }));
      pausing.pause();
      assert(typeof text === "string");
      return { status, text };
    } finally {
      JSON.parse = parse;
      JSON.stringify = stringify;
    }
  };
  try {
    await use({ api, send });
  } finally {
    await api.close();
  }
  assert(most <= MAX_CHARS, `${most} characters in one go`);
}

/** The cost of reading or writing a text, in characters; a string is quick. */
function countChars(text: string): number {
  return text.startsWith('"') ? text.length / 10 : text.length;
}

function createBatch(createTask: (index: number) => string): string {
  return `{"tasks":[${
    Array.from({ length: 400 }, (_, index) => createTask(index)).join(",")
  }]}`;
}

function createList(item: (index: number) => string): string {
  return `[${
    Array.from({ length: ITEMS }, (_, index) => item(index)).join(",")
  }]`;
}

function createObject(member: (index: number) => string): string {
  return `{${
    Array.from({ length: ITEMS }, (_, index) => member(index)).join(",")
  }}`;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}
