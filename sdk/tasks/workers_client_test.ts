import { assertEquals, assertRejects } from "@std/assert";
import { TasksError } from "./tasks_error.ts";
import {
  createScriptedCalls,
  problem,
  waitFor,
} from "./testing/scripted_calls.ts";
import { WorkersClient } from "./workers_client.ts";

/** A client, and the methods, paths and bodies of what it has sent. */
function createWorkers(answers: readonly (() => Response)[]) {
  const left = [...answers];
  const { calls, seen, clock } = createScriptedCalls(() => left.shift()!());
  const sent = () =>
    seen.map(({ path, init, body }) => {
      const text = new TextDecoder().decode(body);
      return `${init.method} ${path.replace("/api/v1/", "")} ${text}`.trim();
    });
  return { workers: new WorkersClient(calls), sent, clock };
}

const none = () => problem(404, { code: "not_found" });
const taken = () => problem(409, { code: "name_taken" });
const there = () => Response.json({ id: "wrk_1", name: "mailer" });

Deno.test("WorkersClient.ensure() creates a worker that is not there, and leaves or changes one that is", async () => {
  const cases = [
    [{}, [there], ["GET workers/mailer"]],
    [{ concurrency: 3, url: undefined }, [there], [
      'PUT workers/mailer {"concurrency":3}',
    ]],
    [{ concurrency: 3 }, [none, there], [
      'PUT workers/mailer {"concurrency":3}',
      'POST workers {"name":"mailer","concurrency":3}',
    ]],
    [{}, [none, taken, there], [
      "GET workers/mailer",
      'POST workers {"name":"mailer"}',
      "GET workers/mailer",
    ]],
  ] as const;
  for (const [values, answers, wanted] of cases) {
    const { workers, sent } = createWorkers(answers);
    const worker = await workers.ensure({ name: "mailer", ...values });
    assertEquals(worker.id, "wrk_1");
    assertEquals<readonly string[]>(sent(), wanted);
  }
  const refused = createWorkers([() => problem(403, { code: "forbidden" })]);
  await assertRejects(
    () => refused.workers.ensure({ name: "mailer" }),
    TasksError,
  );
});

Deno.test("WorkersClient.ensureCredential() creates a credential once, and removes one that could not be saved", async () => {
  const made = () => Response.json({ id: "wk_1", secret: "wk_1_secret" });
  const { workers, sent, clock } = createWorkers([
    made,
    made,
    () => new Response(null, { status: 204 }),
  ]);
  let saved: string | undefined;
  const place = {
    load: () => saved && `${saved}\n`,
    save: (secret: string) => void (saved = secret),
  };
  for (let starts = 0; starts < 2; starts++) {
    const secret = await workers.ensureCredential("mailer", place);
    assertEquals(secret, "wk_1_secret");
  }
  assertEquals(sent(), [
    'POST workers/mailer/secrets {"type":"credential"}',
  ]);
  const full = new Error("the disk is full");
  const save = () => Promise.reject(full);
  const load = () => Promise.resolve("");
  const error = await assertRejects(() =>
    waitFor(workers.ensureCredential("mailer", { load, save }), clock)
  );
  assertEquals(error, full);
  assertEquals(sent().at(-1), "DELETE workers/mailer/secrets/wk_1");
});
