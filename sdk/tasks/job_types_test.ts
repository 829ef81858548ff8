import { assertEquals } from "@std/assert";
import type { Task } from "./api_types.ts";
import type { AnyJobs, TaskOf } from "./job_types.ts";
import { TasksClient } from "./tasks_client.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker_options.ts";

interface Jobs {
  readonly mail: {
    readonly data: { readonly to: string };
    readonly result: { readonly sent: boolean };
  };
  readonly report: { readonly data: number };
  readonly sweep: { readonly result: string };
}

/** True when two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends
  (<T>() => T extends B ? 1 : 2) ? true : false;

/** Fails to compile unless the type is true. */
function isTrue<T extends true>(): T | undefined {
  return undefined;
}

const SERVICE = { url: "http://tasks.test", key: "dk_1", maxRetries: 0 };

/** A client whose requests are answered with what they sent. */
function client<Of extends { readonly [Job in keyof Of]: object } = AnyJobs>() {
  return new TasksClient<Of>({
    ...SERVICE,
    fetch: (_, init) =>
      Promise.resolve(new Response(String(init?.body ?? "{}"))),
  });
}

Deno.test("TasksClient<Jobs> takes data by job, and gives data and results by job", async () => {
  const tasks = client<Jobs>();
  const mail = await tasks.create({
    ...{ worker: "w", job: "mail", data: { to: "ada" } },
    date: new Date("2027-01-01T00:00:00Z"),
  });
  isTrue<Same<typeof mail.job, "mail">>();
  isTrue<Same<typeof mail.result, { readonly sent: boolean } | null>>();
  assertEquals<unknown>(mail, {
    ...{ worker: "w", job: "mail", data: { to: "ada" } },
    date: "2027-01-01T00:00:00.000Z",
  });
  await tasks.create({ worker: "w", job: "report", data: 7 });
  await tasks.create({ worker: "w", job: "sweep" });
  // @ts-expect-error: the data is of another type
  await tasks.create({ worker: "w", job: "mail", data: { to: 7 } });
  // @ts-expect-error: the data is missing
  await tasks.create({ worker: "w", job: "mail" });
  // @ts-expect-error: there is no such job
  await tasks.create({ worker: "w", job: "fax", data: {} });
  // @ts-expect-error: the job is missing
  await tasks.create({ worker: "w", data: 7 });
  // @ts-expect-error: there is no such field
  await tasks.create({ worker: "w", job: "sweep", retires: 3 });
  const any: TaskOf<Jobs, keyof Jobs> = await tasks.get("tsk_1");
  if (any.job === "mail") isTrue<Same<typeof any.result, typeof mail.result>>();
  const wait = () => tasks.wait<"sweep">("tsk_1");
  isTrue<Same<Awaited<ReturnType<typeof wait>>["result"], string | null>>();
  const batch = () =>
    tasks.createBatch([
      { worker: "w", job: "report", data: 7 },
      // @ts-expect-error: the data is of another type
      { worker: "w", job: "report", data: "7" },
    ]);
  assertEquals(typeof batch, "function");
});

Deno.test("TasksClient takes any job and any data when it has no types of jobs", async () => {
  const tasks = client();
  const task = await tasks.create({ worker: "w", data: { any: 1 } });
  isTrue<Same<typeof task, Task>>();
  assertEquals<unknown>(task, { worker: "w", data: { any: 1 } });
  // @ts-expect-error: there is no such field
  await tasks.create({ worker: "w", retires: 3 });
});

Deno.test("Worker<Jobs> has a handler for each job, with its data and its result", () => {
  const options = { ...SERVICE, worker: "w", onError: () => {} };
  new Worker<Jobs>({
    ...options,
    handlers: {
      mail: ({ data }) => ({ sent: data.to !== "" }),
      report: async ({ data }) => await Promise.resolve(data + 1),
      sweep: () => "done",
    },
  });
  new Worker<Jobs>({
    ...options,
    handlers: (task) => {
      if (task.job === "report") isTrue<Same<typeof task.data, number>>();
    },
  });
  new Worker<Pick<Jobs, "report">>({
    ...options,
    handlers: {
      report: ({ data }) => isTrue<Same<typeof data, number>>(),
    },
  });
  new Worker({
    ...options,
    handlers: { any: ({ data }) => isTrue<Same<typeof data, unknown>>() },
  });
  const handlers: WorkerOptions<Jobs>["handlers"] = {
    mail: ({ data }) => ({ sent: data.to !== "" }),
    report: () => {},
    // @ts-expect-error: the result is of another type
    sweep: () => 7,
  };
  // @ts-expect-error: two handlers are missing
  const few: WorkerOptions<Jobs>["handlers"] = { report: () => {} };
  assertEquals([typeof handlers, typeof few], ["object", "object"]);
});
