/**
 * A temporary folder with the certificate files of a gRPC listener, and the
 * settings that use them.
 *
 * @module
 */

import {
  createTestAuthority,
  type TestAuthority,
  type TestCertificate,
} from "../support/test_certificates.ts";
import { TLS_SERVER_NAME } from "./grpc_caller.ts";

/** Certificates in a temporary folder. */
export class GrpcTlsFiles {
  /** The path of the folder. */
  readonly path: string;
  /** The authority that signs the server's certificates. */
  readonly authority: TestAuthority = createTestAuthority("Server authority");
  /** The authority that signs the certificates of clients. */
  readonly clients: TestAuthority = createTestAuthority("Client authority");

  private constructor(path: string) {
    this.path = path;
  }

  /** Creates a folder with a certificate for {@linkcode TLS_SERVER_NAME}. */
  static async make(): Promise<GrpcTlsFiles> {
    const path = await Deno.makeTempDir({ prefix: "ratelimit_tls_" });
    const files = new GrpcTlsFiles(path);
    await files.writePair(files.authority.issue(TLS_SERVER_NAME));
    await Deno.writeTextFile(`${path}/clients.pem`, files.clients.caPem);
    return files;
  }

  /** The settings for TLS with these files. */
  get env(): Readonly<Record<string, string>> {
    return {
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: `${this.path}/cert.pem`,
      GRPC_SERVER_TLS_KEY: `${this.path}/key.pem`,
    };
  }

  /** The settings for TLS that also requires client certificates. */
  get mutualEnv(): Readonly<Record<string, string>> {
    return { ...this.env, GRPC_CLIENT_TLS_CACERT: `${this.path}/clients.pem` };
  }

  /** Replaces the certificate and the key, each file in one step. */
  async writePair({ certPem, keyPem }: TestCertificate): Promise<void> {
    await this.replace("cert.pem", certPem);
    await this.replace("key.pem", keyPem);
  }

  /**
   * Replaces a file in one step, so that the service never reads half of it.
   */
  async replace(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.path}/${name}.next`, text);
    await Deno.rename(`${this.path}/${name}.next`, `${this.path}/${name}`);
  }

  /** Removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
