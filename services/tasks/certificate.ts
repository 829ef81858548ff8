/**
 * The certificate of the port, read again when it changes.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import type { Logger } from "../shared/logger.ts";
import type { ServeTls } from "./serve_options.ts";

/** Where a certificate is. */
export interface CertificateFiles {
  /** The chain as PEM. */
  readonly certFile: string;
  /** The key as PEM. */
  readonly keyFile: string;
  /** Reads a text file; undefined when it is not there. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Hears that it cannot be read again. */
  readonly logger: Logger;
}

/**
 * Reads a certificate.
 *
 * @throws {Error} when one of the files is not there
 */
export async function openCertificate(
  files: CertificateFiles,
): Promise<ServeTls> {
  let current = await readBoth(files);
  return {
    certificate: () => current,
    notAfter: () => new Date(new X509Certificate(current.cert).validTo),
    async reload() {
      try {
        const next = await readBoth(files);
        const isNew = next.cert !== current.cert || next.key !== current.key;
        current = next;
        return isNew;
      } catch (error) {
        files.logger.error("Cannot read the certificate again; it stays", {
          error: String(error),
        });
        return false;
      }
    },
  };
}

async function readBoth(
  { certFile, keyFile, read }: CertificateFiles,
): Promise<{ readonly cert: string; readonly key: string }> {
  const cert = await read(certFile);
  const key = await read(keyFile);
  if (cert !== undefined && key !== undefined) return { cert, key };
  const missing = cert === undefined ? certFile : keyFile;
  throw new Error(`Cannot serve https: there is no file "${missing}"`);
}
