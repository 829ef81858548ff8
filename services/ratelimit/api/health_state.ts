/**
 * The health of the service: healthy when every component is.
 *
 * @module
 */

import { SERVING_STATUS } from "../../../proto/health.ts";
import type { HealthBoard } from "../../shared/grpc/health.ts";

/** What health is made of. */
interface HealthStateOptions {
  /** Shown to gRPC health clients under {@linkcode HEALTH_SERVICE}. */
  readonly board: HealthBoard;
  /** True while the counter store is fit. */
  readonly isStoreHealthy: () => boolean;
  /** A service without any domain is unhealthy. */
  readonly needsDomain: boolean;
}

/**
 * Name under which gRPC health clients ask for the state; the empty name tells
 * the same, as there is no other service.
 */
const HEALTH_SERVICE = "ratelimit";

/** Holds the components and sets the board at every change. */
export class HealthState {
  readonly #options: HealthStateOptions;
  #domains = 0;
  #terminating = false;

  /** The state at the start: healthy, unless a domain is needed. */
  constructor(options: HealthStateOptions) {
    this.#options = options;
    this.refresh();
  }

  /** Why the service is unhealthy; empty when it is healthy. */
  get reasons(): readonly string[] {
    return [
      ...(this.#terminating ? ["the service is stopping"] : []),
      ...(this.#options.needsDomain && this.#domains === 0
        ? ["no rate limit configuration loaded"]
        : []),
      ...(this.#options.isStoreHealthy()
        ? []
        : ["no connection to the counter store"]),
    ];
  }

  /** True when every component is healthy. */
  get isHealthy(): boolean {
    return this.reasons.length === 0;
  }

  /** Rules with this many domains are in use now. */
  configured(domains: number): void {
    this.#domains = domains;
    this.refresh();
  }

  /** The service is going to stop. */
  terminating(): void {
    this.#terminating = true;
    this.refresh();
  }

  /** Checks the components again; for those that change by themselves. */
  refresh(): void {
    const { board } = this.#options;
    const status = this.isHealthy
      ? SERVING_STATUS.SERVING
      : SERVING_STATUS.NOT_SERVING;
    if (board.get(HEALTH_SERVICE) !== status) board.set(HEALTH_SERVICE, status);
  }
}
