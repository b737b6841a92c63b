// The source of the application's data, as a Svelte context.
import { createContext } from 'svelte';
import type { Source } from './source';

/** Functions that read and set the source for a component and all components below it. */
export const [useSource, provideSource] = createContext<Source>();
