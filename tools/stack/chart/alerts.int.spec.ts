// @tier full: promtool is 600 packages to build, for rules that seldom change; that what they ask for exists, tools/drift/watched-metrics.mjs shows
// Rules and dashboards as Prometheus itself reads them. What they ask for, and runbooks, tools/drift/watched-metrics.mjs looks at.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinary } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand, type CommandOutput } from '../process/run-command.js';
import { CHART, renderChart, resourcesOf } from './render-chart.js';

// A few seconds of computing; more on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const RULES = join(CHART, 'files', 'rules.yaml');
const TESTS = ['alerts.test.yaml', 'slow-burn.test.yaml'].map((file) => join(import.meta.dirname, 'rules', file));
const DASHBOARDS = join(CHART, 'files', 'dashboards');

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert?: string }[] }[];
}

interface RuleTests {
  readonly tests: readonly { readonly alert_rule_test: readonly AlertTest[] }[];
}

interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts: readonly { readonly exp_labels: { readonly severity: string } }[];
}

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

async function promtool(...args: readonly string[]): Promise<CommandOutput> {
  const { path } = await findBinary('promtool');
  return runCommand(path, args, { env: baseEnvironment(), timeoutMs: 240_000 });
}

it('each alert fires on what it is for, and not on what is well', async () => {
  const files = await Promise.all(TESTS.map((file) => readFile(file, 'utf8')));
  const tests = files.flatMap((text) => (parse(text) as RuleTests).tests.flatMap((test) => test.alert_rule_test));
  const { groups } = parse(await readFile(RULES, 'utf8')) as Rules;
  const alerts = new Set(groups.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? [])));
  expect(new Set(tests.filter(({ exp_alerts }) => exp_alerts.length > 0).map(({ alertname }) => alertname))).toEqual(
    alerts,
  );
  expect(await promtool('test', 'rules', ...TESTS)).toMatchObject({ code: 0 });
});

it('rules, and the query of each panel of each dashboard, are PromQL', async () => {
  await using scratch = await scratchDir();
  const files = await readdir(DASHBOARDS);
  const boards = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(DASHBOARDS, file), 'utf8')) as Dashboard),
  );
  expect(new Set(boards.map(({ uid }) => uid)).size).toBe(files.length);
  const queries = boards.flatMap(({ uid, panels }) =>
    panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ from: `${uid}: ${title}`, expr }))),
  );
  expect(queries.length).toBeGreaterThan(40);
  // What Grafana fills in.
  const rules = queries.map(({ from, expr }, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
    labels: { from },
  }));
  const panels = scratch.file('panels.yaml');
  await writeFile(panels, stringify({ groups: [{ name: 'panels', rules }] }));
  expect(await promtool('check', 'rules', RULES, panels)).toMatchObject({ code: 0 });
});

it('the chart gives an operator the same rules, with whole addresses of runbooks, and Grafana each dashboard', async () => {
  const runbooks = 'https://git.example.test/fairlead/blob/main/';
  const values = {
    prometheusRule: { enabled: true, labels: { release: 'prom' }, runbooks },
    dashboards: { enabled: true },
  };
  const resources = await resourcesOf('production', values);
  const rule = resources.find(({ kind }) => kind === 'PrometheusRule');
  const text = (await readFile(RULES, 'utf8')).replaceAll('runbook_url: docs/', `runbook_url: ${runbooks}docs/`);
  expect(rule).toMatchObject({ metadata: { labels: { release: 'prom' } }, spec: parse(text) as object });
  const boards = resources.filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
  const files = await Promise.all(
    (await readdir(DASHBOARDS)).map(async (file) => [file, await readFile(join(DASHBOARDS, file), 'utf8')] as const),
  );
  const shown = boards.flatMap(({ data = {} }) => Object.entries(data).map(([file, board]) => [file, board.trim()]));
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(files.map(([file, board]) => [file, board.trim()])));
  expect((await resourcesOf('production')).filter(({ kind }) => kind === 'PrometheusRule')).toEqual([]);
  const wrong = await renderChart('production', { prometheusRule: { enabled: true, runbooks: 'no address' } });
  expect(wrong.stderr).toMatch(/runbooks/);
});
