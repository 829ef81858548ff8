import { counterStoreConformance } from "../../services/ratelimit/counters/testing/counter_store_conformance.ts";
import { startMemcachedServer } from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { startStore } from "./altcache_subject.ts";

for (const count of [1, 3]) {
  counterStoreConformance(`altcache with ${count} servers`, async () => {
    const servers = await Promise.all(
      Array.from({ length: count }, () => startMemcachedServer()),
    );
    const { store } = await startStore({ servers });
    return {
      store,
      close: async () => {
        await Promise.all(servers.map((server) => server.stop()));
      },
    };
  }, {
    register: (definition) => serviceTest(["memcached"], definition),
  });
}
