import { assertEquals } from "@std/assert";
import { runEvents } from "./events.ts";

interface Run {
  readonly code: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
  readonly urls: readonly string[];
}

const EVENT = {
  type: "task.failed",
  timestamp: "2027-01-15T08:00:00.021Z",
  id: "e-1",
  data: {
    task: "tsk_1",
    worker: "wrk_1",
    job: "mail",
    status: "failed",
    error: { code: "smtp", message: "mailbox\nfull" },
  },
};

/** Runs the command at a service that tells an event, and then refuses. */
async function run(...args: readonly string[]): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const urls: string[] = [];
  const answers = [
    new Response(
      `retry: 2000\nid: e-0\n\nid: e-1\nevent: task.failed\ndata: ${
        JSON.stringify(EVENT)
      }\n\n`,
    ),
    Response.json({
      ...{ type: "x", title: "No", status: 401, code: "invalid_credentials" },
      ...{ detail: "Cannot authenticate: the key has ended", request_id: "r" },
    }, { status: 401 }),
  ];
  const variables: Readonly<Record<string, string>> = {
    TASKS_URL: "http://acme.test",
    TASKS_KEY: "dk_1",
  };
  const code = await runEvents(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    readVariable: (name) => variables[name],
    readText: () => Promise.reject(new Error("no such file")),
    writeSecret: () => Promise.reject(new Error("no file is made")),
    readInput: () => Promise.resolve(""),
    fetch: (input) => {
      urls.push(String(input));
      return Promise.resolve(answers.shift()!);
    },
  });
  return { code, out, err, urls };
}

Deno.test("tercet tasks events prints events as lines until it is refused", async () => {
  const { code, out, err, urls } = await run(
    ...["--type", "task.failed", "--type", "quota.*", "--job", "mail"],
  );
  assertEquals(code, 1);
  assertEquals(out, [
    "2027-01-15 08:00:00Z  task.failed  tsk_1  wrk_1  mail  failed  " +
    "smtp: mailbox full",
  ]);
  assertEquals(err.length, 1);
  assertEquals(
    urls[0],
    "http://acme.test/api/v1/events?type=task.failed,quota.*&job=mail",
  );
});

Deno.test("tercet tasks events --json prints the objects of the API", async () => {
  const { out } = await run("--json");
  assertEquals(out.map((line) => JSON.parse(line)), [EVENT]);
});
