import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { Ajv } from "npm:ajv@^8.20.0";
import { SERVICES, settingNamesWhere } from "./service_settings.ts";
import { readText, readTree, toTree, type Tree } from "./yaml_tree.ts";

const FOLDER = "deploy/kubernetes";
const CHART = `${FOLDER}/tercet`;

Deno.test("the schema of the chart refuses several pods on one file, and passwords in values", async () => {
  const schema = JSON.parse(await readText(`${CHART}/values.schema.json`));
  const check = new Ajv({ allowUnionTypes: true, strictTypes: false })
    .compile(schema);
  const values = await readTree(`${CHART}/values.yaml`);
  for (const service of ["tasks", "relayer"]) {
    const accepts = (changed: Tree): boolean =>
      check({
        ...values,
        [service]: { ...toTree(values[service], service), ...changed },
      });
    assert(accepts({ store: "postgres", replicas: 3 }));
    assert(accepts({ store: "postgres", replicas: null }));
    assert(!accepts({ replicas: 3 }));
    assert(!accepts({ store: "sqlite", replicas: null }));
    assert(!accepts({ store: "mysql" }));
    assert(!accepts({ env: { STORE: "postgres" } }));
    assert(accepts({ env: { DATABASE_URL: "postgres://me@db1,db2/data" } }));
    assert(!accepts({ env: { DATABASE_URL: "postgres://me:a@db1/data" } }));
  }
});

Deno.test("the values of the chart are what its schema accepts, and their settings exist", async () => {
  const schema = JSON.parse(await readText(`${CHART}/values.schema.json`));
  const check = new Ajv({ allowUnionTypes: true, strictTypes: false })
    .compile(schema);
  const values = await readTree(`${CHART}/values.yaml`);
  assert(check(values), JSON.stringify(check.errors));
  const { secrets, fixed, service } = schema.definitions;
  // A URL of a store is a secret when a password is in it, which is refused.
  const hidden = settingNamesWhere((option) =>
    option.secret && !option.name.endsWith("_URL")
  );
  assertEquals(secrets.enum, hidden);
  const all = settingNamesWhere(() => true);
  assertEquals(fixed.enum.filter((name: string) => !all.includes(name)), []);
  for (const name of SERVICES) {
    const { [name]: own } = schema.properties;
    const described = { ...service.properties, ...own.properties };
    assertEquals(
      Object.keys(toTree(values[name], name)).sort(),
      Object.keys(described).sort(),
    );
  }
});

Deno.test("the chart has the version of the program, and its manifests are listed", async () => {
  const { version } = JSON.parse(await readText("deno.json"));
  const chart = await readTree(`${CHART}/Chart.yaml`);
  assertEquals([chart.version, chart.appVersion], [version, version]);
  const { resources } = toTree(
    parse(await readText(`${FOLDER}/manifests/kustomization.yaml`)),
    "kustomization.yaml",
  );
  assertEquals(resources, SERVICES.map((name) => `${name}.yaml`));
});
