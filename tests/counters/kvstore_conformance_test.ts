import { counterStoreConformance } from "../../services/ratelimit/counters/testing/counter_store_conformance.ts";
import { SplitStore } from "../../services/ratelimit/counters/two_stores.ts";
import { startFailoverGroup } from "../support/redis_failover_group.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { startTestCluster } from "../support/redis_test_cluster.ts";
import { serviceTest } from "../support/services.ts";
import { conformanceSteps } from "./conformance_steps.ts";
import { startStore } from "./kvstore_subject.ts";
import { startTlsServer } from "./kvstore_tls_subject.ts";

for (const kind of ["tcp", "unix"] as const) {
  counterStoreConformance(`kvstore over ${kind}`, async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: kind === "tcp"
        ? { kind, host: server.host, port: server.port }
        : { kind, path: server.socketPath },
      poolSize: 3,
    });
    return { store, close: () => server.stop() };
  }, {
    register: (definition) => serviceTest(["redis-server"], definition),
  });
}

serviceTest(["redis-server"], {
  name: "kvstore with a pipeline window conforms",
  fn: async (context) => {
    const server = await startRedisServer();
    for (const pipelineWindowMs of [0.1, 2]) {
      await conformanceSteps(context, async () => {
        await server.command("FLUSHALL");
        const { store } = await startStore({
          address: { kind: "unix", path: server.socketPath },
          poolSize: 3,
          pipelineWindowMs,
          pipelineLimit: 50,
        });
        return { store, close: () => Promise.resolve() };
      });
    }
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "kvstore over TLS conforms",
  fn: async (context) => {
    const { server, address, tls, stop } = await startTlsServer();
    await conformanceSteps(context, async () => {
      await server.command("FLUSHALL");
      const { store } = await startStore({ address, tls, poolSize: 3 });
      return { store, close: () => Promise.resolve() };
    });
    await stop();
  },
});

serviceTest(["redis-server"], {
  name: "kvstore behind sentinels conforms",
  fn: async (context) => {
    const group = await startFailoverGroup();
    await conformanceSteps(context, async () => {
      await group.master.command("FLUSHALL");
      const { store } = await startStore({
        address: {
          kind: "sentinel",
          masterName: group.masterName,
          sentinels: group.sentinels.map(({ host, port }) => ({
            kind: "tcp",
            host,
            port,
          })),
        },
        poolSize: 3,
      });
      return { store, close: () => Promise.resolve() };
    });
    await group.stop();
  },
});

serviceTest(["redis-server"], {
  name: "kvstore on a cluster conforms",
  fn: async (context) => {
    const cluster = await startTestCluster({ replicas: 0 });
    await conformanceSteps(context, async () => {
      await cluster.flush();
      const { store } = await startStore({
        address: {
          kind: "cluster",
          nodes: cluster.nodes.map(({ host, port }) => ({
            kind: "tcp",
            host,
            port,
          })),
        },
        poolSize: 3,
      });
      return { store, close: () => Promise.resolve() };
    });
    await cluster.stop();
  },
});

serviceTest(["redis-server"], {
  name: "two kvstores side by side conform",
  fn: async (context) => {
    const servers = [await startRedisServer(), await startRedisServer()];
    await conformanceSteps(context, async () => {
      const [perSecond, other] = await Promise.all(
        servers.map(async (server) => {
          await server.command("FLUSHALL");
          const path = server.socketPath;
          return await startStore({ address: { kind: "unix", path } });
        }),
      );
      const store = new SplitStore({
        perSecond: perSecond!.store,
        other: other!.store,
      });
      return { store, close: () => Promise.resolve() };
    });
    for (const server of servers) await server.stop();
  },
});
