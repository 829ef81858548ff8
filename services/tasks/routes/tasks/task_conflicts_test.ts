import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { createConflictingStore } from "../../store/testing/conflicting_store.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import { openTasksApi } from "./testing/tasks_api.ts";

/** An API whose store makes up conflicts once it is told to. */
async function openConflicting(seed: number) {
  const clock = new FakeClock();
  const random = new SeededRandom(seed);
  let isOn = false;
  const store = createConflictingStore(createMemoryStore({ clock }), {
    random: () => isOn ? random.next() : 0.999_999,
    conflictShare: 0.4,
  });
  const api = await openTasksApi({ clock, store });
  return {
    api,
    begin() {
      isOn = true;
    },
    end() {
      isOn = false;
      assert(store.mischief.conflicts > 0, "no conflict was made up");
    },
  };
}

for (const seed of [1, 2, 3]) {
  Deno.test(`task routes cope with conflicts, seed ${seed}`, async () => {
    const { api, begin, end } = await openConflicting(seed);
    begin();
    const made = await api.create({ key: "k", data: 1 });
    assertEquals(made.status, 201);
    const batch = await api.send("POST", "/v1/tasks/batch", {
      tasks: Array.from({ length: 30 }, (_, index) => ({
        worker: "mailer",
        ...(index % 3 === 0 ? { key: `k${index % 6}` } : {}),
      })),
    });
    assertEquals(batch.status, 200);
    const path = `/v1/tasks/${made.textAt("id")}`;
    for (const [verb, status] of [["pause", "paused"], ["resume", "waiting"]]) {
      const answer = await api.call("POST", `${path}/${verb}`);
      // The client is told of a key that the store claims is taken.
      if (answer.status === 200) assertEquals(answer.at("status"), status);
      else assertEquals(answer.at("code"), "wrong_state");
    }
    end();
    const list = await api.call("GET", "/v1/tasks?count&limit=200");
    assertEquals(list.at("count"), 1 + 20 + 2);
    begin();
    for (let tries = 0; tries < 20; tries++) {
      const removed = await api.call("DELETE", path);
      if (removed.status === 204) break;
    }
    end();
    assertEquals((await api.call("GET", path)).status, 404);
    await api.close();
  });
}
