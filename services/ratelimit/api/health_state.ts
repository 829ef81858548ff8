/**
 * The health of the service: healthy when every component is.
 *
 * @module
 */

import { SERVING_STATUS } from "../../../proto/health.ts";
import type { HealthBoard } from "../../shared/grpc/health.ts";

/** What the health of the service depends on. */
interface HealthStateOptions {
  /**
   * The board of the gRPC health service, on which the state is set under
   * {@linkcode HEALTH_SERVICE}.
   */
  readonly board: HealthBoard;
  /** True while the counter store is healthy. */
  readonly isStoreHealthy: () => boolean;
  /** True when the service is unhealthy without any domain in its rules. */
  readonly needsDomain: boolean;
}

/**
 * Name under which gRPC health clients ask for the state; the empty name has
 * the same state, as there is no other service.
 */
const HEALTH_SERVICE = "ratelimit";

/**
 * Holds the state of the components and updates the health board on every
 * change.
 */
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
        : ["the counter store is unavailable"]),
    ];
  }

  /** True when every component is healthy. */
  get isHealthy(): boolean {
    return this.reasons.length === 0;
  }

  /** Notes how many domains the rules in use have now. */
  configured(domains: number): void {
    this.#domains = domains;
    this.refresh();
  }

  /** Notes that the service is going to stop. */
  terminating(): void {
    this.#terminating = true;
    this.refresh();
  }

  /**
   * Checks all components again; called for those that change by themselves.
   */
  refresh(): void {
    const { board } = this.#options;
    const status = this.isHealthy
      ? SERVING_STATUS.SERVING
      : SERVING_STATUS.NOT_SERVING;
    if (board.get(HEALTH_SERVICE) !== status) board.set(HEALTH_SERVICE, status);
  }
}
