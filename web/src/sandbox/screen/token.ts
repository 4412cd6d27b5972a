/** A link to a screen is `…/app/screen#<sandbox>.<token>`: what is behind the # stays in the browser. */
export const tokenOf = (hash: string): string | null => /^#[a-z0-9]+\.(.+)$/.exec(hash)?.[1] ?? null;
