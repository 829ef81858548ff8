/**
 * The sessions of people at the console. A session is a stored record, so it
 * outlives restarts and is known to every instance.
 *
 * @module
 */

import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { Clock } from "../../shared/clock.ts";
import { newSessionToken, sessionIdOf } from "../access/session_cookie.ts";
import type { Session } from "../domain/records.ts";
import type { Store, Write } from "../store/store.ts";
import { auditWrite } from "./record_writes.ts";
import { type Repositories, SESSIONS_PARENT } from "./repositories.ts";

/** Most sessions of a tenant; one more ends the oldest. */
const MAX_SESSIONS = 500;

/** Options of {@linkcode Sessions}. */
interface SessionsOptions {
  /** Has the records of sessions. */
  readonly repositories: Pick<Repositories, "sessions">;
  /** Where sessions are written. */
  readonly store: Pick<Store, "commit">;
  /** The time. */
  readonly clock: Clock;
}

/** Opens, finds and ends sessions. */
export class Sessions {
  readonly #options: SessionsOptions;

  /** Takes the store of the sessions. */
  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Opens a session and removes those of the tenant that have ended.
   *
   * @returns the value of its cookie
   * @throws {Error} when the store fails
   */
  async open(
    tenantId: string,
    { credential, lengthMs }: {
      /** What the person has signed in with. */
      readonly credential: Session["credential"];
      /** How long the session lasts, in milliseconds. */
      readonly lengthMs: number;
    },
  ): Promise<string> {
    const { repositories: { sessions }, store, clock } = this.#options;
    const nowMs = clock.nowMs();
    const token = newSessionToken();
    const session: Session = {
      tenantId,
      id: sessionIdOf(token),
      version: 1,
      credential,
      createdAtMs: nowMs,
      endsAtMs: nowMs + lengthMs,
    };
    const others = await sessions.all(tenantId, SESSIONS_PARENT);
    const live = others.filter(({ endsAtMs }) => endsAtMs > nowMs)
      .toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    const kept = new Set(live.slice(0, MAX_SESSIONS - 1));
    const old = others.filter((other) => !kept.has(other));
    const { kind: type, id: credentialId } = credential;
    await store.commit([
      {
        writes: [
          sessions.insert(session),
          // The operator is no part of a tenant, and so of no audit log.
          ...(type === "operator" ? [] : [auditWrite(tenantId, {
            atMs: nowMs,
            action: "session.opened",
            actor: { type, id: credentialId },
            target: credentialId,
          })]),
        ],
      },
      // Another instance may have removed one of them; each stands for itself.
      ...old.map((one) => ({ writes: [sessions.remove(one)] as Write[] })),
    ]);
    return token;
  }

  /** The session that a cookie names; undefined when there is none, or no more. */
  find(tenantId: string, token: string): MaybePromise<Session | undefined> {
    const { repositories: { sessions } } = this.#options;
    return andThen(
      sessions.get(tenantId, sessionIdOf(token)),
      (session) => this.#isLive(session) ? session : undefined,
    );
  }

  /** Whether a cookie is remembered as that of a session. */
  recall(tenantId: string, token: string | undefined): boolean {
    if (token === undefined) return false;
    const { repositories: { sessions } } = this.#options;
    return this.#isLive(sessions.recall(tenantId, sessionIdOf(token)));
  }

  /**
   * Ends the session that a cookie names, if there is one.
   *
   * @throws {Error} when the store fails
   */
  async end(tenantId: string, token: string): Promise<void> {
    const { repositories: { sessions }, store } = this.#options;
    const session = await sessions.get(tenantId, sessionIdOf(token));
    if (session === undefined) return;
    await store.commit([{ writes: [sessions.remove(session)] }]);
  }

  #isLive(session: Session | undefined): session is Session {
    return session !== undefined &&
      session.endsAtMs > this.#options.clock.nowMs();
  }
}
