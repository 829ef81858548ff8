import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import {
  withFolder,
  withStore,
} from "../../store/sqlite/testing/open_store.ts";
import { openTasksApi, type TasksApi } from "./testing/tasks_api.ts";

const BURST = 50;

for (const on_conflict of ["replace", "keep_date"]) {
  Deno.test(`POST /v1/tasks writes all of a burst with one key in the order it came when on_conflict is ${on_conflict}`, async () => {
    await withTasksApi(async (api) => {
      const answers = await Promise.all(
        Array.from(
          { length: BURST },
          (_, data) =>
            api.create({ key: "k", on_conflict, data, delay: "60s" }),
        ),
      );
      assertEquals(answers.map(({ status }) => status), [
        201,
        ...new Array<number>(BURST - 1).fill(200),
      ]);
      assertEquals(
        answers.map((answer) => [answer.at("data"), answer.at("version")]),
        answers.map((_, data) => [data, data + 1]),
      );
    });
  });
}

Deno.test("POST /v1/tasks/batch writes all of a burst of batches with some keys in common", async () => {
  const random = new SeededRandom(61);
  await withTasksApi(async (api) => {
    const bodies = Array.from({ length: 30 }, (_, data) => ({
      tasks: [0, 1, 2, 3, 4].map(() => ({
        worker: "mailer",
        key: random.pick([..."abcdefg"]),
        on_conflict: random.pick(["replace", "keep_date", "return"]),
        data,
        delay: "60s",
      })),
    }));
    const answers = await Promise.all(
      bodies.map((body) => api.send("POST", "/v1/tasks/batch", body)),
    );
    const last = new Map<string, unknown>();
    for (const [index, { tasks }] of bodies.entries()) {
      assertEquals(answers[index]!.status, 200);
      for (const [at, { key, on_conflict, data }] of tasks.entries()) {
        const status = answers[index]!.at("results", at, "status");
        assert(status === 200 || status === 201, `${status}`);
        if (on_conflict !== "return" || !last.has(key)) last.set(key, data);
      }
    }
    const list = await api.call("GET", "/v1/tasks?limit=100");
    const found = list.at("data");
    assert(Array.isArray(found));
    assertEquals(found.length, last.size, "one live task of a key");
  });
});

Deno.test("PATCH /v1/tasks/:id makes all changes of a burst", async () => {
  await withTasksApi(async (api) => {
    const task = await api.create({ delay: "60s", data: {} });
    const path = `/v1/tasks/${task.textAt("id")}`;
    const answers = await Promise.all(
      Array.from(
        { length: BURST },
        (_, n) => api.send("PATCH", path, { data: { [`k${n}`]: n } }),
      ),
    );
    assertEquals(
      answers.map(({ status }) => status),
      new Array<number>(BURST).fill(200),
    );
    const data = (await api.call("GET", path)).at("data");
    assertEquals(
      data,
      Object.fromEntries(answers.map((_, n) => [`k${n}`, n])),
    );
  });
});

/** Uses a store that commits as in production, so that requests interleave. */
async function withTasksApi(
  use: (api: TasksApi) => Promise<void>,
): Promise<void> {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const api = await openTasksApi({ store });
      await use(api);
      await api.close();
    })
  );
}
