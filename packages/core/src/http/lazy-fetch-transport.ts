import { lazy } from '../base/async.ts'
import type { Transport } from './transport.ts'

/** Loads the transport on `fetch`, with the first call that uses it: the adapters for Node have their own. */
const loadFetchTransport = lazy(() => import('./fetch-transport.ts').then((found) => found.fetchTransport))

/**
 * Creates a transport on any WHATWG `fetch`. Redirects are not followed.
 *
 * @param fetchLike Default: the global `fetch`, looked up for each call
 */
export function lazyFetchTransport(fetchLike?: typeof fetch): Transport {
  let loaded: Transport | undefined
  const load = async (): Promise<Transport> => {
    loaded = (await loadFetchTransport())(fetchLike)
    return loaded
  }
  const transport: Transport = (request) =>
    loaded === undefined ? load().then((transport) => transport(request)) : loaded(request)
  // The runtime's own `fetch` settles on abort, as specified; a host's function may not.
  return fetchLike === undefined ? Object.assign(transport, { settlesOnAbort: true } as const) : transport
}
