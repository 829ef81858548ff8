/**
 * TLS settings of connections to counter stores, and how their files are read.
 *
 * @module
 */

import { isIP } from "node:net";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** TLS settings of connections. */
export interface StoreTls {
  /**
   * Certificates that are trusted, as PEM.
   *
   * @default those of the system
   */
  readonly caPem?: string;
  /**
   * Our certificate chain, as PEM.
   *
   * @default none
   */
  readonly certPem?: string;
  /**
   * The private key of our certificate, as PEM.
   *
   * @default none
   */
  readonly keyPem?: string;
  /**
   * The host that the server's certificate must be for.
   *
   * @default the host that is dialled
   */
  readonly serverName?: string;
  /**
   * True to accept a certificate for another host; its issuer is verified all
   * the same.
   *
   * @default false
   */
  readonly skipHostnameVerification?: boolean;
}

/** The TLS options of a socket. */
interface TlsSocketOptions {
  /** Trusted certificates. */
  readonly ca: string | undefined;
  /** Own certificate chain. */
  readonly cert: string | undefined;
  /** Private key of the own certificate. */
  readonly key: string | undefined;
  /** Server name sent in the handshake. */
  readonly servername: string | undefined;
  /** Replaces the socket's check of the name in the certificate. */
  readonly checkServerIdentity?: () => undefined;
}

/** Turns our options into those of a socket to `host`. */
export function tlsSocketOptions(
  tls: StoreTls,
  host: string,
): TlsSocketOptions {
  const { caPem, certPem, keyPem, serverName, skipHostnameVerification } = tls;
  const name = serverName ?? host;
  const options = {
    ca: caPem,
    cert: certPem,
    key: keyPem,
    // An IP address is not a server name (RFC 6066, section 3).
    servername: isIP(name) === 0 ? name : undefined,
  };
  // Left out, since an undefined value would replace the socket's own check.
  return skipHostnameVerification
    ? { ...options, checkServerIdentity: () => undefined }
    : options;
}

/** Paths of PEM files; an empty path stands for no file. */
interface TlsPaths {
  /** Path of the certificates that sign the servers' certificates. */
  readonly ca: string;
  /** Path of the client's certificate. */
  readonly cert: string;
  /** Path of the key of the client's certificate. */
  readonly key: string;
  /** True when the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
  /** Names of the settings or flags that hold the paths, for error texts. */
  readonly names: Readonly<Record<"ca" | "cert" | "key", string>>;
}

/** The TLS settings, or all faults of the files, one line each. */
type TlsFilesOutcome =
  | { readonly kind: "tls"; readonly tls: StoreTls }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** Reads the files; a certificate without a key, or the reverse, is a fault. */
export async function readTlsFiles(
  paths: TlsPaths,
  readText: (path: string) => Promise<string>,
): Promise<TlsFilesOutcome> {
  const { skipHostnameVerification, names } = paths;
  const problems: string[] = [];
  if ((paths.cert === "") !== (paths.key === "")) {
    problems.push(
      "Cannot use TLS: a client certificate and its key go together, and " +
        `only one of ${names.cert} and ${names.key} is set`,
    );
  }
  const tls: { -readonly [Name in keyof StoreTls]: StoreTls[Name] } = {
    skipHostnameVerification,
  };
  for (
    const [name, of] of [
      ["caPem", "ca"],
      ["certPem", "cert"],
      ["keyPem", "key"],
    ] as const
  ) {
    const path = paths[of];
    if (path === "") continue;
    try {
      tls[name] = await readText(path);
    } catch (error) {
      problems.push(
        `Cannot read ${quote(path)} (${names[of]}): ${describeError(error)}`,
      );
    }
  }
  return problems.length === 0
    ? { kind: "tls", tls }
    : { kind: "invalid", problems };
}
