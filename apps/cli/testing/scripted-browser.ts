const MAX_REDIRECTS = 12;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

/** What a browser shows. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
}

/** Somebody at a browser without scripts: follows redirects, keeps cookies, and presses buttons of forms. */
export class ScriptedBrowser {
  readonly #cookies = new Map<string, Cookie>();

  /** The page that a URL leads to in the end. */
  open(url: string): Promise<Page> {
    return this.#go(url, { method: 'GET' });
  }

  /** Presses the first button whose text has these words, with what else is in its form; `typed` fills in fields. */
  press(page: Page, words: string, typed: Readonly<Record<string, string>> = {}): Promise<Page> {
    const button = elements(page.html, 'button').find((each) => each.inner.includes(words));
    if (!button) throw new Error(`there is no button "${words}" on ${page.url}: ${page.html}`);
    const forms = elements(page.html, 'form');
    const form = forms.find(({ inner, attributes }) =>
      attributes.id === undefined || button.attributes.form === undefined
        ? inner.includes(button.outer)
        : attributes.id === button.attributes.form,
    );
    if (!form) throw new Error(`the button "${words}" is in no form`);
    const fields = inputs(form.inner).map(({ name = '', value = '' }) => [name, typed[name] ?? value]);
    const { name, value = '' } = button.attributes;
    const body = new URLSearchParams([...fields, ...(name === undefined ? [] : [[name, value]])] as [string, string][]);
    return this.#go(new URL(form.attributes.action ?? '', page.url).href, { method: 'POST', body: String(body) });
  }

  async #go(first: string, init: { method: string; body?: string }): Promise<Page> {
    let [url, request] = [first, init];
    for (let hops = 0; hops < MAX_REDIRECTS; hops += 1) {
      const response = await fetch(url, {
        ...request,
        redirect: 'manual',
        headers: {
          cookie: this.#cookiesFor(url),
          ...(request.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        },
      });
      this.#keep(url, response.headers.getSetCookie());
      const html = await response.text();
      const location = response.headers.get('location');
      if (location === null) return { url, status: response.status, headers: response.headers, html };
      url = new URL(location, url).href;
      request = { method: 'GET' };
    }
    throw new Error(`${first} redirects without an end`);
  }

  #cookiesFor(url: string): string {
    const { pathname } = new URL(url);
    const sent = [...this.#cookies.values()].filter(({ path }) => pathname.startsWith(path));
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  #keep(url: string, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      const path = attributes.find((each) => each.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
      this.#cookies.set(`${new URL(url).host} ${path} ${name}`, { name, value, path });
    }
  }
}

interface Element {
  readonly outer: string;
  readonly inner: string;
  readonly attributes: Readonly<Record<string, string>>;
}

function elements(html: string, tag: string): Element[] {
  const found = html.matchAll(new RegExp(`<${tag}\\b([^>]*)>([\\s\\S]*?)</${tag}>`, 'g'));
  return [...found].map(([outer, attributes = '', inner = '']) => ({
    outer,
    inner,
    attributes: attributesOf(attributes),
  }));
}

function inputs(html: string): Readonly<Record<string, string>>[] {
  return [...html.matchAll(/<input\b([^>]*)>/g)].map(([, attributes = '']) => attributesOf(attributes));
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
