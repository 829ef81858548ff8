/**
 * The TLS files that settings name, read once when a store is opened.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";

/** Paths of PEM files; an empty one names none. */
export interface TlsPaths {
  /** Certificates that sign the servers'. */
  readonly ca: string;
  /** The client's certificate. */
  readonly cert: string;
  /** The key of that. */
  readonly key: string;
  /** Whether the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
}

/** The same, read. */
export interface TlsMaterial {
  /** Certificates that sign the servers'; the system's without. */
  readonly caPem?: string;
  /** The client's certificate. */
  readonly certPem?: string;
  /** The key of that. */
  readonly keyPem?: string;
  /** Whether the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
}

/** The files, or which of them can't be read. */
export type TlsFilesOutcome =
  | { readonly kind: "tls"; readonly tls: TlsMaterial }
  | { readonly kind: "bad"; readonly problem: string };

/** Reads the files; a certificate without a key, or the reverse, is a fault. */
export async function readTlsFiles(
  paths: TlsPaths,
  readText: (path: string) => Promise<string>,
): Promise<TlsFilesOutcome> {
  if ((paths.cert === "") !== (paths.key === "")) {
    const problem = "Cannot use TLS: a client certificate and its key go " +
      "together, and only one of them is set";
    return { kind: "bad", problem };
  }
  const read: Record<string, string> = {};
  for (
    const [name, path] of [
      ["caPem", paths.ca],
      ["certPem", paths.cert],
      ["keyPem", paths.key],
    ] as const
  ) {
    if (path === "") continue;
    try {
      read[name] = await readText(path);
    } catch (error) {
      const reason = describeError(error);
      return { kind: "bad", problem: `Cannot read "${path}": ${reason}` };
    }
  }
  const { skipHostnameVerification } = paths;
  return { kind: "tls", tls: { ...read, skipHostnameVerification } };
}
