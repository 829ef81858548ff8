/**
 * The services with believable data, and the pages of their consoles that
 * pictures show.
 *
 * @module
 */

import { RelayerHome } from "../../relayer/relayer_home.ts";
import { ConfigFolder } from "../../ratelimit/config_folder.ts";
import { startRatelimit } from "../../support/ratelimit_process.ts";
import { SeededRandom } from "../../support/seeded_random.ts";
import { startTasks } from "../../support/tasks_process.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { DataFolder } from "../../tasks/data_folder.ts";
import { TasksClient } from "../../tasks/tasks_client.ts";
import { getTarget } from "../../tasks/tenant_client.ts";
import type { Browser } from "../browser.ts";
import { fill, says, send, view } from "../relayer_page.ts";
import { liveTasksDay } from "./tasks_day.ts";

/** A page to be shown. */
export interface Shot {
  /** The name of the picture. */
  readonly name: string;
  /** Brings the browser to the page. */
  readonly open: (browser: Browser) => Promise<void>;
  /** Whether it is also shown on a phone. @default {false} */
  readonly onPhone?: boolean;
}

/** A service with its data. */
interface Scene {
  /** The address of the first page, which a browser gets to see at once. */
  readonly first: string;
  /** What the browser does before the first page; nothing without a sign-in. */
  readonly signIn?: (browser: Browser) => Promise<void>;
  readonly shots: readonly Shot[];
}

/** Starts a service, fills it, and gives it to `use` for a while. */
export type WithScene = (
  use: (scene: Scene) => Promise<void>,
) => Promise<void>;

/** The scenes by service. */
export const SCENES: Readonly<Record<string, WithScene>> = {
  tasks: withTasks,
  ratelimit: withRatelimit,
  relayer: withRelayer,
};

async function withTasks(use: (scene: Scene) => Promise<void>): Promise<void> {
  await using folder = await DataFolder.make();
  const { key, schedule, failed } = await liveTasksDay(folder.path);
  await using service = await startTasks({
    dataDir: folder.path,
    env: { SERVICE_HOST: "localhost" },
  });
  using client = new TasksClient({
    target: () => getTarget(service),
    host: "acme.localhost",
    token: key,
  });
  for (let image = 1; image <= 3; image++) {
    await client.expect(201, ["POST", "/api/v1/tasks", {
      ...{ worker: "images", job: "resize" },
      data: { image: `banners/${image}.jpg`, widths: [640, 1_280] },
    }]);
  }
  for (const worker of ["mailer", "images"]) {
    await client.expect(200, ["POST", `/api/v1/workers/${worker}/lease`, {
      ...{ max: 2, lease: "PT10M", instance: `${worker}-1` },
    }]);
  }
  const { port } = getTarget(service);
  const console = `http://acme.localhost:${port}/console`;
  const at = (path: string) => (browser: Browser) => browser.go(console + path);
  await use({
    first: console,
    async signIn(browser) {
      await browser.go(`${console}/sign-in`);
      await browser.evaluate('document.getElementById("key").focus()');
      await browser.type(key);
      await browser.leave(() => browser.press("Enter"));
    },
    shots: [
      { name: "tasks_overview", open: at(""), onPhone: true },
      { name: "tasks_list", open: at("/tasks") },
      { name: "tasks_task", open: at(`/tasks/${failed}`) },
      { name: "tasks_schedule", open: at(`/schedules/${schedule}`) },
    ],
  });
}

const RULES = await Deno.readTextFile(
  new URL(
    "../../../services/ratelimit/example/config/edge.yaml",
    import.meta.url,
  ),
);

async function withRatelimit(
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using folder = await ConfigFolder.make({ "edge.yaml": RULES });
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "false" },
  });
  const random = new SeededRandom(39);
  for (let call = 0; call < 600; call++) {
    const answer = await fetch(`${service.httpUrl}/json`, {
      method: "POST",
      body: JSON.stringify({ domain: "edge", descriptors: asked(random) }),
    });
    await answer.body?.cancel();
  }
  const console = `${service.debugUrl}/console`;
  await waitUntil(async () => {
    const page = await (await fetch(`${console}/keys`)).text();
    return page.includes("login=");
  }, { what: "keys over their limits" });
  const at = (path: string) => (browser: Browser) => browser.go(console + path);
  await use({
    first: console,
    shots: [
      { name: "ratelimit_rules", open: at(""), onPhone: true },
      { name: "ratelimit_rule", open: at("?rule=edge.login") },
    ],
  });
}

const NAMES = ["ada", "grace", "alan", "edsger", "barbara", "donald"];

/** What one call of a proxy asks for. */
function asked(random: SeededRandom): readonly unknown[] {
  const entry = (key: string, value: string) => ({ key, value });
  const address = `198.51.100.${1 + random.below(40)}`;
  // A few ask for most.
  const client = `shop-${Math.floor(random.next() ** 3 * 12)}`;
  const path = random.pick(["/api/cart", "/api/search", "/export", "/pages/1"]);
  return [
    { entries: [entry("remote_address", address)] },
    { entries: [entry("client_id", client), entry("path", path)] },
    ...random.chance(.15)
      ? [{ entries: [entry("login", random.pick(NAMES))] }]
      : [],
    ...random.chance(.1) ? [{ entries: [entry("search", "all")] }] : [],
    ...random.chance(.2) ? [{ entries: [entry("api_key", client)] }] : [],
    ...random.chance(.03)
      ? [{ entries: [entry("signup_address", address)] }]
      : [],
  ];
}

const MEMORIES: readonly string[] = [
  "Ada drinks green tea in the morning and coffee after lunch.",
  "Ada's train to Oslo leaves at 8:12 on Mondays.",
  "The team meets on Thursdays at ten in the room with the map.",
  "Grace prefers window seats and vegetarian food.",
  "The flat's wifi box is behind the bookshelf.",
  "Alan's birthday is on 23 June; he likes long walks.",
  "The green tea comes from the shop at the harbour.",
  "The plants are watered on Wednesdays and Sundays.",
  "Ada is allergic to hazelnuts.",
  "The dentist's appointment is on the second of March at nine.",
  "Grace gave Ada a teapot for her birthday.",
  "The lease of the office ends in September.",
];

async function withRelayer(
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using home = await RelayerHome.open();
  const mem = home.mem();
  for (const [index, text] of MEMORIES.entries()) {
    await mem.rememberAndWait(text, {
      namespace: index % 4 === 3 ? "family" : "default",
    });
  }
  const { accountId, key } = home.account();
  await use({
    first: `${home.url}/console`,
    async signIn(browser) {
      await browser.go(`${home.url}/console`);
      await says(browser, "Delegate key");
      await fill(browser, "account", accountId);
      await fill(browser, "key", key);
      await browser.walkTo("[name=keep]");
      await browser.press(" ");
      await send(browser);
      await says(browser, "Forget the key");
    },
    shots: [
      {
        name: "relayer_recall",
        onPhone: true,
        async open(browser) {
          await view(browser, "#/recall");
          await says(browser, "Question");
          await fill(browser, "query", "What does Ada drink in the morning?");
          await browser.press("Enter");
          await says(browser, "green tea in the morning");
        },
      },
      {
        name: "relayer_memories",
        async open(browser) {
          await view(browser, "#/memories");
          await says(browser, "12 memories");
          await browser.evaluate(`[...document.querySelectorAll("button")]
            .find((one) => one.textContent === "Show texts").click()`);
          await says(browser, "allergic to hazelnuts");
        },
      },
    ],
  });
}
