/**
 * The credential of an agent: what its header fields say, and the client of the
 * SDK that is made of it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { readAccessToken } from "../../../sdk/memory/access_token.ts";
import type { MemConfig, MemTokenConfig } from "../../../sdk/memory/config.ts";
import type { HttpHeaders } from "../../shared/http/exchange.ts";
import { readBearer } from "../auth/bearer.ts";

/** A credential whose form is right. */
export interface AgentCredential {
  /** Tells credentials from faults. */
  readonly kind: "ok";
  /** SHA-256 of token, or key and account, which says whose session it is. */
  readonly digest: Uint8Array;
  /** What makes a client act for the account. */
  readonly config:
    | Pick<MemConfig, "key" | "accountId">
    | Pick<MemTokenConfig, "accessToken">;
  /** The account. */
  readonly accountId: string;
  /** Whether the relayer is shown a private key. */
  readonly isPrivateKey: boolean;
  /** The namespace of calls that name none. */
  readonly namespace: string | undefined;
}

/** The outcome of reading a credential. */
type CredentialOutcome = AgentCredential | {
  readonly kind: "invalid";
  /** What is wrong, without the credential. */
  readonly reason: string;
};

const PRIVATE_KEY = /^[0-9a-f]{64}$/i;
const ACCOUNT = /^0x[0-9a-f]{1,64}$/i;
const MAX_NAMESPACE_CHARS = 255;

/**
 * Reads the credential of a request: an access token as bearer, or the private
 * key of a delegate with the account, as the clients of the existing relayer
 * send it. A token's signature is checked with each call that it is for.
 */
export function readCredential(headers: HttpHeaders): CredentialOutcome {
  const bearer = readBearer(headers);
  if (bearer === undefined) {
    return invalid("the field authorization has no bearer, or is repeated");
  }
  const namespace = headers.get("x-memwal-namespace");
  if (namespace !== undefined && !isNamespace(namespace)) {
    return invalid("the field x-memwal-namespace is no namespace");
  }
  const named = headers.get("x-memwal-account-id")?.toLowerCase();
  const read = PRIVATE_KEY.test(bearer)
    ? readKey(bearer.toLowerCase(), named)
    : readToken(bearer, named);
  return read.kind === "ok" ? { ...read, namespace } : read;
}

function readKey(
  key: string,
  accountId = "",
): Omit<AgentCredential, "namespace"> | ReturnType<typeof invalid> {
  if (!ACCOUNT.test(accountId)) {
    return invalid("the field x-memwal-account-id is no account's id");
  }
  return {
    kind: "ok",
    digest: createHash("sha256").update(`${key}\n${accountId}`).digest(),
    config: { key, accountId },
    accountId,
    isPrivateKey: true,
  };
}

function readToken(
  accessToken: string,
  named: string | undefined,
): Omit<AgentCredential, "namespace"> | ReturnType<typeof invalid> {
  let accountId: string;
  try {
    ({ accountId } = readAccessToken(accessToken));
  } catch {
    return invalid(
      "the bearer is neither an access token nor a private key of 64 " +
        "hexadecimal digits",
    );
  }
  if (named !== undefined && named !== accountId.toLowerCase()) {
    return invalid("the field x-memwal-account-id is not the token's account");
  }
  return {
    kind: "ok",
    digest: createHash("sha256").update(accessToken).digest(),
    config: { accessToken },
    accountId,
    isPrivateKey: false,
  };
}

function isNamespace(text: string): boolean {
  return text !== "" && text.length <= MAX_NAMESPACE_CHARS;
}

function invalid(
  reason: string,
): { readonly kind: "invalid"; readonly reason: string } {
  return { kind: "invalid", reason };
}
