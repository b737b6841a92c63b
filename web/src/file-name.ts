// Names of saved files.

/**
 * The name of a file, from the title of its content: `µ` becomes `u`, `×` becomes `x`, and letters lose their
 * accents.
 */
export const fileName = (title: string, ending: string) =>
  `${title
    .replaceAll(/[µμ]/g, 'u')
    .replaceAll('×', 'x')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w.]+/g, '-')
    .slice(0, 80)
    .replaceAll(/^[-.]+|[-.]+$/g, '')}.${ending}`;
