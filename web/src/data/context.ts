// The source of the application's data, for every part of it that asks.
import { createContext } from 'svelte';
import type { Source } from './source';

/** Gives the source that all parts below a component are to ask, and takes it there. */
export const [useSource, provideSource] = createContext<Source>();
