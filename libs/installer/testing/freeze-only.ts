import { podProcesses, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';

/** What pods of earlier repairs take to be gone. */
const PATIENCE = { timeoutMs: 120_000 };

/**
 * Has the one process of these pods stand still, and returns its id. Waits for there to be one: of two, one would be of a pod that is on its
 * way out, whose silence nobody notices; of none, the id would be 0, which means the group of the tests themselves.
 */
export function freezeOnly(kubectl: Kubectl, namespace: string, selector: string): Promise<number> {
  return eventually(async () => {
    const running = await podProcesses(kubectl, namespace, selector);
    const [only] = running;
    if (!only || running.length > 1) throw new Error(`${running.length} processes of ${selector}, and not one`);
    process.kill(only.pid, 'SIGSTOP');
    return only.pid;
  }, PATIENCE);
}
