/**
 * What clients present to be let in, read once for each head of a request: on a
 * kept connection most heads are the same one. It is kept as long as the head
 * is, which holds the secret anyway, and is compared with what is stored each
 * time.
 *
 * @module
 */

import { type Authorization, parseAuthorization } from "./authorization.ts";
import { type CredentialToken, digestOf } from "./credential_token.ts";
import type { HeaderValues } from "./host.ts";

/** Reads `Authorization` headers and the digests of what is in them. */
export class PresentedCredentials {
  readonly #read = new WeakMap<object, Authorization>();
  readonly #digests = new WeakMap<CredentialToken, string>();

  /** What a header carries; nothing of it is verified. */
  read(
    { authorization, head }: {
      readonly authorization: HeaderValues;
      readonly head?: object;
    },
  ): Authorization {
    if (head === undefined) return parseAuthorization(authorization);
    let read = this.#read.get(head);
    if (read === undefined) {
      read = parseAuthorization(authorization);
      this.#read.set(head, read);
    }
    return read;
  }

  /** The digest of a token's secret. */
  digestOf(token: CredentialToken): string {
    let digest = this.#digests.get(token);
    if (digest === undefined) {
      digest = digestOf(token.secret);
      this.#digests.set(token, digest);
    }
    return digest;
  }
}
