/**
 * How watchers of files hear that something may have changed, before they look
 * by themselves.
 *
 * @module
 */

/** A directory in which a change matters. */
export interface WatchedDirectory {
  /** Its path, without symbolic links. */
  readonly path: string;
  /** Differs for another directory that took its place. */
  readonly identity: string;
}

/** Who hears of changes. */
export interface ReportSubscriber {
  /** Finds the directories in which changes matter to it; never rejects. */
  directories(): Promise<readonly WatchedDirectory[]>;
  /** Called when something may have changed, there or elsewhere. */
  onReport(): void;
}

/** A subscription, until it is ended. */
export interface ReportSubscription {
  /** Asks the subscriber for its directories again. */
  refresh(): void;
  /** Tells that a change was found which had not been reported. */
  missed(): void;
  /** Ends the subscription. */
  end(): void;
}

/** Reports that files may have changed. */
export interface ChangeReports {
  /** True while a change can be expected to be reported. */
  readonly isReporting: boolean;
  /** Adds a subscriber. */
  subscribe(subscriber: ReportSubscriber): ReportSubscription;
}

/**
 * Passes on what another thread reports. It promises nothing, so its
 * subscribers look as often as they would without it.
 */
export class ReportRelay implements ChangeReports {
  readonly isReporting = false;
  readonly #subscribers = new Set<ReportSubscriber>();

  /** Adds a subscriber; its directories are not asked for. */
  subscribe(subscriber: ReportSubscriber): ReportSubscription {
    this.#subscribers.add(subscriber);
    return {
      refresh: () => {},
      missed: () => {},
      end: () => this.#subscribers.delete(subscriber),
    };
  }

  /** Tells all subscribers that something may have changed. */
  report(): void {
    for (const subscriber of this.#subscribers) subscriber.onReport();
  }
}
