// The sections of a page, to which conclusions refer.
import type { PageSection } from './data/views.gen';

/** The id of the element of a section. */
export const sectionId = (section: PageSection) => `at-${section}`;

/** The address of a section of the page with the address `href`. */
export const sectionHref = (href: string, section: string) =>
  `${href}${href.includes('?') ? '&' : '?'}at=${section}`;

/** The section that an address names. */
export const sectionOf = (hash: string): PageSection | undefined =>
  (new URLSearchParams(hash.split('?')[1] ?? '').get('at') as PageSection | null) ?? undefined;

/** Shows a section and moves the focus there; returns true if the page has it. */
export function showSection(section: PageSection): boolean {
  const element = document.getElementById(sectionId(section));
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
  return element !== null;
}
