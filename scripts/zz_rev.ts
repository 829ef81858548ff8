import { isFinal } from "../services/tasks/domain/task.ts";
import { simulate } from "../services/tasks/engine/testing/simulation.ts";
let calls = 0, dropped = 0;
for (let seed = 1; seed < 30; seed++) {
  const r = await simulate(seed, {
    plant: {
      store: (store) => ({
        ...store,
        dependents: async (query) => {
          const ids = await store.dependents(query);
          const tasks = await store.tasks(query.tenantId, ids);
          calls++;
          const left = tasks.flatMap((task) =>
            task === undefined || isFinal(task.status) ? [] : [task.id]
          );
          dropped += ids.length - left.length;
          return left;
        },
      }),
    },
  });
  console.log(seed, calls, dropped, r.violations[0]);
}
