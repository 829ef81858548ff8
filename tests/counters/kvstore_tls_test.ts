import { assert, assertEquals, assertMatch } from "@std/assert";
import type { StoreTls } from "../../services/ratelimit/counters/store_tls.ts";
import { serviceTest } from "../support/services.ts";
import { createTestAuthority } from "../support/test_certificates.ts";
import { batchOfKeys, createBatch } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";
import { startTlsServer, type TlsServer } from "./kvstore_tls_subject.ts";

interface TlsCase {
  /** The name in the server's certificate. */
  readonly certified?: string;
  /** Returns the TLS options of the store. */
  readonly tls: (server: TlsServer) => StoreTls | undefined;
  /** A pattern of the reason when the connection must fail. */
  readonly refused?: RegExp;
}

function tlsTest(name: string, { certified, tls, refused }: TlsCase): void {
  serviceTest(["redis-server"], {
    name,
    fn: async () => {
      const server = await startTlsServer(certified);
      const told = tls(server);
      const { store, logger } = await startStore({
        address: server.address,
        poolSize: 2,
        timeoutMs: 2_000,
        ...(told === undefined ? {} : { tls: told }),
      });
      try {
        const answer = await store.apply(createBatch("a_", 3));
        if (refused === undefined) {
          assertEquals(answer, { kind: "counted", results: [3] });
        } else {
          assert(answer.kind === "unavailable", "counted all the same");
          assertMatch(answer.reason, refused);
          assert(!JSON.stringify(logger.lines).includes("PRIVATE KEY"));
        }
      } finally {
        await store.stop();
        await server.stop();
      }
    },
  });
}

tlsTest("KvstoreStore speaks TLS and shows its certificate", {
  tls: ({ tls }) => tls,
});

tlsTest("KvstoreStore refuses a server that nobody vouches for", {
  tls: ({ tls }) => ({
    ...tls,
    caPem: createTestAuthority("Another authority").caPem,
  }),
  refused: /certificate|issuer/i,
});

tlsTest("KvstoreStore refuses a server that is certified for another host", {
  certified: "store.example",
  tls: ({ tls }) => tls,
  refused: /does not match/i,
});

tlsTest("KvstoreStore takes the host's name from the settings", {
  certified: "store.example",
  tls: ({ tls }) => ({ ...tls, serverName: "store.example" }),
});

tlsTest("KvstoreStore refuses a server that is not the one of the settings", {
  tls: ({ tls }) => ({ ...tls, serverName: "store.example" }),
  refused: /does not match/i,
});

tlsTest("KvstoreStore takes any host when it is not to verify it", {
  certified: "store.example",
  tls: ({ tls }) => ({ ...tls, skipHostnameVerification: true }),
});

tlsTest("KvstoreStore looks at who issued the certificate even then", {
  tls: ({ tls }) => ({
    ...tls,
    caPem: createTestAuthority("Another authority").caPem,
    skipHostnameVerification: true,
  }),
  refused: /certificate|issuer/i,
});

tlsTest("KvstoreStore is unavailable without the certificate it needs", {
  tls: ({ authority }) => ({ caPem: authority.caPem }),
  refused: /certificate|alert|closed/i,
});

tlsTest("KvstoreStore is unavailable with the certificate of a stranger", {
  tls: ({ tls }) => ({
    ...tls,
    ...createTestAuthority("Another authority").issue("client.example"),
  }),
  refused: /./,
});

tlsTest("KvstoreStore is unavailable when only the server speaks TLS", {
  tls: () => undefined,
  refused: /./,
});

tlsTest("KvstoreStore is unavailable when its own key can't be read", {
  tls: ({ tls }) => ({
    ...tls,
    keyPem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
  }),
  refused: /./,
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends each batch in one write over TLS",
  fn: async () => {
    const { server, address, tls, stop } = await startTlsServer();
    const { store } = await startStore({ address, tls, poolSize: 1 });
    const batch = batchOfKeys(Array.from({ length: 8 }, () => "key_"));
    await store.apply(batch);
    const before = await countReads();
    for (let i = 0; i < 300; i++) await store.apply(batch);
    const reads = await countReads() - before;
    assert(reads >= 300 && reads < 310, `${reads} reads`);
    await store.stop();
    await stop();

    async function countReads(): Promise<number> {
      const stats = await server.ask("INFO", "stats");
      return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
    }
  },
});
