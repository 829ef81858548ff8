/**
 * The page that tries a worker: a call as that of a real attempt, and what came
 * back.
 *
 * @module
 */

import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  jsonOf,
  NO_FAULTS,
  statusOf,
  textsOf,
  withoutNulls,
} from "../parts/form.tsx";
import { type PageAnswer, type PageCall, pathOf } from "../parts/page.ts";
import type { ShownWorker } from "./worker_parts.tsx";

/** Makes the call and shows what came back. */
export async function testWorker(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const data = jsonOf(form, "data");
  if (data.kind === "invalid") return await workerTestPage(page, data.faults);
  const answer = await page.ask({
    method: "POST",
    path: `${pathOf("workers", page)}/test`,
    body: {
      data: data.value,
      ...withoutNulls(textsOf(form, ["job", "timeout"])),
    },
  });
  const faults = formFaults(answer, ["job", "data", "timeout"]);
  return faults === undefined
    ? await workerTestPage(page, NO_FAULTS, answer.body as ShownResult)
    : await workerTestPage(page, faults);
}

/** Shows the form of the call, and what came back. */
export async function workerTestPage(
  page: PageCall,
  faults: FormFaults = NO_FAULTS,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base, form } = page;
  const { text, area } = fieldsOf({ values: form, faults });
  const question = { path: pathOf("workers", page) };
  return await page.show<ShownWorker>(question, ({ id, name }) => ({
    kind: "page",
    title: `Test call of ${name}`,
    status: statusOf(faults),
    content: (
      <div class="beside">
        <FaultForm page={page} faults={faults}>
          <p class="dim">
            The call is that of a real attempt: signed, with the worker's
            headers and secrets. Nothing of it is stored.
          </p>
          {text("job", "Job", { placeholder: "default" })}
          {area("data", "Data", { hint: "As JSON.", rows: 8 })}
          {text("timeout", "Time it may take", { placeholder: "PT10S" })}
          <div class="row">
            <button type="submit" class="primary">Call</button>
            <a class="button" href={`${base}/workers/${id}`}>Back</a>
          </div>
        </FaultForm>
        {result === undefined ? null : <CallResult result={result} />}
      </div>
    ),
  }));
}
