/**
 * Starts a real Redis server that speaks TLS and requires client certificates.
 *
 * @module
 */

import type { StoreTls } from "../../services/ratelimit/counters/store_tls.ts";
import {
  type RedisServer,
  type RedisServerTls,
  startRedisServer,
} from "../support/redis_server.ts";
import {
  createTestAuthority,
  type TestAuthority,
} from "../support/test_certificates.ts";

/** The certificate files of servers, and the TLS options of clients. */
export interface TlsMaterial {
  /** The authority that signs the certificates of servers and clients. */
  readonly authority: TestAuthority;
  /** The paths of the servers' files. */
  readonly files: RedisServerTls;
  /** The TLS options of a client that the servers accept. */
  readonly tls: StoreTls;
  /** Removes the files. */
  remove(): Promise<void>;
}

/** A running server with TLS, and what a store needs to connect to it. */
export interface TlsServer extends TlsMaterial {
  /** The server process. */
  readonly server: RedisServer;
  /** The address on which the server speaks TLS. */
  readonly address: {
    readonly kind: "tcp";
    readonly host: string;
    readonly port: number;
  };
  /** Ends the server and removes the files. */
  stop(): Promise<void>;
}

/**
 * Makes certificates for servers.
 *
 * @param certified The host name in the servers' certificates.
 */
export async function makeTlsMaterial(
  certified = "127.0.0.1",
): Promise<TlsMaterial> {
  const authority = createTestAuthority();
  const { certPem, keyPem } = authority.issue(certified);
  const folder = await Deno.makeTempDir({ prefix: "redis_tls_" });
  const files = {
    certPath: `${folder}/server.pem`,
    keyPath: `${folder}/server.key`,
    caPath: `${folder}/ca.pem`,
  };
  await Deno.writeTextFile(files.certPath, certPem);
  await Deno.writeTextFile(files.keyPath, keyPem);
  await Deno.writeTextFile(files.caPath, authority.caPem);
  return {
    authority,
    files,
    tls: { caPem: authority.caPem, ...authority.issue("client.example") },
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Starts a server with a certificate for `certified`. */
export async function startTlsServer(
  certified = "127.0.0.1",
): Promise<TlsServer> {
  const material = await makeTlsMaterial(certified);
  const server = await startRedisServer({ tls: material.files });
  const { host, port } = server;
  return {
    ...material,
    server,
    address: { kind: "tcp", host, port },
    stop: async () => {
      await server.stop();
      await material.remove();
    },
  };
}
