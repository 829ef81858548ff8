import { assert, assertEquals, assertRejects } from "@std/assert";
import { readEvents, type TenantEvent } from "./events.ts";
import { TasksError } from "./tasks_error.ts";
import {
  createScriptedCalls,
  problem,
  waitFor,
} from "./testing/scripted_calls.ts";

const encoder = new TextEncoder();

/** An answer that sends pieces, and then ends or stays silent. */
function stream(
  pieces: readonly string[],
  { isSilent = false }: { readonly isSilent?: boolean } = {},
): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        if (!isSilent) controller.close();
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  );
}

function told(id: number): string {
  const type = "task.created";
  const data = JSON.stringify({ type, id: `e-${id}`, data: { task: "ä" } });
  return `id: e-${id}\nevent: ${type}\ndata: ${data}\n\n`;
}

type Calls = Parameters<typeof readEvents>[0];

async function takeIds(
  { calls, clock }: {
    readonly calls: Calls;
    readonly clock: Parameters<typeof waitFor>[1];
  },
  count: number,
  options: Parameters<typeof readEvents>[1] = {},
): Promise<readonly string[]> {
  const seen: string[] = [];
  const events = readEvents(calls, options);
  while (seen.length < count) {
    const { value } = await waitFor(events.next(), clock);
    const { type, id } = value as TenantEvent;
    seen.push(type === "reset" ? "reset" : id);
  }
  await events.return();
  return seen;
}

Deno.test("readEvents() yields events however they are cut, and asks for those that are wanted", async () => {
  const all = told(1) + ": \nid: e-2\n\n" + told(3);
  const bytes = [...all];
  for (const size of [1, 7, all.length]) {
    const pieces: string[] = [];
    for (let from = 0; from < bytes.length; from += size) {
      pieces.push(bytes.slice(from, from + size).join(""));
    }
    const scripted = createScriptedCalls(() => stream(pieces));
    const ids = await takeIds(scripted, 2, {
      types: ["task.*", "quota.near"],
      task: "tsk_1",
      after: "e-0",
    });
    assertEquals(ids, ["e-1", "e-3"]);
    const [first] = scripted.seen;
    assertEquals(
      first?.path,
      "/api/v1/events?type=task.*,quota.near&task=tsk_1",
    );
    const headers = new Headers(first?.init.headers);
    assertEquals(headers.get("last-event-id"), "e-0");
  }
});

Deno.test("readEvents() goes on after the last id when a stream ends, is cut or is silent", async () => {
  const answers = [
    stream([told(1), ": \nid: e-2\n\n", "event: cut\ndata: {}\n\n"]),
    problem(503),
    stream([told(3)]),
    stream([told(4)], { isSilent: true }),
    stream(["event: reset\ndata: {}\n\n", told(5)]),
  ];
  const scripted = createScriptedCalls(() => answers.shift()!);
  assertEquals(await takeIds(scripted, 5), [
    "e-1",
    "e-3",
    "e-4",
    "reset",
    "e-5",
  ]);
  assertEquals(
    scripted.seen.map(({ init }) =>
      new Headers(init.headers).get("last-event-id")
    ),
    [null, "e-2", "e-2", "e-3", "e-4"],
  );
});

Deno.test("readEvents() throws what does not pass, and the reason of its signal", async () => {
  const refused = createScriptedCalls(() =>
    problem(403, { code: "forbidden" })
  );
  const error = await assertRejects(
    () => readEvents(refused.calls, {}).next(),
    TasksError,
  );
  assertEquals(error.code, "forbidden");
  const ending = new AbortController();
  const { calls } = createScriptedCalls(() =>
    stream([told(1)], { isSilent: true })
  );
  const events = readEvents(calls, { signal: ending.signal });
  assert(!(await events.next()).done);
  const next = events.next();
  const reason = new Error("enough");
  ending.abort(reason);
  assertEquals(await next.catch((thrown) => thrown), reason);
});
