import type { Figure } from '../chaos/findings.js';

/** How one scenario went. */
export interface Result {
  readonly letter: string;
  readonly title: string;
  readonly seconds: number;
  /** Average of the machine when it began. */
  readonly load: number;
  readonly figures: readonly Figure[];
  readonly faults: readonly string[];
}

/** What was soaked, and where it is said what each scenario is. */
export interface Soaked {
  readonly name: string;
  readonly title: string;
  readonly readme: string;
}

/** What the figures depend on. No path and no host name: a report is public. */
export interface Circumstances {
  readonly date: string;
  readonly commit: string;
  readonly scale: number;
  readonly area: Soaked;
  readonly cores: number;
  readonly memoryGb: number;
  readonly platform: string;
  readonly node: string;
  /** Scenarios that were asked for and have not run yet. */
  readonly left: readonly string[];
}

/** The report as Markdown: what did not hold first, then every figure. */
export function formatReport(circumstances: Circumstances, results: readonly Result[]): string {
  const { date, commit, scale, area, cores, memoryGb, platform, node, left } = circumstances;
  const faulty = results.filter(({ faults }) => faults.length > 0);
  const soFar =
    left.length === 0 ? '' : `, to be continued: ${left.length} of ${left.length + results.length} are left`;
  const verdict = faulty.length === 0 ? `Everything held${soFar}.` : `Not everything held: see below${soFar}.`;
  return [
    `# Soak of ${area.title}, ${date}`,
    `Commit ${commit}, sizes × ${scale}. ${cores} cores shared by everything, ${memoryGb.toFixed(0)} GB, ${platform}, Node ${node}. Repeat it with \`npm run soak -- ${area.name}\`; \`${area.readme}\` says what each scenario is.`,
    verdict,
    table(
      ['', 'scenario', 'result', 'time', 'load average'],
      results.map((result) => [
        result.letter,
        result.title,
        result.faults.length === 0 ? 'held' : `**${result.faults.length} did not hold**`,
        `${Math.round(result.seconds)} s`,
        result.load.toFixed(1),
      ]),
    ),
    ...(left.length === 0 ? [] : [`These are left to run: ${left.join(', ')}.`]),
    ...results.map((result) => section(result)),
  ]
    .join('\n\n')
    .concat('\n');
}

function section({ letter, title, figures, faults }: Result): string {
  return [
    `## ${letter}: ${title}`,
    ...(faults.length === 0 ? [] : ['**Did not hold:**', faults.map((fault) => `- ${oneLine(fault)}`).join('\n')]),
    ...(figures.length === 0
      ? []
      : [
          table(
            ['figure', 'value'],
            figures.map(({ what, value }) => [what, value]),
          ),
        ]),
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => oneLine(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map((row) => line(row))].join('\n');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
