import type { DemoUser } from './users.js';

const STYLE =
  'body{font:1.1rem/1.5 sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.4rem 1rem;margin:.3rem 0}.demo{border:2px solid;padding:.5rem 1rem}';

/** Says that it is no real one. Nothing is loaded for it; forms may lead to where the issuer sends the browser on. */
export function page(title: string, body: string): string {
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">',
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    '<p class="demo"><strong>This is a demo.</strong> It asks nobody for a password: whoever reaches it on this machine is whom they click on.</p>',
    `<h1>${escaped(title)}</h1>${body}</html>\n`,
  ].join('\n');
}

/** Who are you? A form for each of the users, and one for nobody. */
export function choicePage(action: string, users: readonly DemoUser[]): string {
  const choices = users.map(({ name, title, groups }) => {
    const label = `${name}, ${title} (${groups.join(', ')})`;
    return `<form method="post" action="${escaped(action)}"><button name="user" value="${escaped(name)}">${escaped(label)}</button></form>`;
  });
  const nobody = `<form method="post" action="${escaped(action)}"><button name="user" value="">none of these: do not log in</button></form>`;
  return page('Who is it that logs in to Fairlead?', [...choices, nobody].join('\n'));
}

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
