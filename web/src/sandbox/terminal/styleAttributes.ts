/**
 * xterm puts true colours into `style` attributes. The content security policy lets no such attribute through, but it does let scripts
 * set styles by the CSSOM: the same effect on the same element. So `setAttribute("style", …)` is sent that way, for the whole page.
 */
let sent = false;

export function sendStyleAttributesByCssom(): void {
  if (sent) return;
  sent = true;
  const plain = HTMLElement.prototype.setAttribute;
  HTMLElement.prototype.setAttribute = function (this: HTMLElement, name: string, value: string): void {
    if (name === "style") this.style.cssText = value;
    else plain.call(this, name, value);
  };
}
