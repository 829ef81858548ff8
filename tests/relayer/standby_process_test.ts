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

/** The answer to a write. */
interface Remembered {
  readonly status: number;
  readonly json: unknown;
}

serviceTest(["postgres"], {
  name:
    "relayers go on recalling while commits wait for a standby that is gone",
  timeout: 240_000,
  async fn() {
    // Most of the time is the wait for commits, so both wait at once.
    const ends = await Promise.allSettled([
      recallBeside("strict"),
      recallBeside("replicated"),
    ]);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  },
});

/** Recalls beside writes that wait for a standby. */
async function recallBeside(
  durability: "strict" | "replicated",
): Promise<void> {
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
    const findAll = (least: number): Promise<unknown> =>
      Promise.all(
        home.accounts.flatMap((_, owner) =>
          urls.map(async (url) => assert(await found(url, owner) >= least))
        ),
      );
    await Promise.all(
      home.accounts.map((account, owner) =>
        home.mem({}, account).rememberAndWait(
          `The owner ${owner} drinks tea`,
        )
      ),
    );
    await findAll(1);

    let answered = 0;
    const write = (): Promise<Remembered>[] => {
      answered = 0;
      return home.accounts.flatMap((account) =>
        urls.map((url) => remember(url, account).finally(() => answered++))
      );
    };
    await group.loseStandby();
    let writes = write();
    // A relayer that has noticed the loss may refuse all writes at once. Then
    // no commit waits, and the standby is lost once more.
    while (!await hasWaitingCommit(group, () => answered < writes.length)) {
      await Promise.all(writes);
      await group.restoreStandby();
      for (const url of urls) {
        await waitUntil(
          async () => (await remember(url, home.account(0))).status === 202,
          { what: "writes to go on" },
        );
      }
      await group.loseStandby();
      writes = write();
    }
    await findAll(1);
    // Recalls wait for no write, however long that waits.
    assert(answered < writes.length, "all writes were answered");
    const refused = await Promise.all(writes);
    assertEquals(
      new Set(refused.map(({ status }) => status)),
      new Set([503]),
    );
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

    await group.restoreStandby();
    await Promise.all(home.accounts.map(async (account, owner) => {
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
    }));
    await findAll(2);
  } finally {
    await group.stop();
  }
}

/**
 * Returns whether a commit waits for the standby, once one does or all writes
 * are answered.
 */
async function hasWaitingCommit(
  group: PostgresGroup,
  isWriting: () => boolean,
): Promise<boolean> {
  let isWaiting = false;
  await waitUntil(async () => {
    isWaiting = await group.countWaitingCommits() > 0;
    return isWaiting || !isWriting();
  }, { what: "a commit to wait for the standby" });
  return isWaiting;
}

/** Remembers a text, and waits for the answer as long as it takes. */
async function remember(
  url: string,
  account: HandKey,
): Promise<Remembered> {
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
