/**
 * The credential of an agent: what its header fields say, and the client of the
 * SDK that is made of it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { MemConfig } from "../../../sdk/memory/config.ts";
import type { HttpHeaders } from "../../shared/http/exchange.ts";

/** A credential whose form is right. */
export interface AgentCredential {
  /** Tells credentials from faults. */
  readonly kind: "ok";
  /** SHA-256 of key and account, which says whose session it is. */
  readonly digest: Uint8Array;
  /** What makes a client act for the account. */
  readonly config: Pick<MemConfig, "key" | "accountId">;
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

const PRIVATE_KEY = /^bearer +([0-9a-f]{64})$/i;
const ACCOUNT = /^0x[0-9a-f]{1,64}$/i;
const MAX_NAMESPACE_CHARS = 255;

/**
 * Reads the credential of a request: the private key of a delegate as bearer,
 * as the clients of the existing relayer send it, and the account.
 */
export function readCredential(headers: HttpHeaders): CredentialOutcome {
  const [authorization = "", ...others] = headers.all("authorization");
  if (authorization === "") {
    return invalid("the field authorization is missing");
  }
  if (others.length > 0) return invalid("the field authorization is repeated");
  const key = PRIVATE_KEY.exec(authorization)?.[1]?.toLowerCase();
  if (key === undefined) {
    return invalid("the bearer is not a private key of 64 hexadecimal digits");
  }
  const accountId = headers.get("x-memwal-account-id")?.toLowerCase() ?? "";
  if (!ACCOUNT.test(accountId)) {
    return invalid("the field x-memwal-account-id is no account's id");
  }
  const namespace = headers.get("x-memwal-namespace");
  if (namespace !== undefined && !isNamespace(namespace)) {
    return invalid("the field x-memwal-namespace is no namespace");
  }
  return {
    kind: "ok",
    digest: createHash("sha256").update(`${key}\n${accountId}`).digest(),
    config: { key, accountId },
    isPrivateKey: true,
    namespace,
  };
}

function isNamespace(text: string): boolean {
  return text !== "" && text.length <= MAX_NAMESPACE_CHARS;
}

function invalid(reason: string): CredentialOutcome {
  return { kind: "invalid", reason };
}
