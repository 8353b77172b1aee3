import { lazy } from '../../base/lazy.ts'

/** The code that stores responses and resolves references to them: a promise until it is loaded. */
export const loadResponseStore = lazy(() => import('./index.ts'))
