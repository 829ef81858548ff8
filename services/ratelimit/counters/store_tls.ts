/**
 * How connections to counter stores are encrypted, and the files for it.
 *
 * @module
 */

import { isIP } from "node:net";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** How connections are encrypted. */
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
   * The host that the server's certificate is to be for.
   *
   * @default the host that is dialled
   */
  readonly serverName?: string;
  /**
   * Whether a certificate for another host is good enough; who issued it is
   * looked at all the same.
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
  /** Its key. */
  readonly key: string | undefined;
  /** The name asked for in the handshake. */
  readonly servername: string | undefined;
  /** Looks at the name in the certificate. */
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
  // Given as undefined, it would take the place of the check that sockets have.
  return skipHostnameVerification
    ? { ...options, checkServerIdentity: () => undefined }
    : options;
}

/** Paths of PEM files; an empty one names none. */
interface TlsPaths {
  /** Certificates that sign the servers'. */
  readonly ca: string;
  /** The client's certificate. */
  readonly cert: string;
  /** The key of that. */
  readonly key: string;
  /** Whether the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
  /** What the person who set the paths knows each of them under. */
  readonly names: Readonly<Record<"ca" | "cert" | "key", string>>;
}

/** The files, or all that is wrong with them, a line each. */
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
