import type { AgentFacts, StatementEnd } from '@fairlead/tunnel/agent';
import type { FactsFeed } from './feed.js';

/** Said where nobody is served without an access statement (ADR 61). */
const STATEMENTS_REQUIRED = 'link:statements-required';

/**
 * The same facts, which say `link:statements-required` for as long as it is so: the manifest says it once, a signed list at any time. Facts that
 * are the same stay one object, so that links tell no news that is none.
 */
export function withRequiredStatements(
  feed: FactsFeed,
  statements: Pick<StatementEnd, 'required' | 'onRequired'>,
): FactsFeed {
  let last: { readonly seen: AgentFacts; readonly required: boolean; readonly facts: AgentFacts } | null = null;
  const said = (seen: AgentFacts): AgentFacts => {
    const { required } = statements;
    if (last?.seen !== seen || last.required !== required) {
      last = { seen, required, facts: required ? sayingRequired(seen) : seen };
    }
    return last.facts;
  };
  return {
    current: async () => said(await feed.current()),
    onChange(listener) {
      let told = statements.required;
      let isOver = false;
      const leave = feed.onChange((seen) => listener(said(seen)));
      const leaveLists = statements.onRequired(() => {
        if (statements.required === told) return;
        told = statements.required;
        void feed.current().then((seen) => !isOver && listener(said(seen)));
      });
      return () => {
        isOver = true;
        leave();
        leaveLists();
      };
    },
  };
}

function sayingRequired(facts: AgentFacts): AgentFacts {
  return { ...facts, capabilities: [...new Set([...(facts.capabilities ?? []), STATEMENTS_REQUIRED])].sort() };
}
