/**
 * Tests relayers on a PostgreSQL whose commits wait for a standby that is gone.
 *
 * @module
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { PostgresGroup } from "../support/postgres_group.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { startRelayer } from "../support/relayer_process.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { type HandKey, signByHand } from "./hand_signer.ts";
import { SchemaStorage } from "./home_storage.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember, readList, WireClient } from "./wire_client.ts";

/** Longer than the relayer waits for a commit. */
const WRITE_MS = 60_000;
/** Owners that write, more than there are connections that do. */
const OWNERS = 12;
/** As many recalls of each owner are answered while a write waits. */
const ROUNDS = 3;

for (const durability of ["strict", "replicated"]) {
  serviceTest(["postgres"], {
    name:
      `relayers with DURABILITY=${durability} go on recalling while commits wait for a standby that is gone`,
    timeout: 240_000,
    async fn() {
      const group = await PostgresGroup.start({ servers: 2 });
      try {
        await using home = await RelayerHome.open({
          accounts: OWNERS,
          env: { DURABILITY: durability },
          storage: (dataDir) =>
            new SchemaStorage(dataDir, {
              ...{ url: group.url, primary: group.primary, standbys: [] },
            }),
        });
        await using other = await startRelayer({
          dataDir: `${home.dataDir}/other`,
          env: { ...home.storage.env, DURABILITY: durability },
        });
        const urls = [home.url, other.url];
        const found = async (url: string, owner: number): Promise<number> => {
          const client = new WireClient(() => url, home.account(owner));
          const body = { query: "owner drinks tea", limit: 50 };
          const answer = await client.expect(200, [
            ...["POST", "/api/recall"] as const,
            body,
          ]);
          return readList(answer, "results").length;
        };
        for (let owner = 0; owner < OWNERS; owner++) {
          await home.mem({}, home.account(owner)).rememberAndWait(
            `The owner ${owner} drinks tea`,
          );
          for (const url of urls) assertEquals(await found(url, owner), 1);
        }

        const standbys = await group.confirmBy("ANY 1 (nobody)");
        let isRecalling = true;
        let answered = 0;
        const statuses = new Set<number>();
        const writes = home.accounts.flatMap((account) =>
          urls.map(async (url) => {
            let sent = 0;
            while (isRecalling) {
              statuses.add((await remember(url, account)).status);
              answered++;
              sent++;
            }
            return sent;
          })
        );
        await waitUntil(async () => {
          const rows = await group.primary.sql(
            "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
          );
          return rows.length > 0 || answered > 0;
        }, { what: "a commit to wait for the standby" });
        let recalls = 0;
        for (let round = 0; round < ROUNDS; round++) {
          for (const url of urls) {
            for (let owner = 0; owner < OWNERS; owner++) {
              assertEquals(await found(url, owner), 1);
              recalls++;
            }
          }
        }
        isRecalling = false;
        const sent = await Promise.all(writes);
        // A recall that waited for writes would outlast one of each writer.
        assert(Math.max(...sent) < recalls / 4, `${sent} by ${recalls}`);
        assertEquals(statuses, new Set([503]));
        for (const service of [home.service, other]) {
          // A balancer goes on sending recalls.
          const ready = await fetch(`${service.url}/readyz`);
          assertEquals(ready.status, 200);
          assertStringIncludes(await ready.text(), "no synchronous standby");
          const families = await readMetrics(await metricsUrl(service));
          assertEquals({
            fenced: findSeries(families, "relayer_instance_fenced"),
            members: findSeries(families, "relayer_instances"),
          }, { fenced: 0, members: 2 });
        }

        await group.confirmBy(standbys);
        for (const [owner, account] of home.accounts.entries()) {
          let id: unknown;
          await waitUntil(async () => {
            const answer = await remember(urls[owner % 2] ?? "", account);
            id = getMember(answer.json, "job_id");
            return answer.status === 202;
          }, { what: "writes to go on" });
          const wire = home.wire(account);
          await waitUntil(async () => {
            const status = await wire.expect(200, [
              ...["GET", `/api/remember/${id}?wait=20`] as const,
            ]);
            return getMember(status, "status") === "done";
          }, { what: "the memory to be stored" });
          for (const url of urls) assert(await found(url, owner) >= 2);
        }
      } finally {
        await group.stop();
      }
    },
  });
}

/** Remembers a text, and waits for the answer as long as it takes. */
async function remember(
  url: string,
  account: HandKey,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const request = {
    method: "POST",
    target: "/api/remember",
    body: JSON.stringify({ text: "The owner drinks coffee, or rather tea" }),
  };
  const answer = await fetch(`${url}${request.target}`, {
    method: request.method,
    headers: signByHand(request, account),
    body: request.body,
    signal: AbortSignal.timeout(WRITE_MS),
  });
  return { status: answer.status, json: await answer.json() };
}
