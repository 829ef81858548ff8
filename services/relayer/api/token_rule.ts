/**
 * What bearers of access tokens may do on a route, and the answers to those who
 * may not.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { Caller } from "../auth/authenticate.ts";
import { bearerChallenge } from "../auth/refusal.ts";
import { isGranted, type TokenScope } from "../auth/token_claims.ts";
import type { Answer } from "./answer.ts";

/** What a route asks of an access token. */
export interface TokenRule {
  /** What the token has to permit; `write` includes `read`. */
  readonly scope: TokenScope;
  /**
   * How a token's namespaces bound the route. With `checked`, the handler sees
   * that nothing of other namespaces is changed or told. With `whole_account`,
   * the route is about the account, and needs a token for all namespaces.
   */
  readonly namespaces: "checked" | "whole_account";
  /**
   * Whether the route opens memories with the owner's key. Behind key servers a
   * session opens that, which needs the delegate's key.
   *
   * @default {false}
   */
  readonly opensMemories?: boolean;
}

/** A rule of routes that read, and see to namespaces. */
export const READS: TokenRule = { scope: "read", namespaces: "checked" };

/** A rule of routes that open memories and change nothing. */
export const OPENS: TokenRule = { ...READS, opensMemories: true };

/** A rule of routes that change something, and see to namespaces. */
export const WRITES: TokenRule = { scope: "write", namespaces: "checked" };

/**
 * Makes the answer to a token that is valid, and not for this route.
 *
 * @returns undefined when the caller may call the route
 */
export function ruleRefusal(
  { grant }: Pick<Caller, "grant">,
  { rule, isBehindKeyServers }: {
    readonly rule: TokenRule;
    readonly isBehindKeyServers: boolean;
  },
): Answer | undefined {
  if (grant === undefined) return undefined;
  if (rule.scope === "write" && grant.scope === "read") {
    return insufficient(
      "INSUFFICIENT_SCOPE",
      "it may only read; make one with --access write",
    );
  }
  if (rule.namespaces === "whole_account" && grant.namespaces !== undefined) {
    return insufficient(
      "NAMESPACE_REFUSED",
      "this is about the whole account, and it is for some namespaces; make " +
        "one for all of them, or sign with the delegate key",
    );
  }
  return rule.opensMemories === true && isBehindKeyServers
    ? insufficient(
      "SESSION_REQUIRED",
      "the memories are behind key servers, which give keys to signed " +
        "requests with a session; sign with the delegate key",
    )
    : undefined;
}

/**
 * Makes the answer to a token whose namespaces do not include all of those that
 * a request is about.
 *
 * @returns undefined when the caller may use them
 */
export function namespaceRefusal(
  { grant }: Pick<Caller, "grant">,
  namespaces: readonly string[],
): Answer | undefined {
  const other = namespaces.find((name) => !isGranted(grant, name));
  return other === undefined ? undefined : insufficient(
    "NAMESPACE_REFUSED",
    `it is not for namespace ${
      quote(other)
    }; name one that it is for, or make ` +
      "one with --namespace",
  );
}

function insufficient(code: string, state: string): Answer {
  const error = `Cannot use the access token here: ${state}`;
  // A namespace may have characters that a header field cannot have.
  const described = error.replaceAll(/[^ !#-[\]-~]/g, "'");
  return {
    status: 403,
    json: { error, code },
    headers: {
      "www-authenticate": bearerChallenge("insufficient_scope", described),
    },
  };
}
