/**
 * What the service is given beside its settings.
 *
 * @module
 */

import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { SignalSource } from "../shared/lifecycle.ts";
import type { IdentityProvider } from "./access/identity_provider.ts";
import type { JwtVerifier } from "./access/jwt.ts";
import type { Network } from "./access/network.ts";
import type { WaitMetrics } from "./http/wait_metrics.ts";
import type { PlanBook } from "./engine/plan_book.ts";
import type { AllowList } from "./delivery/allow_list.ts";
import type { MasterKeys } from "./secrets/master_keys.ts";
import type { Store } from "./store/store.ts";

/** What the service gets from the process it runs in. */
export interface ServeOptions {
  /** Keeps everything. */
  readonly store: Store;
  /** Counts how long requests wait; the store tells it of commits. */
  readonly waits: WaitMetrics;
  /** What secrets are sealed with; without it there are none. */
  readonly masterKeys: MasterKeys | undefined;
  /** Plans and prices. */
  readonly plans: PlanBook;
  /** What of the settings had to be read first. */
  readonly parsed: ParsedSettings;
  /** Verifies the tokens of people; absent when there is no identity provider. */
  readonly tokens: JwtVerifier | undefined;
  /** The identity provider's management API; absent when none is set. */
  readonly identityProvider: IdentityProvider | undefined;
  /** The certificate, when the port speaks https. */
  readonly tls: ServeTls | undefined;
  /** Gives random bytes fit for keys. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Time. */
  readonly clock: Clock;
  /** Hears of everything worth telling. */
  readonly logger: Logger;
  /** SIGTERM, SIGINT and SIGHUP. */
  readonly signals: SignalSource;
}

/** Settings that are lists of things with a form of their own. */
export interface ParsedSettings {
  /** Proxies whose words count. */
  readonly trustedProxies: readonly Network[];
  /** Whom push workers may be though they are not public. */
  readonly allowList: AllowList;
}

/** A certificate that may change. */
export interface ServeTls {
  /** The chain and the key as PEM. */
  readonly certificate: () => { readonly cert: string; readonly key: string };
  /** Reads them again; tells whether they are others now. */
  readonly reload: () => Promise<boolean>;
  /** When the certificate ends; only of one that can be used. */
  readonly notAfter: () => Date;
}
