/**
 * Writes the plain manifests for Kubernetes, which are what the chart makes of
 * `deploy/kubernetes/manifests/values.yaml`.
 *
 * `deno task manifests` writes them; `deno task test:kubernetes` tells whether
 * they are up to date.
 *
 * @module
 */

import { KubernetesTools } from "./kubernetes/tools.ts";
import { print, tell, toMessage } from "./terminal.ts";

/** The folder of the chart. */
export const CHART: string = resolvePath("../deploy/kubernetes/tercet");
/** The folder of the manifests, and of the values that they are made with. */
export const MANIFESTS: string = resolvePath("../deploy/kubernetes/manifests");

/**
 * The manifests; each is made by the template of the same name, but those on
 * PostgreSQL.
 */
export const MANIFEST_NAMES = [
  "ratelimit.yaml",
  "tasks.yaml",
  "tasks_on_postgresql.yaml",
  "relayer.yaml",
  "relayer_on_postgresql.yaml",
  "keyserver.yaml",
  "pod_monitors.yaml",
] as const;

/**
 * How names of those that another template makes end, with values beside the
 * common ones.
 */
const ON_POSTGRESQL = "_on_postgresql.yaml";

/** Renders one manifest, as its file has it. */
export async function renderManifest(
  tools: KubernetesTools,
  name: typeof MANIFEST_NAMES[number],
): Promise<string> {
  const isOther = name.endsWith(ON_POSTGRESQL);
  const template = isOther ? name.replace(ON_POSTGRESQL, ".yaml") : name;
  const more = `${MANIFESTS}/${name.replace(".yaml", ".values.yaml")}`;
  const rendered = await tools.helm(
    ...["template", "tercet", CHART],
    ...["--values", `${MANIFESTS}/values.yaml`],
    ...(isOther ? ["--values", more] : []),
    ...["--show-only", `templates/${template}`],
  );
  const documents = rendered.replaceAll(/^# Source: .*\n/gm, "");
  return "# Made from the chart by deno task manifests; change that.\n" +
    documents;
}

function resolvePath(path: string): string {
  return decodeURIComponent(new URL(path, import.meta.url).pathname);
}

if (import.meta.main) {
  try {
    await using tools = await KubernetesTools.fetch();
    for (const name of MANIFEST_NAMES) {
      const text = await renderManifest(tools, name);
      await Deno.writeTextFile(`${MANIFESTS}/${name}`, text);
      print(`wrote deploy/kubernetes/manifests/${name}`);
    }
  } catch (error) {
    tell(toMessage(error));
    Deno.exit(1);
  }
}
