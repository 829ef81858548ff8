/**
 * A folder with the certificates of a gRPC listener, and the settings for it.
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
  /** The folder. */
  readonly path: string;
  /** Signs the server's certificates. */
  readonly authority: TestAuthority = createTestAuthority("Server authority");
  /** Signs those of clients. */
  readonly clients: TestAuthority = createTestAuthority("Client authority");

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes a folder with a certificate for the name that callers ask for. */
  static async make(): Promise<GrpcTlsFiles> {
    const path = await Deno.makeTempDir({ prefix: "ratelimit_tls_" });
    const files = new GrpcTlsFiles(path);
    await files.writePair(files.authority.issue(TLS_SERVER_NAME));
    await Deno.writeTextFile(`${path}/clients.pem`, files.clients.caPem);
    return files;
  }

  /** Settings for TLS with the files. */
  get env(): Readonly<Record<string, string>> {
    return {
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: `${this.path}/cert.pem`,
      GRPC_SERVER_TLS_KEY: `${this.path}/key.pem`,
    };
  }

  /** Settings for TLS that asks clients for a certificate. */
  get mutualEnv(): Readonly<Record<string, string>> {
    return { ...this.env, GRPC_CLIENT_TLS_CACERT: `${this.path}/clients.pem` };
  }

  /** Writes the certificate and the key, each under its name at once. */
  async writePair({ certPem, keyPem }: TestCertificate): Promise<void> {
    await this.replace("cert.pem", certPem);
    await this.replace("key.pem", keyPem);
  }

  /** Puts a file under a name in one step. */
  async replace(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.path}/${name}.next`, text);
    await Deno.rename(`${this.path}/${name}.next`, `${this.path}/${name}`);
  }

  /** Removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
