/**
 * Tells the operator of domains that requests name and no rules have, since
 * everything in them is allowed.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";

/** Most domains that are named while a configuration is in force. */
const MAX_TOLD = 100;
/** Characters of a domain that tell it from others. */
const MAX_CHARS = 200;

/** Names each unknown domain once while a configuration is in force. */
export class UnknownDomains {
  readonly #known: readonly string[];
  readonly #logger: Pick<Logger, "warn">;
  readonly #told = new Set<string>();

  /** Has told of none yet; `known` are the domains that have rules. */
  constructor(known: readonly string[], logger: Pick<Logger, "warn">) {
    this.#known = known;
    this.#logger = logger;
  }

  /** Notes a request whose domain has no rules. */
  note(domain: string): void {
    if (this.#told.size > MAX_TOLD) return;
    const key = domain.slice(0, MAX_CHARS);
    if (this.#told.has(key)) return;
    this.#told.add(key);
    if (this.#told.size > MAX_TOLD) {
      return this.#logger.warn(
        "Requests name further domains without rules; they are counted in " +
          "ratelimit.service.domain_not_found alone until rules are loaded " +
          "again",
      );
    }
    const meant = nearest(domain, this.#known);
    this.#logger.warn(
      `No rules have the domain ${quote(domain)}: its requests are allowed` +
        (meant === undefined ? "" : `; did you mean ${quote(meant)}?`),
    );
  }
}
