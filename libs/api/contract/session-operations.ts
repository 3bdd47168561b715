import { EndedPassages, OpenPassage, PassageFilter, PassageList, PassagePage } from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';

export const Session = OpenPassage.describe('Something that goes through a door now: who is where, and what for.');
export const SessionList = z.object({
  sessions: z.array(Session).max(150).describe('Those that began first, first.'),
  more: PassageList.shape.more.describe('How many there are after these.'),
  next: PassageList.shape.next.describe('There are more: ask again with it as `after`, and the same filters.'),
  silent: PassageList.shape.silent.describe(
    'Gateways that did not answer in time: what goes through them is not known.',
  ),
});
const SessionQuery = PassagePage.omit({ id: true }).strict();

export const SessionEnd = PassageFilter.extend({
  reason: z.string().min(1).max(256).default('ended by an administrator').describe('Whoever is cut off is told.'),
})
  .strict()
  .refine(({ id, cluster, user, kind }) => [id, cluster, user, kind].some((said) => said !== undefined), {
    message: 'say which sessions: id, cluster, user or kind',
  })
  .describe('Which sessions are to end; all that is said has to hold.');
export const EndedSessions = EndedPassages.describe(
  'How many were ended, and by which gateways none, because they did not answer.',
);

/** Who is where now. */
export const sessionOperations = operationsOf('sessions', {
  listSessions: {
    route: 'GET /v1/sessions',
    summary: 'List who is where now',
    description:
      'Requests, watches, logs, shells, port-forwards and tunnels that have not ended, through all gateways. Administrators see those of all, others their own. What ends or begins between two pages moves none of the others.',
    auth: 'user',
    query: SessionQuery,
    answers: [json(200, 'Sessions.', SessionList)],
  },
  endSessions: {
    route: 'POST /v1/sessions/end',
    summary: 'End sessions',
    description:
      'They end at once, and whoever was cut off may begin again: what may be done is said by grants. Repeating it does no harm.',
    body: SessionEnd,
    answers: [json(200, 'Ended.', EndedSessions)],
    errors: ['DEADLINE_EXCEEDED'],
  },
});
