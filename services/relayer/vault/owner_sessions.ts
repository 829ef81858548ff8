/**
 * Checks the sessions that clients send with their requests and keeps them in
 * memory until they expire. A session is a delegate's signature that key
 * servers accept in place of the owner's.
 *
 * @module
 */

import type { UserKeys } from "../../../sdk/vault/key_server_client.ts";
import {
  checkCertificate,
  readSessionHeader,
  SessionKey,
} from "../../../sdk/vault/session_key.ts";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";

/** Options of {@linkcode OwnerSessions}. */
interface OwnerSessionsOptions {
  /** The package that sessions have to be for. */
  readonly packageId: string;
  /** Tells the time. */
  readonly clock: Clock;
  /** Most owners whose session is kept. */
  readonly maxOwners: number;
}

/** A session, and what the key servers gave it. */
interface OwnerSession {
  /** The session. */
  readonly session: SessionKey;
  /** Keys by the identity in hexadecimal digits. */
  readonly userKeys: BoundedMap<string, UserKeys>;
  /** The header that it arrived in: the same one is not checked again. */
  readonly header: string;
}

/** Whether a session was accepted, and if not, why. */
type SessionOutcome =
  | { readonly kind: "ok" }
  | { readonly kind: "invalid" | "expired"; readonly reason: string };

const MAX_IDENTITIES = 8;

/** Takes sessions and keeps the last one of each owner. */
export class OwnerSessions {
  readonly #options: OwnerSessionsOptions;
  readonly #sessions: BoundedMap<string, OwnerSession>;

  /** Starts without any session. */
  constructor(options: OwnerSessionsOptions) {
    this.#options = options;
    this.#sessions = new BoundedMap({
      maxEntries: options.maxOwners,
      onLeave: ({ session }) => session.wipe(),
    });
  }

  /** Overwrites all sessions. */
  clear(): void {
    this.#sessions.clear();
  }

  /**
   * Checks a session and keeps it for an owner until it expires.
   *
   * @param header The header field `x-seal-session`.
   * @param options.address The address of the delegate that has signed the request.
   */
  async take(
    owner: string,
    header: string,
    { address }: { readonly address: string },
  ): Promise<SessionOutcome> {
    const known = this.of(owner);
    // Clients send the same one with each request.
    if (known?.header === header && known.session.address === address) {
      return { kind: "ok" };
    }
    const exported = readSessionHeader(header);
    if (exported === undefined) return invalid("it is not a session");
    if (exported.address !== address) {
      return invalid("it is of another address than the request");
    }
    const { packageId, clock } = this.#options;
    if (exported.packageId !== packageId || exported.mvrName !== undefined) {
      return invalid("it is for another package");
    }
    const session = await SessionKey.import(exported);
    if (session === undefined) return invalid("it has no key");
    const check = await checkCertificate(session.certificate, {
      packageName: packageId,
      nowMs: clock.nowMs(),
    });
    if (check.kind !== "ok") {
      session.wipe();
      return {
        kind: check.kind,
        reason: `Cannot take session: ${check.reason}`,
      };
    }
    // Of two sessions of one address, the one that lasts longer is kept: it has
    // user keys already.
    if (
      known?.session.address === session.address &&
      known.session.endsAtMs >= session.endsAtMs
    ) {
      session.wipe();
      return { kind: "ok" };
    }
    const userKeys = new BoundedMap<string, UserKeys>({
      maxEntries: MAX_IDENTITIES,
    });
    this.#sessions.set(owner, { session, userKeys, header });
    return { kind: "ok" };
  }

  /** The owner's session, as long as it lasts. */
  of(owner: string): OwnerSession | undefined {
    const entry = this.#sessions.get(owner);
    if (entry === undefined) return undefined;
    if (!entry.session.isEnding(this.#options.clock.nowMs())) return entry;
    this.#sessions.delete(owner);
    return undefined;
  }
}

function invalid(state: string): SessionOutcome {
  return { kind: "invalid", reason: `Cannot take session: ${state}` };
}
