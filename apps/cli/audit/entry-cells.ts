import { z } from 'zod';
import type { AuditEntry } from '../session/audit-answers.js';

/** An entry in a line: number, time, who, where, what, how it was decided, and who says so. */
export function cellsOf({ number, at, user, cluster, action, decision, source, body }: AuditEntry): string[] {
  const said = SaidOfPassage.parse(body ?? {});
  return [String(number), at, user, cluster, action + commandText(said), decisionText(decision, said.status), source];
}

/** What a table shows of a body. */
const SaidOfPassage = z.looseObject({
  status: z.number().catch(0),
  stream: z
    .looseObject({ command: z.array(z.string()).catch([]) })
    .nullish()
    .catch(null),
});

const MAX_SHOWN_COMMAND = 60;

function commandText({ stream }: z.infer<typeof SaidOfPassage>): string {
  const command = stream?.command.join(' ') ?? '';
  if (command === '') return '';
  return ` -- ${command.length > MAX_SHOWN_COMMAND ? `${command.slice(0, MAX_SHOWN_COMMAND)}…` : command}`;
}

/** What a gateway let go on, an agent or a cluster may have refused. */
function decisionText(decision: string, status: number): string {
  if (decision === 'allowed' && (status === 401 || status === 403)) return `refused beyond ${status}`;
  return decision !== '' && status > 0 ? `${decision} ${status}` : decision;
}
