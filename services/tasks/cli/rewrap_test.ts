import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  MasterKeys,
  type OpenKeysOutcome,
  type SealingKey,
} from "../secrets/master_keys.ts";
import {
  createTenantKey,
  unwrapTenantKey,
  type WrappedKey,
} from "../secrets/tenant_key.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import type { DataSettings } from "../settings.ts";
import {
  openSubject,
  TEST_SERVER,
} from "../store/postgres/testing/postgres_subject.ts";
import { readDataSettings } from "./testing/data_settings.ts";
import { keyNamed } from "../secrets/testing/keys.ts";
import { SqliteStore } from "../store/sqlite/sqlite_store.ts";
import type { Store } from "../store/store.ts";
import { runRewrap } from "./rewrap.ts";

const K0 = keyNamed("k0");
const K1 = keyNamed("k1");
const K2 = keyNamed("k2");

/** Where keys are: an open store and the settings of commands. */
interface Place {
  readonly store: Store;
  readonly settings: DataSettings;
  readonly close: () => Promise<void>;
}

async function openFolder(): Promise<Place> {
  const folder = await Deno.makeTempDir();
  const store = new SqliteStore({
    dataFolder: folder,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
  });
  await store.start();
  return {
    store,
    settings: readDataSettings({ DATA_DIR: folder }),
    close: async () => {
      await store.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function openSchema(): Promise<Place> {
  const { store, schema, close } = await openSubject();
  const settings = readDataSettings({
    STORE: "postgres",
    DATABASE_URL: TEST_SERVER.url,
    DATABASE_SCHEMA: schema,
  });
  return { store, settings, close };
}

/** An open store, and the output of the command. */
class World {
  readonly out: string[] = [];
  readonly err: string[] = [];
  readonly store: Store;
  readonly settings: DataSettings;

  constructor({ store, settings }: Place) {
    this.store = store;
    this.settings = settings;
  }

  /** Gives each tenant a key that is wrapped by a master key. */
  async addKeys(tenantIds: readonly string[], by: SealingKey): Promise<void> {
    const masterKeys = new MasterKeys(by);
    await this.store.commit(tenantIds.map((tenantId) => {
      const { wrapped } = createTenantKey({ tenantId, masterKeys });
      const key: WrappedKey = { tenantId, id: "data", version: 1, wrapped };
      return {
        writes: [{
          kind: "record",
          recordKind: "data_key",
          tenantId,
          id: "data",
          expectedVersion: 0,
          next: {
            kind: "data_key",
            tenantId,
            id: "data",
            version: 1,
            text: JSON.stringify(key),
          },
        }],
      };
    }));
  }

  async listKeys(tenantId: string): Promise<readonly WrappedKey[]> {
    const { records } = await this.store.records({
      kind: "data_key",
      tenantId,
      limit: 10,
    });
    return records.map(({ id, version, text }) => {
      const key = JSON.parse(text) as WrappedKey;
      assertEquals([key.id, key.version], [id, version]);
      return key;
    });
  }

  /** Runs the command; its earlier output is dropped. */
  async run(
    args: readonly string[],
    keys: readonly [SealingKey, ...SealingKey[]] | OpenKeysOutcome,
  ): Promise<number> {
    this.out.length = 0;
    this.err.length = 0;
    const outcome: OpenKeysOutcome = "kind" in keys
      ? keys
      : { kind: "ok", masterKeys: new MasterKeys(keys[0], keys.slice(1)) };
    return await runRewrap(args, {
      settings: this.settings,
      openKeys: () => Promise.resolve(outcome),
      io: {
        out: (text) => void this.out.push(text),
        err: (text) => void this.err.push(text),
      },
    });
  }

  json(): unknown {
    return JSON.parse(this.out.join("\n"));
  }
}

async function withWorld(
  run: (world: World) => Promise<void>,
  open: () => Promise<Place> = openFolder,
): Promise<void> {
  const place = await open();
  try {
    await run(new World(place));
  } finally {
    await place.close();
  }
}

/** Registers a test of both engines. */
function onBoth(name: string, run: (world: World) => Promise<void>): void {
  Deno.test(name, () => withWorld(run));
  serviceTest(["postgres"], {
    name: `${name}, on PostgreSQL`,
    fn: () => withWorld(run, openSchema),
  });
}

function tenants(count: number, prefix = "ten_"): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

onBoth(
  "runRewrap() wraps all keys again beside a service, and changes nothing the second time",
  async (world) => {
    await world.addKeys(tenants(230), K1);
    await world.addKeys(tenants(3, "new_"), K2);
    assertEquals(await world.run([], [K2, K1]), 0);
    assertEquals(world.out, [
      'Keys rewrapped: 230; wrapped by "k2" already: 3',
      'Master keys in use: "k2" (233)',
      'Master keys that no stored key needs: "k1"',
    ]);
    for (const tenantId of [...tenants(230), ...tenants(3, "new_")]) {
      const [key] = await world.listKeys(tenantId);
      assertEquals(key?.version, tenantId.startsWith("new_") ? 1 : 2);
      const opened = unwrapTenantKey(key?.wrapped ?? "", {
        tenantId,
        masterKeys: new MasterKeys(K2),
      });
      assertEquals(opened.kind, "ok");
    }
    const before = await world.listKeys("ten_0");
    assertEquals(await world.run(["--json"], [K2]), 0);
    assertEquals(world.json(), {
      masterKey: "k2",
      rewrapped: 0,
      current: 233,
      replaced: 0,
      lost: 0,
      inUse: { k2: 233 },
      unused: [],
    });
    assertEquals(await world.listKeys("ten_0"), before);
    assertEquals(world.err, []);
  },
);

onBoth(
  "runRewrap() exits with 1 and leaves keys alone that no master key opens",
  async (world) => {
    await world.addKeys(tenants(2), K0);
    await world.addKeys(["new_0"], K1);
    const before = await world.listKeys("ten_0");
    assertEquals(await world.run([], [K2, K1]), 1);
    assertEquals(world.out.at(1), 'Master keys in use: "k0" (2), "k2" (1)');
    assertStringIncludes(world.err.join("\n"), "Cannot open the keys of 2");
    assertStringIncludes(world.err.join("\n"), '"k0"');
    assertEquals(await world.listKeys("ten_0"), before);
  },
);

onBoth(
  "runRewrap() replaces lost keys when told to, and keeps them for their master key",
  async (world) => {
    await world.addKeys(tenants(150), K0);
    await world.addKeys(["new_0"], K2);
    const [lost] = await world.listKeys("ten_7");
    const args = ["--replace-lost", "--json"];
    assertEquals(await world.run(args, [K2]), 0);
    const told = {
      masterKey: "k2",
      rewrapped: 0,
      current: 1,
      replaced: 150,
      lost: 0,
      inUse: { k2: 151, k0: 150 },
      unused: [],
    };
    assertEquals(world.json(), told);
    const [key, kept] = await world.listKeys("ten_7");
    assertEquals(kept, { ...lost, id: "data.1", version: 1 });
    assertEquals([key?.id, key?.version], ["data", 2]);
    assertEquals(await world.run(args, [K2]), 0);
    assertEquals(world.json(), { ...told, current: 151, replaced: 0 });
    // With the lost master key back, the keys that it wraps are wrapped by the
    // current one, so it is needed no longer.
    assertEquals(await world.run(["--json"], [K2, K0]), 0);
    assertEquals(world.json(), {
      ...told,
      rewrapped: 150,
      current: 151,
      replaced: 0,
      inUse: { k2: 301 },
      unused: ["k0"],
    });
  },
);

Deno.test("runRewrap() exits with 1 when there is no master key or no database", async () => {
  await withWorld(async (world) => {
    assertEquals(await world.run([], { kind: "none" }), 1);
    assertStringIncludes(world.err.join("\n"), "no master key");
    const problem = "Cannot read master keys: no such file";
    assertEquals(await world.run([], { kind: "invalid", problem }), 1);
    assertEquals(world.err, [problem]);
    const empty = `${world.settings.dataDir}/empty`;
    await Deno.mkdir(empty);
    assertEquals(await world.run(["--data-dir", empty], [K2]), 1);
    assertEquals(world.err.length, 1);
    assertEquals(await Array.fromAsync(Deno.readDir(empty)), []);
    assertEquals(world.out, []);
  });
});

Deno.test("runRewrap() exits with 2 for wrong arguments and tells its usage", async () => {
  await withWorld(async (world) => {
    assertEquals(await world.run(["k2"], [K2]), 2);
    assertEquals(await world.run(["--replace"], [K2]), 2);
    assertEquals(await world.run(["--help"], [K2]), 0);
    assertStringIncludes(world.out.join("\n"), "tasks rewrap");
    assertStringIncludes(world.out.join("\n"), "--replace-lost");
  });
});
