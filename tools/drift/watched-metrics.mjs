// What rules and dashboards ask for has to be there: each metric in the code, each recorded series in the rules, each alert's runbook and its line in
// docs/watching.md. That queries are right PromQL, and that alerts fire, tools/stack/chart/alerts.int.spec.ts looks at.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { trackedFiles } from './tracked-files.mjs';

const RULES = 'charts/fairlead/files/rules.yaml';
const DASHBOARDS = 'charts/fairlead/files/dashboards';
const TOLD = 'docs/watching.md';
const OURS = /\b(fairlead|process|nodejs)_[a-z0-9_]+/g;
const RECORDED = /\bfairlead:[a-z0-9_:]+/g;
/** Of a histogram. */
const SERIES_OF = /_(bucket|count|sum)$/;

/** One sentence for each. */
export function unwatchable() {
  const rules = parse(readFileSync(RULES, 'utf8')).groups.flatMap((group) => group.rules);
  const asked = [...rules.map(({ expr, alert, record }) => [`${RULES} (${alert ?? record})`, expr]), ...panels()];
  const made = metricsMade();
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
  return [...asked.flatMap(([where, expr]) => missingIn(where, expr, made, recorded)), ...untold(rules)];
}

/** The queries of all dashboards: [where it stands, query]. */
export function panels() {
  return readdirSync(DASHBOARDS).flatMap((file) =>
    JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')).panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [`${file} (${title})`, expr]),
    ),
  );
}

function missingIn(where, expr, made, recorded) {
  const metrics = [...expr.matchAll(OURS)].map(([name]) => name).filter((name) => !isMade(name, made));
  const series = [...expr.matchAll(RECORDED)].map(([name]) => name).filter((name) => !recorded.has(name));
  return [...metrics, ...series].map((name) => `${where} asks for ${name}, which nothing makes`);
}

function isMade(name, made) {
  return made.has(name) || made.has(name.replace(SERIES_OF, ''));
}

/** Names that stand in the code as they are, and those that are put together as `fairlead_part_${name}` from words in the same file. */
function metricsMade() {
  const made = new Set();
  for (const file of trackedFiles()) {
    if (!/^(libs|apps)\/.*(?<!\.spec)\.ts$/.test(file) || !existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(/name: '([a-z0-9_]+)'/g)) made.add(name);
    // A helper that is given the name first.
    for (const [, name] of text.matchAll(/[(,]\s*'((?:fairlead|process)_[a-z0-9_]+)',/g)) made.add(name);
    for (const [, prefix] of text.matchAll(/`(fairlead_[a-z_]*_)\$\{name\}`/g))
      for (const [, word] of text.matchAll(/'([a-z][a-z_]+)'/g)) made.add(prefix + word);
  }
  return made;
}

function untold(rules) {
  const told = readFileSync(TOLD, 'utf8');
  return rules
    .filter(({ alert }) => alert)
    .flatMap(({ alert, annotations: { runbook_url: page = '' } = {} }) => [
      ...(/^docs\/runbooks\/[\w-]+\.md$/.test(page) && existsSync(page)
        ? []
        : [`${RULES}: the runbook of ${alert}, ${page}, is not there`]),
      ...(told.includes(`\`${alert}\``) ? [] : [`${TOLD} does not tell of ${alert}`]),
    ]);
}
