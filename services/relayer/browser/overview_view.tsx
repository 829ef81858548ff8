/**
 * The first view: who acts for whom, what the relayer is, and what it keeps.
 *
 * @module
 */

import type { VNode } from "preact";
import type { HealthResult, NamespaceEntry } from "../../../mod.ts";
import { Badge, FactList, Tiles } from "../../shared/console/parts.tsx";
import { type Listing, readListing } from "./listing.ts";
import { readNamespaces } from "./namespaces_view.tsx";
import { readConfig, type RelayerConfig } from "./relayer_config.ts";
import {
  formatBytes,
  Instant,
  Outcome,
  useLoaded,
  type ViewProps,
} from "./view.tsx";

interface Known {
  readonly health: HealthResult;
  readonly config: RelayerConfig;
  readonly namespaces: readonly NamespaceEntry[];
  readonly listing: Listing;
}

/** Shows the account, the relayer and what is stored. */
export function OverviewView({ session }: ViewProps): VNode {
  const { mem } = session;
  const call = useLoaded("", async (): Promise<Known> => {
    const [health, config, namespaces, listing] = await Promise.all([
      mem.health(),
      readConfig(),
      readNamespaces(mem),
      readListing(mem),
    ]);
    return { health, config, namespaces, listing };
  });
  return (
    <Outcome call={call}>
      {({ health, config, namespaces, listing }) => (
        <>
          <Stored namespaces={namespaces} listing={listing} />
          <section class="section" aria-labelledby="account">
            <h2 id="account">Account</h2>
            <FactList
              facts={[
                ["Account", <span class="mono">{session.accountId}</span>],
                ["Owner", <span class="mono">{session.owner}</span>],
                ["Key", <span class="mono">{session.publicKey}</span>],
                ["Delegates", <a href="#/keys">Keys of this account</a>],
              ]}
            />
          </section>
          <RelayerPart health={health} config={config} />
        </>
      )}
    </Outcome>
  );
}

function Stored(
  { namespaces, listing: { memories, isCut } }: Pick<
    Known,
    "namespaces" | "listing"
  >,
): VNode {
  const sum = (pick: (one: NamespaceEntry) => number): number =>
    namespaces.reduce((total, one) => total + pick(one), 0);
  const ends = memories.flatMap(({ expires_at }) =>
    expires_at === null ? [] : [expires_at]
  ).sort();
  const replaced = memories.filter((one) => one.status === "superseded");
  const [first] = ends;
  return (
    <>
      <Tiles
        tiles={[
          {
            name: "memories",
            value: sum((one) => one.memory_count),
            href: "#/memories",
          },
          {
            name: "namespaces",
            value: namespaces.length,
            href: "#/namespaces",
          },
          {
            name: "stored",
            value: formatBytes(sum((one) => one.storage_used)),
            href: "#/namespaces",
          },
          {
            name: "replaced",
            value: `${replaced.length}${isCut ? "+" : ""}`,
            href: "#/memories?status=superseded",
          },
        ]}
      />
      <p class="section">
        {first === undefined ? "Nothing that is stored ends by itself." : (
          <>
            {`The storage of ${ends.length} memories ends; the first on `}
            <Instant at={first} />.
          </>
        )}
      </p>
    </>
  );
}

function RelayerPart(
  { health, config }: Pick<Known, "health" | "config">,
): VNode {
  const { keyServers = [], keyServerThreshold } = config;
  return (
    <section class="section" aria-labelledby="relayer">
      <h2 id="relayer">Relayer</h2>
      <FactList
        facts={[
          [
            "State",
            health.write_ready === false
              ? <Badge tone="warn">takes no writes now</Badge>
              : <Badge tone="good">takes writes</Badge>,
          ],
          ["Version", health.version],
          ["Ledger", config.network],
          ["Package", <span class="mono">{config.packageId}</span>],
          [
            "Keys",
            keyServers.length === 0
              ? "of this relayer"
              : `${keyServerThreshold} of ${keyServers.length} key servers ` +
                "open a memory; this page makes a session by itself",
          ],
        ]}
      />
    </section>
  );
}
