/**
 * The page that tries a worker: a call as that of a real attempt, and what came
 * back.
 *
 * @module
 */

import { TextArea, TextField } from "../../../shared/console/form.tsx";
import { CsrfField } from "../../../shared/console/layout.tsx";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import {
  FaultsNote,
  type FormFaults,
  formFaults,
  NO_FAULTS,
  textOf,
} from "../parts/form_faults.tsx";
import { type PageAnswer, type PageCall, refusalOf } from "../parts/page.ts";
import { fieldsOf } from "../tasks/task_form.tsx";
import { workerPath } from "./worker_page.tsx";
import type { ShownWorker } from "./worker_parts.tsx";

interface TestState {
  readonly faults: FormFaults;
  /** What came back; absent before the call. */
  readonly result?: ShownResult;
}

const FIELDS = ["job", "data", "timeout"];

/** Shows the form of the call. */
export async function workerTestPage(page: PageCall): Promise<PageAnswer> {
  return await showTest(page, { faults: NO_FAULTS });
}

/** Makes the call and shows what came back. */
export async function testWorker(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const job = textOf(form, "job");
  const timeout = textOf(form, "timeout");
  const text = textOf(form, "data");
  let data: unknown;
  try {
    data = text === null ? null : JSON.parse(text);
  } catch {
    const of = { data: "Cannot read data: it is not JSON" };
    return await showTest(page, { faults: { of, others: [] } });
  }
  const answer = await page.ask({
    method: "POST",
    path: `${workerPath(page)}/test`,
    body: {
      data,
      ...(job === null ? {} : { job }),
      ...(timeout === null ? {} : { timeout }),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return await showTest(
    page,
    faults === undefined
      ? { faults: NO_FAULTS, result: answer.body as ShownResult }
      : { faults },
  );
}

async function showTest(
  page: PageCall,
  { faults, result }: TestState,
): Promise<PageAnswer> {
  const { base, path, csrf, form } = page;
  const known = await page.ask({ path: workerPath(page) });
  const refusal = refusalOf(known);
  if (refusal !== undefined) return refusal;
  const { id, name } = known.body as ShownWorker;
  const field = fieldsOf(form, faults.of);
  return {
    kind: "page",
    title: `Test call of ${name}`,
    status: faults === NO_FAULTS ? 200 : 422,
    content: (
      <div class="beside">
        <form method="post" action={path.split("?", 1)[0]}>
          <FaultsNote faults={faults} />
          <p class="dim">
            The call is that of a real attempt: signed, with the worker's
            headers and secrets. Nothing of it is stored.
          </p>
          <CsrfField csrf={csrf} />
          <TextField {...field("job")} label="Job" placeholder="default" />
          <TextArea {...field("data")} label="Data" hint="As JSON." rows={8} />
          <TextField
            {...field("timeout")}
            label="Time it may take"
            placeholder="PT10S"
          />
          <div class="row">
            <button type="submit" class="primary">Call</button>
            <a class="button" href={`${base}/workers/${id}`}>Back</a>
          </div>
        </form>
        {result === undefined ? null : <CallResult result={result} />}
      </div>
    ),
  };
}
