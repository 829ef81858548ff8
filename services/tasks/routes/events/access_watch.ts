/**
 * Ends readers of events whose credential ends or loses a scope.
 *
 * @module
 */

import { steadyClock } from "../../../shared/clock.ts";
import type { MaybePromise } from "../../../shared/settled.ts";
import { type Expiring, TimerWheel } from "../../../shared/timer_wheel.ts";
import { getScopes } from "../../access/caller.ts";
import type { Scope, ScopeSet } from "../../access/scope.ts";
import type { EventReader } from "../../engine/events/event_reader.ts";
import { REGISTRY } from "../../engine/repositories.ts";
import type { Admission } from "../../http/admission.ts";
import type { ApiParts } from "../api_parts.ts";

/** How often it is asked whether a reader still may read. */
const REAUTHORIZE_MS = 60_000;
/** How late it may be asked. */
const TICK_MS = 100;

/** Who reads, and by which right. */
interface WatchedReader {
  /** The reader. */
  readonly reader: EventReader;
  /** The tenant that it reads events of. */
  readonly tenantId: string;
  /** The scopes without which it ends. */
  readonly scopes: ScopeSet;
  /** Authenticates its caller again. */
  readonly reauthorize: () => MaybePromise<Admission>;
}

/**
 * Asks for each reader whether it still may read: each minute, and when a key,
 * user or the tenant has changed.
 */
export class AccessWatch {
  readonly #engine: ApiParts["engine"];
  readonly #watched = new Set<Watched>();
  /** Has the readers by when they are asked about; made for the first one. */
  #wheel: TimerWheel | undefined;

  /** Watches no reader yet. */
  constructor(engine: ApiParts["engine"]) {
    this.#engine = engine;
  }

  /** Watches a reader until it ends. */
  add(of: WatchedReader): void {
    const wheel = this.#wheel ??= this.#begin();
    const { reader } = of;
    const watched = new Watched(of, this.#onDue);
    this.#watched.add(watched);
    wheel.add(watched, REAUTHORIZE_MS);
    reader.onEnded(() => {
      this.#watched.delete(watched);
      wheel.remove(watched);
    });
  }

  #begin(): TimerWheel {
    const { clock, events } = this.#engine.parts;
    events.onAccess((tenantId) => {
      for (const watched of this.#watched) {
        if (watched.tenantId === tenantId) void this.#ask(watched);
      }
    });
    return new TimerWheel(steadyClock(clock), TICK_MS);
  }

  readonly #onDue = async (watched: Watched): Promise<void> => {
    await this.#ask(watched);
    if (!this.#watched.has(watched)) return;
    this.#wheel?.add(watched, REAUTHORIZE_MS);
  };

  async #ask(watched: Watched): Promise<void> {
    if (watched.isAsking) return;
    watched.isAsking = true;
    const { reader, scopes, tenantId } = watched;
    try {
      const admission = await watched.reauthorize();
      const now = admission.kind === "ok" && admission.caller !== undefined
        ? getScopes(admission.caller)
        : new Set<Scope>();
      if (!scopes.isSubsetOf(now) || !await this.#isServed(tenantId)) {
        reader.end();
      }
    } catch {
      // The store cannot tell; a reader comes again and is asked then.
      reader.end();
    } finally {
      watched.isAsking = false;
    }
  }

  async #isServed(tenantId: string): Promise<boolean> {
    const { tenants } = this.#engine.parts.repositories;
    return (await tenants.get(REGISTRY, tenantId))?.status === "active";
  }
}

/** A reader in the timer wheel. */
class Watched implements Expiring, WatchedReader {
  wheelTick: number | undefined = undefined;
  isAsking = false;
  readonly reader: EventReader;
  readonly tenantId: string;
  readonly scopes: ScopeSet;
  readonly reauthorize: () => MaybePromise<Admission>;
  readonly #onDue: (watched: Watched) => void;

  constructor(
    { reader, tenantId, scopes, reauthorize }: WatchedReader,
    onDue: (watched: Watched) => void,
  ) {
    this.reader = reader;
    this.tenantId = tenantId;
    this.scopes = scopes;
    this.reauthorize = reauthorize;
    this.#onDue = onDue;
  }

  expire(): void {
    this.#onDue(this);
  }
}
