/**
 * The mock's routes that accept texts and report the status of their jobs.
 *
 * @module
 */

import {
  createAnswer,
  type MockAnswer,
  type MockCall,
  type MockHandlers,
  type MockParts,
  ok,
} from "./mock_exchange.ts";
import { countBytes, readBody, Refusal } from "./mock_bodies.ts";
import { memoryReceipt } from "./mock_receipts.ts";
import { hasEnded } from "./mock_store.ts";
import { jobView, MOCK_ACCOUNT, type View } from "./mock_views.ts";
import { LIMITS, RELAYER_ROUTES } from "./relayer_routes.ts";

/** The handlers of these routes. */
type JobHandlers = Pick<
  MockHandlers,
  | "POST /api/remember"
  | "POST /api/remember/bulk"
  | "GET /api/remember/:id"
  | "POST /api/remember/bulk/status"
  | "POST /api/remember/manual"
  | "POST /api/analyze"
>;

const MAX_FACT_BYTES = RELAYER_ROUTES["POST /api/analyze"].body.text.maxLength;

/** Creates the handlers. */
export function jobRoutes(parts: MockParts): JobHandlers {
  return {
    "POST /api/remember": (call) => remember(parts, call),
    "POST /api/remember/bulk": (call) => rememberBulk(parts, call),
    "GET /api/remember/:id": (call) => status(parts, call),
    "POST /api/remember/bulk/status": (call) => bulkStatus(parts, call),
    "POST /api/remember/manual": (call) => rememberManual(parts, call),
    "POST /api/analyze": (call) => analyze(parts, call),
  };
}

function remember({ store }: MockParts, { body }: MockCall): MockAnswer {
  const { idempotency_key: key, ...text } = readBody(
    "POST /api/remember",
    body,
    { action: "remember text" },
  );
  const [jobId] = store.accept([text], { status: "running", key });
  return createAnswer(202, { job_id: jobId, status: "running" });
}

function rememberBulk({ store }: MockParts, { body }: MockCall): MockAnswer {
  const { idempotency_key: key, items } = readBody(
    "POST /api/remember/bulk",
    body,
    { action: "remember texts" },
  );
  const ids = store.accept(items, { status: "running", key });
  return createAnswer(202, {
    job_ids: ids,
    total: ids.length,
    status: "running",
  });
}

async function status(parts: MockParts, call: MockCall): Promise<MockAnswer> {
  const { params: [id = ""], query } = call;
  const wait = query.get("wait") ?? "0";
  if (!/^\d{1,30}$/.test(wait)) {
    throw new Refusal(
      400,
      'Cannot wait for job: "wait" is not a whole number of seconds from 0 on',
    );
  }
  const seconds = Math.min(Number(wait), LIMITS.waitSeconds);
  if (seconds > 0) {
    await waitForNews(id, { parts, call, waitMs: seconds * 1_000 });
  }
  const view = await findView(parts, id);
  if (view !== undefined) return ok(view);
  throw new Refusal(404, "Cannot find job: it does not exist");
}

/** Waits until a job has ended, or until the time is over. */
function waitForNews(
  id: string,
  { parts: { store, clock }, call: { signal }, waitMs }: {
    readonly parts: MockParts;
    readonly call: MockCall;
    readonly waitMs: number;
  },
): Promise<void> {
  const isOpen = (): boolean => {
    const job = store.job(id);
    return job !== undefined && !hasEnded(job);
  };
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    if (!isOpen()) return resolve();
    const end = (settle: () => void): void => {
      timer.cancel();
      unlisten();
      signal.removeEventListener("abort", abort);
      settle();
    };
    const abort = (): void => end(() => reject(signal.reason));
    const timer = clock.setTimer(() => end(resolve), waitMs);
    const unlisten = store.listen(() => isOpen() || end(resolve));
    signal.addEventListener("abort", abort, { once: true });
  });
}

async function bulkStatus(
  parts: MockParts,
  { body }: MockCall,
): Promise<MockAnswer> {
  const { job_ids: ids } = readBody("POST /api/remember/bulk/status", body, {
    action: "look jobs up",
  });
  const results = await Promise.all(ids.map(async (id) => {
    const view = await findView(parts, id);
    if (view === undefined) return { job_id: id, status: "not_found" };
    return { ...view, owner: undefined };
  }));
  return ok({ results });
}

/**
 * Returns the answer about a job, with the receipt of the memory that it has
 * stored, or about a memory that was stored without a job.
 */
async function findView(
  { store }: MockParts,
  id: string,
): Promise<View | undefined> {
  const job = store.job(id);
  if (job === undefined) {
    const row = store.kept(id);
    return row && jobView({ memory: row.memory, status: "done" });
  }
  if (job.status !== "done") return jobView(job);
  return { ...jobView(job), ...await memoryReceipt(job.memory) };
}

async function rememberManual(
  { store }: MockParts,
  { body }: MockCall,
): Promise<MockAnswer> {
  const { encrypted_data: data, ...sealed } = readBody(
    "POST /api/remember/manual",
    body,
    { action: "remember data" },
  );
  if (data === undefined) {
    throw new Refusal(
      400,
      "Cannot remember data: the mock needs encrypted_data",
    );
  }
  const memory = store.storeSealed({ ...sealed, data });
  const { owner } = MOCK_ACCOUNT;
  const { id, blobId, namespace } = memory;
  const { receipt } = await memoryReceipt(memory, { data });
  return ok({ id, blob_id: blobId, owner, namespace, receipt });
}

function analyze(
  { store, facts: extractFacts }: MockParts,
  { body }: MockCall,
): MockAnswer {
  const { text, namespace } = readBody("POST /api/analyze", body, {
    action: "analyze text",
  });
  const facts = extractFacts(text)
    .filter((fact) => fact.trim() !== "" && countBytes(fact) <= MAX_FACT_BYTES)
    .slice(0, LIMITS.facts);
  const ids = store.accept(
    facts.map((text) => ({
      ...{ text, namespace },
      ...{ importance: undefined, metadata: undefined, supersedes: undefined },
    })),
    { status: "pending", key: undefined },
  );
  return createAnswer(202, {
    job_ids: ids,
    facts: ids.map((id, at) => ({ text: facts[at], id, job_id: id })),
    fact_count: ids.length,
    status: "pending",
    owner: MOCK_ACCOUNT.owner,
  });
}
