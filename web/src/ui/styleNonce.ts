// The content security policy lets style elements in only with the page's nonce. Libraries that make their own
// (xterm does) know nothing of it: this gives it to every style element made from then on.

let given = false;

export function allowStyleElements(): void {
  if (given) return;
  given = true;
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  if (!nonce) return;
  const create = document.createElement.bind(document) as (tag: string, options?: ElementCreationOptions) => HTMLElement;
  document.createElement = ((tag: string, options?: ElementCreationOptions) => {
    const element = create(tag, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
}
