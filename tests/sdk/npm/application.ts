/**
 * An application in TypeScript that uses every module of the package: it is
 * type-checked and never run.
 */

import type { Mem, RecallResult } from "@tercet/sdk";
import { createAccount, generateDelegateKey } from "@tercet/sdk/account";
import { type MemoryClient, withMem } from "@tercet/sdk/ai";
import { MemManual } from "@tercet/sdk/manual";
import { RateLimitClient } from "@tercet/sdk/ratelimit";
import { limitFetch } from "@tercet/sdk/ratelimit/middleware";
import { TasksClient, verifyWebhook, Worker } from "@tercet/sdk/tasks";
import { MemMock } from "@tercet/sdk/testing";

export async function isAllowed(): Promise<boolean> {
  const limits = new RateLimitClient({ url: "http://127.0.0.1:8080" });
  const descriptors = [{ entries: [{ key: "login", value: "ada" }] }];
  // @ts-expect-error: descriptors are missing
  await limits.check({ domain: "edge" });
  return (await limits.check({ domain: "edge", descriptors })).allowed;
}

export const limited = limitFetch(
  (_request, { user }: { readonly user: string }) => new Response(user),
  {
    client: new RateLimitClient({ url: "http://127.0.0.1:8080", strict: true }),
    domain: "edge",
    descriptors: (_request, { user }) => [{
      entries: [{ key: "user", value: user }],
    }],
    failureMode: "deny",
    onError: ({ code }) => {
      // @ts-expect-error: there is no such code
      if (code === "no_user") throw new Error(code);
    },
  },
);

export async function remember(mem: Mem): Promise<RecallResult> {
  await mem.rememberAndWait("Ada drinks tea");
  // @ts-expect-error: there is no such ranking
  await mem.recall({ query: "tea", ranking: "alphabetical" });
  return await mem.recall({ query: "What does Ada drink?" });
}

type Jobs = { welcome: { data: { to: string }; result: number } };

export async function work(url: string, key: string): Promise<string> {
  const tasks = new TasksClient<Jobs>({ url, key });
  const task = { worker: "mailer", job: "welcome", date: new Date() } as const;
  const { id } = await tasks.create({ ...task, data: { to: "ada" } });
  // @ts-expect-error: the data is of another type
  await tasks.create({ ...task, data: { to: 7 } });
  const { result } = await tasks.wait(id, { timeoutMs: 1_000 });
  const sum: number = (result ?? 0) + 1;
  const events: string[] = [];
  for await (const { type } of tasks.history(id)) events.push(type);
  await using worker = new Worker<Jobs>({
    ...{ url, key, worker: "mailer" },
    handlers: { welcome: ({ data }, { attempt }) => data.to.length + attempt },
    onError: () => {},
  });
  worker.start();
  await worker.ended;
  return events.join() + sum;
}

export async function answer(request: Request): Promise<Response> {
  const verdict = await verifyWebhook(request, "whsec_…");
  return new Response(null, { status: verdict.kind === "valid" ? 200 : 401 });
}

export async function ask(mem: MemoryClient): Promise<string> {
  const provided = {
    ...{ specificationVersion: "v4", provider: "own", modelId: "small" },
    answer: (prompt: string) => `no: ${prompt}`,
  };
  const model = withMem(provided, { mem });
  await model.flush();
  return model.answer("What do I drink?");
}

export async function open(): Promise<string> {
  const { privateKey } = await generateDelegateKey();
  const { accountId } = await createAccount({
    key: privateKey,
    ledgerNetwork: "localnet",
    serverUrl: "http://127.0.0.1:8000",
  });
  await using manual = MemManual.create({
    key: privateKey,
    accountId,
    trustRelayerKeyServers: true,
    embedWithRelayer: true,
  });
  const { results } = await manual.recallManual("tea");
  return await remember(MemMock.create().mem).then(({ total }) =>
    `${total}${results[0]?.text}`
  );
}
