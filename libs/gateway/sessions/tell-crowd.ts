import type { SessionRegistry } from '@fairlead/tunnel/gateway';

/**
 * Tells agents how many links this replica holds whenever that has doubled or halved since, so that they know over how
 * long to spread their return when they lose it. What a link costs by this is two messages in the mean, however many
 * there are. A replica that drains says no more: those it loses last are no smaller crowd.
 */
export function tellCrowd(sessions: SessionRegistry): void {
  let told = 1;
  sessions.onChange(() => {
    const all = sessions.all();
    const same = all.length < 2 * told && 2 * all.length >= told;
    if (same || all.length === 0 || sessions.draining) return;
    told = all.length;
    for (const session of all) session.tellCrowd(told);
  });
}
