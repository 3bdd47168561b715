import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = '{{ .Release.Name }}';
const SERVER = `require('node:http').createServer((_, a) => a.end(process.env.GREETING)).listen(8080, process.env.POD_IP)`;
/** Through the Service, as another pod sees it. */
const TEST = `fetch('http://' + process.env[process.env.SERVICE + '_SERVICE_HOST'] + ':8080').then((a) => a.text()).then((t) => {
  console.log('it says ' + t);
  process.exit(t === process.env.EXPECTED ? 0 : 1);
})`;

const metadata = { name: NAME, labels: { app: NAME } };

/** Each is a template, as JSON is YAML. */
const TEMPLATES: Readonly<Record<string, object>> = {
  config: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { greeting: '{{ .Values.greeting }}' } },
  service: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector: { app: NAME }, ports: [{ port: 8080 }] },
  },
  deployment: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: NAME } },
      template: {
        metadata: { labels: { app: NAME }, annotations: { greeting: '{{ .Values.greeting }}' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'main',
              image: 'node:1',
              args: [SERVER],
              env: [
                { name: 'GREETING', valueFrom: { configMapKeyRef: { name: NAME, key: 'greeting' } } },
                { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              ],
              readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  test: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${NAME}-test`,
      annotations: { 'helm.sh/hook': 'test', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
    },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: 'node:1',
          args: [TEST],
          env: [
            { name: 'EXPECTED', value: '{{ .Values.expected | default .Values.greeting }}' },
            { name: 'SERVICE', value: '{{ .Release.Name | upper | replace "-" "_" }}' },
          ],
        },
      ],
    },
  },
};

/** Writes a chart of a ConfigMap, a Deployment, its Service and a test; its one value is `greeting`. Returns its folder. */
export async function writeChart(dir: string): Promise<string> {
  const chart = join(dir, 'chart');
  await mkdir(join(chart, 'templates'), { recursive: true });
  await writeFile(join(chart, 'Chart.yaml'), JSON.stringify({ apiVersion: 'v2', name: 'greeter', version: '1.0.0' }));
  await writeFile(join(chart, 'values.yaml'), JSON.stringify({ greeting: 'hello' }));
  for (const [name, template] of Object.entries(TEMPLATES)) {
    // What stands between braces is a template of Helm's, and not JSON.
    const text = JSON.stringify(template).replaceAll(/\{\{.*?\}\}/g, (found) => found.replaceAll('\\"', '"'));
    await writeFile(join(chart, 'templates', `${name}.yaml`), text);
  }
  return chart;
}
