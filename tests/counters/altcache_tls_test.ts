import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseAltcacheSource } from "../../services/ratelimit/counters/altcache/altcache_servers.ts";
import type { StoreTls } from "../../services/ratelimit/counters/store_tls.ts";
import {
  type MemcachedServerOptions,
  startMemcachedServer,
} from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import {
  createTestAuthority,
  type TestAuthority,
} from "../support/test_certificates.ts";
import { createBatch, readCounts } from "./batches.ts";
import { startStore } from "./altcache_subject.ts";

interface TlsCase {
  /** The name in the server's certificate. */
  readonly certified: string;
  /** Whether the server requires client certificates. */
  readonly wantsClient?: boolean;
  /** Returns the TLS options of the store. */
  readonly tls: (authority: TestAuthority) => StoreTls | undefined;
  /** The host name by which the store connects. */
  readonly host?: string;
  /** A part of the reason when the connection must fail. */
  readonly refused?: RegExp;
}

function tlsTest(name: string, tlsCase: TlsCase): void {
  serviceTest(["memcached"], { name, fn: () => run(tlsCase) });
}

async function run(tlsCase: TlsCase): Promise<void> {
  const authority = createTestAuthority();
  const folder = await Deno.makeTempDir({ prefix: "memcached_tls_" });
  const { certPem, keyPem } = authority.issue(tlsCase.certified);
  const certPath = `${folder}/server.pem`;
  const keyPath = `${folder}/server.key`;
  const caPath = `${folder}/ca.pem`;
  await Deno.writeTextFile(certPath, certPem);
  await Deno.writeTextFile(keyPath, keyPem);
  await Deno.writeTextFile(caPath, authority.caPem);
  const tls: MemcachedServerOptions["tls"] = {
    certPath,
    keyPath,
    ...(tlsCase.wantsClient ? { clientCaPath: caPath } : {}),
  };
  const server = await startMemcachedServer({ tls });
  const parsed = parseAltcacheSource({
    hostPort: `${tlsCase.host ?? server.host}:${server.port}`,
  });
  assert(parsed.kind === "parsed");
  const clientTls = tlsCase.tls(authority);
  const { store, logger } = await startStore({
    source: parsed.source,
    timeoutMs: 2_000,
    ...(clientTls === undefined ? {} : { tls: clientTls }),
  });
  try {
    const answer = await store.apply(createBatch("a_", 3));
    if (tlsCase.refused === undefined) {
      assertEquals(readCounts(answer), [3]);
      assertEquals(readCounts(await store.apply(createBatch("a_"))), [4]);
    } else {
      assert(answer.kind === "unavailable", "counted all the same");
      assertStringIncludes(answer.reason, `:${server.port}"`);
      assert(tlsCase.refused.test(answer.reason), answer.reason);
      assert(!JSON.stringify(logger.lines).includes("PRIVATE KEY"));
    }
  } finally {
    await store.stop();
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

tlsTest("AltcacheStore speaks TLS with a server it trusts", {
  certified: "127.0.0.1",
  tls: ({ caPem }) => ({ caPem }),
});

tlsTest("AltcacheStore names the server it wants in the handshake", {
  certified: "localhost",
  host: "localhost",
  tls: ({ caPem }) => ({ caPem }),
});

tlsTest("AltcacheStore refuses a server that nobody vouches for", {
  certified: "127.0.0.1",
  tls: () => ({ caPem: createTestAuthority("Another authority").caPem }),
  refused: /certificate|issuer/i,
});

tlsTest("AltcacheStore refuses a server that is certified under another name", {
  certified: "cache.example",
  tls: ({ caPem }) => ({ caPem }),
  refused: /does not match/i,
});

tlsTest("AltcacheStore takes any name when it is not to verify it", {
  certified: "cache.example",
  tls: ({ caPem }) => ({ caPem, skipHostnameVerification: true }),
});

tlsTest("AltcacheStore looks at who issued the certificate even then", {
  certified: "127.0.0.1",
  tls: () => ({
    caPem: createTestAuthority("Another authority").caPem,
    skipHostnameVerification: true,
  }),
  refused: /certificate|issuer/i,
});

tlsTest("AltcacheStore shows its own certificate to a server that wants one", {
  certified: "127.0.0.1",
  wantsClient: true,
  tls: (authority) => ({
    ...authority.issue("client.example"),
    caPem: authority.caPem,
  }),
});

tlsTest(
  "AltcacheStore is unavailable when the server wants a certificate in vain",
  {
    certified: "127.0.0.1",
    wantsClient: true,
    tls: ({ caPem }) => ({ caPem }),
    refused: /./,
  },
);

tlsTest(
  "AltcacheStore is unavailable when it does not speak TLS and the server does",
  {
    certified: "127.0.0.1",
    tls: () => undefined,
    refused: /./,
  },
);

tlsTest("AltcacheStore is unavailable when its own key can't be read", {
  certified: "127.0.0.1",
  tls: ({ caPem }) => ({
    caPem,
    certPem: "no certificate",
    keyPem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
  }),
  refused: /./,
});
