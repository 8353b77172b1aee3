import { pages } from 'virtual:console-assets'
import { type AuthRequest, GatewayError, type Plugin, type PluginRoute } from '@modelgate/core'
import { checkAuthorize, requestOf, unauthorized } from '../authorization.ts'
import { invalidParameter, readQuery } from '../queries.ts'
import { dataReply, streamReply, subpage } from '../replies.ts'
import { createCallBuffer } from './call-buffer.ts'
import { filterNames, readFilter } from './call-filter.ts'
import { createLiveReaders } from './live-readers.ts'
import type { ConsolePeers } from './peers.ts'
import { type CaptureLimits, createBodyStore, type RecentBodies } from './recent-bodies.ts'
import { type RecentCall, recentCallOf, rejectedCallOf, summaryOf } from './recent-call.ts'

/** Options of the recent calls. */
export interface RecentCallsOptions {
  /**
   * Returns whether a request may read the calls of all callers, by its method, path and headers. Called for each request to
   * `/console/api/calls`. Anything but `true` is a 401. A GatewayError that it throws is sent to the client. Any other error is logged and
   * becomes a 500.
   */
  authorize(request: AuthRequest): boolean | Promise<boolean>
  /** Number of calls that are kept in memory, 1 to 100 000. Default: 500. */
  size?: number
  /**
   * `'bodies'`, or limits: also keeps what clients and upstreams sent, in memory and without credentials. Everyone whom `authorize` admits can
   * read it. Default: no content is kept.
   */
  capture?: 'bodies' | CaptureLimits
}

/** A call with its bodies, as the API returns it. */
export interface RecentCallDetails extends RecentCall {
  readonly bodies: RecentBodies
}

/** Default and highest number of calls in one response. */
const pageSize = 50
const maxPageSize = 500

/** The page and the API of recent calls, and the hooks that collect them. */
export interface RecentCalls extends Pick<Plugin, 'onFinish' | 'onNotice' | 'onBodies' | 'bodyLimits'> {
  readonly routes: readonly PluginRoute[]
  /** Takes over a call of another process. */
  receive(call: RecentCall): void
  /** Returns the bodies of a call of this process. */
  bodiesOf(requestId: string): RecentBodies | undefined
}

export function createRecentCalls(
  options: RecentCallsOptions,
  peers?: Pick<ConsolePeers, 'publish' | 'findBodies'>,
): RecentCalls {
  const { authorize, size = 500, capture } = options
  checkAuthorize(authorize, 'recentCalls', 'read all calls')
  if (!Number.isInteger(size) || size < 1 || size > 100_000)
    throw new TypeError(`consolePages: recentCalls.size is ${String(size)}: set it to a whole number from 1 to 100000.`)
  const buffer = createCallBuffer(size)
  const live = createLiveReaders()
  const store = capture === undefined ? undefined : createBodyStore(limitsOf(capture))
  const add = (call: RecentCall): void => {
    const replaced = buffer.add(call)
    if (replaced !== undefined) store?.forget(replaced.requestId)
    live.send(call)
  }
  const bodiesOf = (requestId: string): RecentBodies | undefined => {
    const bodies = store?.read(requestId)
    return bodies?.state === 'none' ? undefined : bodies
  }
  const record = (call: RecentCall): void => {
    add(call)
    peers?.publish(call)
  }

  const guarded = (path: string, handle: PluginRoute['handle']): PluginRoute => ({
    method: 'GET',
    path,
    async handle(inbound, params) {
      if ((await authorize(requestOf(inbound))) !== true) throw unauthorized('Recent calls')
      return handle(inbound, params)
    },
  })

  return {
    receive: add,
    bodiesOf,
    onFinish: (event) => record(recentCallOf(event)),
    onNotice(notice) {
      if (notice.kind === 'call-rejected') record(rejectedCallOf(notice))
      // The streams would keep the server open until the end of its grace period.
      else if (notice.kind === 'drain-started') live.close()
    },
    ...(store === undefined
      ? {}
      : {
          // They follow their call. A call that is already replaced has no place for them.
          onBodies(bodies) {
            if (buffer.find(bodies.requestId) !== undefined) store.add(bodies)
          },
          bodyLimits: { maxBodyBytes: store.maxBodyBytes, maxRunningBytes: store.maxTotalBytes },
        }),
    routes: [
      { method: 'GET', path: '/console/calls', handle: subpage(pages.calls, 'calls') },
      guarded('/console/api/calls', (inbound) => {
        const query = readQuery(inbound, [...filterNames, 'cursor', 'limit'])
        const limit = readNumber(query, 'limit', pageSize, maxPageSize)
        const page = buffer.page(readFilter(query), limit, query.get('cursor') ?? undefined)
        return dataReply({ ...page, calls: page.calls.map(summaryOf) })
      }),
      guarded('/console/api/calls/stream', (inbound) => {
        const query = readQuery(inbound, [...filterNames, 'last'])
        const matches = readFilter(query)
        const { calls } = buffer.page(matches, readNumber(query, 'last', 0, maxPageSize))
        return streamReply(live.open(matches, [...calls].reverse()))
      }),
      guarded('/console/api/calls/{id}', async (_inbound, { id = '' }) => {
        const call = buffer.find(id)
        if (call !== undefined) {
          const own = store?.read(id) ?? { state: 'off' }
          const bodies = own.state === 'none' ? ((await peers?.findBodies(id)) ?? own) : own
          return dataReply({ ...call, bodies } satisfies RecentCallDetails)
        }
        throw new GatewayError('not_found', 'Call not found: it is still running, or is no longer stored.', {
          headers: { 'cache-control': 'no-store' },
        })
      }),
    ],
  }
}

function limitsOf(capture: unknown): CaptureLimits {
  if (capture === 'bodies') return {}
  if (typeof capture === 'object' && capture !== null && !Array.isArray(capture)) return capture
  throw new TypeError(
    "consolePages: invalid recentCalls.capture: set it to 'bodies', or to limits such as { maxBodyBytes: 16384 }.",
  )
}

function readNumber(query: URLSearchParams, name: string, otherwise: number, most: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text)
  throw invalidParameter(name, `Invalid ${name} '${text.slice(0, 20)}': set it to a whole number from 0 to ${most}.`)
}
