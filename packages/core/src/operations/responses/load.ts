import { lazy } from '../../base/async.ts'

/** The code that stores responses and resolves references to them: a promise until it is loaded. */
export const loadResponseStore = lazy(() => import('./index.ts'))
